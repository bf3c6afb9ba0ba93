package prompted

// A place is where the next byte of a text stands: in its line, and in what quotes text. Quoted
// text holds no calls: fenced and indented code, block quotes, code spans (CommonMark 0.31, 4.4,
// 4.5, 5.1, 6.1), rows of tables, comments, and strings in quotation marks.
//
// A mark that is not closed quotes the rest of its line or paragraph: a call that is missed costs
// a question, one that was only quoted may cost data.
type place struct {
	line  position
	begun bool // there was more than white space
	last  byte // the byte before

	column  int  // of the next byte, while the line's prefix lasts
	base    int  // the column behind the last list marker of the prefix
	past    bool // more than white space and list markers precede in the line
	digits  int  // of a list marker such as 12.
	listed  bool // the bytes right before are a list marker if a space follows
	quoting bool // the line is indented code, a block quote or the row of a table

	fence fence
	run   int  // backticks or tildes right before
	fresh bool // the run began in the prefix
	mark  byte // a quotation mark right before
	left  byte // the byte before mark

	paragraph, inLine marks      // those that are open, counted from the start of either
	within            *enclosure // nil outside
	recent            uint64     // the last bytes of the line, in lower case
}

// A position is what precedes a byte in its line.
type position uint8

const (
	atStart  position = iota // nothing
	indented                 // white space
	inside
)

// isQuoted reports whether the next byte, which was given to settle, is in quoted text. A
// backslash before a bracket is an escape of Markdown.
func (p *place) isQuoted() bool {
	return p.inBlock() || p.paragraph.isOpen() || p.inLine.isOpen() || p.last == '\\'
}

// inBlock is isQuoted without code spans and strings, which a block ends.
func (p *place) inBlock() bool { return p.quoting || p.within != nil || p.isIndented() }

// isIndented reports whether the next byte begins indented code.
func (p *place) isIndented() bool {
	return !p.past && !p.listed && p.digits == 0 && p.column-p.base >= 4
}

// pass moves the place behind a byte of text.
func (p *place) pass(c byte) {
	p.settle(c)
	switch {
	case c == '\n':
		p.endLine()
	case p.fence.length > 0 && p.passFence(c):
	default:
		p.passText(c)
	}
	p.last = c
}

// settle decides what the marks right before the byte c mean. To call it again changes nothing.
func (p *place) settle(c byte) {
	if p.run > 0 && c != p.last {
		p.endRun()
	}
	if p.mark != 0 {
		p.inLine.quote(p.mark, p.left, c)
		if p.mark == '"' && !p.quoting { // a lone apostrophe is more often a part of a word
			p.paragraph.quote(p.mark, p.left, c)
		}
		p.mark = 0
	}
}

// endLine begins a line. A blank one ends the paragraph.
func (p *place) endLine() {
	if p.fence.endLine() {
		p.fence = fence{}
	}
	blank := p.line != inside
	if blank {
		p.paragraph = marks{}
	}
	if p.within != nil && p.within.ends(blank) {
		p.within = nil
	}
	p.line, p.column, p.base, p.past, p.digits = atStart, 0, 0, false, 0
	p.listed, p.quoting, p.inLine, p.recent = false, false, marks{}, 0
}

// passText passes a byte that is not in fenced code.
func (p *place) passText(c byte) {
	if p.within != nil {
		p.passWithin(c)
		return
	}
	if !p.past && p.passPrefix(c) {
		return
	}
	p.line, p.begun, p.past = inside, true, true
	p.recent = p.recent<<8 | uint64(lower(c))
	switch {
	case c == '`' && p.last == '\\' && p.run == 0 && p.paragraph.ticks+p.inLine.ticks == 0: // escaped
	case c == '`', c == '~':
		p.run++
	case c == '"', c == '\'':
		p.mark, p.left = c, p.last
	case p.inLine.isOpen():
	case c == '{', c == '[':
		p.paragraph.nested++
	case c == '}', c == ']':
		p.paragraph.nested = max(0, p.paragraph.nested-1)
	}
	if e := opened(p.recent); e != nil && !p.quoting && p.paragraph.ticks+p.inLine.ticks == 0 {
		p.within, p.recent, p.mark = e, 0, 0
		p.paragraph.quoted, p.inLine.quoted = 0, 0
	}
}

// passWithin passes a byte of an enclosure. The lines in it may be quoted themselves, with its end.
func (p *place) passWithin(c byte) {
	if !p.past && !p.passPrefix(c) {
		p.line, p.past, p.fresh = inside, true, false
	}
	if p.recent = p.recent<<8 | uint64(lower(c)); endsWith(p.recent, p.within.close) {
		p.within, p.recent = nil, 0
	}
}

// passPrefix passes a byte of the line's prefix: white space and list markers. It reports false
// if the byte is not part of it.
func (p *place) passPrefix(c byte) bool {
	if isSpace(c) {
		return p.passSpace(c)
	}
	p.quoting = p.quoting || p.isIndented()
	isMarker := !p.listed && p.digits == 0 && (c == '-' || c == '*' || c == '+') || p.digits > 0 && (c == '.' || c == ')')
	isDigit := !p.listed && p.digits < 9 && c >= '0' && c <= '9'
	switch {
	case isMarker:
		p.listed, p.digits = true, 0
	case isDigit:
		p.digits++
	default:
		if clean := !p.listed && p.digits == 0; clean && (c == '>' || c == '|') {
			p.quoting, p.paragraph = true, marks{}
		} else if clean && (c == '`' || c == '~') && p.run == 0 {
			p.fresh = !p.quoting
		}
		return false
	}
	p.column++
	p.line, p.begun = inside, true
	return true
}

// passSpace passes white space, and the list marker before it.
func (p *place) passSpace(c byte) bool {
	if p.digits > 0 { // a number
		return false
	}
	if p.column++; c == '\t' {
		p.column += 3 - (p.column-1)%4
	}
	if p.listed {
		p.listed, p.base, p.paragraph = false, p.column, marks{}
	} else if p.line == atStart && p.begun {
		p.line = indented
	}
	return true
}

// endRun ends a run of backticks or tildes: it opens a fence, or opens or closes a code span.
func (p *place) endRun() {
	n := p.run
	p.run = 0
	switch {
	case p.fresh && n >= 3:
		p.fence = fence{char: p.last, length: n, column: p.column, info: true}
		p.paragraph, p.inLine = marks{}, marks{}
	case p.last == '`' && !p.quoting:
		p.paragraph.tick(n)
		p.inLine.tick(n)
	}
	p.fresh = false
}

// A fence is an open block of fenced code; its length is 0 outside of one.
type fence struct {
	char    byte
	length  int
	column  int
	info    bool // the rest of the line that opened it
	closing int  // the characters of the fence that begin the line; -1 if it cannot close the block
	margin  int  // the columns before them
	trail   bool // white space follows them
}

// passFence passes a byte in fenced code. It reports false if there is no such block: the info
// string of a fence of backticks has none, they are a code span.
func (p *place) passFence(c byte) bool {
	f := &p.fence
	p.line, p.begun = inside, true
	switch {
	case f.info && (c != '`' || f.char != '`'), f.closing < 0:
	case f.info:
		p.paragraph.ticks, p.inLine.ticks, p.fence = f.length, f.length, fence{}
		return false
	case isSpace(c):
		f.trail = f.closing > 0
		if f.margin++; c == '\t' {
			f.margin += 3
		}
	case c != f.char, f.trail, f.margin > f.column+3:
		f.closing = -1
	default:
		f.closing++
	}
	return true
}

// endLine begins a line in fenced code. It reports whether the last one closed the block.
func (f *fence) endLine() bool {
	closed := !f.info && f.length > 0 && f.closing >= f.length
	f.info, f.closing, f.margin, f.trail = false, 0, 0, false
	return closed
}

// marks are the open marks of quoted text.
type marks struct {
	ticks  int  // the backticks that opened a code span
	quoted byte // the open quotation mark
	nested int  // brackets of JSON, which do not quote
}

func (m *marks) isOpen() bool { return m.ticks > 0 || m.quoted != 0 }

// tick reads a run of backticks.
func (m *marks) tick(n int) {
	switch m.ticks {
	case 0:
		m.ticks = n
	case n:
		m.ticks = 0
	}
}

// quote reads a quotation mark between two bytes. An apostrophe, and the sign of inches or
// minutes behind a number, is not one.
func (m *marks) quote(mark, before, after byte) {
	inWord := isAlphanumeric(before) && (mark == '\'' || before < 0x80) // Chinese has no spaces
	opens := !isSpace(after) && (!inWord || isBracket(after))
	if after == '\n' || after == '\r' {
		opens = before == 0 || before == '\n' || isSpace(before)
	}
	switch {
	case m.ticks > 0:
	case m.quoted == 0 && opens:
		m.quoted = mark
	case m.quoted == mark && (mark == '"' || !isAlphanumeric(before) || !isAlphanumeric(after)):
		m.quoted = 0
	}
}

// An enclosure is quoted text between two marks of several bytes.
type enclosure struct {
	open, close string
	lasts       scope
}

// A scope is what ends an enclosure that is not closed.
type scope uint8

const (
	toLine scope = iota
	toParagraph
	toEnd
)

func (e *enclosure) ends(blank bool) bool {
	return e.lasts == toLine || e.lasts == toParagraph && blank
}

// enclosures have marks of at most 8 bytes, in lower case.
var enclosures = []enclosure{
	{"<!--", "-->", toEnd},
	{"<pre>", "</pre>", toEnd},
	{"<pre ", "</pre>", toEnd}, // with attributes
	{"<code>", "</code>", toParagraph},
	{"<code ", "</code>", toParagraph},
	{"<blockqu", "kquote>", toEnd}, // the longest parts of <blockquote> that fit
	{"![cdata[", "]]>", toEnd},
	{"<think>", "</think>", toEnd}, // not at the beginning
	{`"""`, `"""`, toEnd},
	{`'''`, `'''`, toEnd},
	{"“", "”", toParagraph},
	{"„", "“", toParagraph},
	{"«", "»", toParagraph},
	{"»", "«", toLine},
	{"「", "」", toParagraph},
	{"『", "』", toParagraph},
	{"‘", "’", toLine},
}

// opened returns the enclosure that the last bytes of a text open, or nil.
func opened(recent uint64) *enclosure {
	switch byte(recent) {
	case '-', '>', ' ', 'u', '[', '"', '\'', 0xbb, 0x9c, 0x9e, 0xab, 0x98, 0x8c, 0x8e: // the last bytes of open
		for i := range enclosures {
			if endsWith(recent, enclosures[i].open) {
				return &enclosures[i]
			}
		}
	}
	return nil
}

// endsWith reports whether the last bytes of a text are a mark.
func endsWith(recent uint64, mark string) bool {
	for i := len(mark) - 1; i >= 0; i-- {
		if byte(recent) != mark[i] {
			return false
		}
		recent >>= 8
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// isBracket reports whether a call may begin with c.
func isBracket(c byte) bool { return c == '<' || c == '[' || c == '{' || c == '|' }
