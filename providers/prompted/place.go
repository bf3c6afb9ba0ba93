package prompted

// A place is where the next byte of a text stands: in its line, and in what quotes text. Quoted
// text holds no calls: fenced and indented code, block quotes, code spans (CommonMark 0.31, 4.4,
// 4.5, 5.1, 6.1), literal blocks of reStructuredText, rows of tables, comments, elements such as
// <pre>, and strings in quotation marks (quote.go).
//
// A mark that is not closed quotes the rest of its line or paragraph: a call that is missed costs
// a question, one that was only quoted may cost data. Whether it quotes more is seen behind it:
// see doubts.
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

	marked  markedLine // the line is marked as a part of a block quote
	lazy    bool       // the line may go on the paragraph of a block quote, without a mark
	literal int        // the column from which on lines are a literal block; 0 outside of one
	opening bool       // the line is a directive of reStructuredText, which begins such a block
	indent  int        // the column at which the line begins

	fence fence
	run   int  // backticks or tildes right before
	fresh bool // the run began in the prefix
	mark  rune // a quotation mark right before that may open and close
	left  byte // the byte before mark

	paragraph, inLine marks  // those that are open, counted from the start of either
	within            int    // the open enclosure; 0 outside
	recent            uint64 // the last bytes of the line, in lower case
	ending            bool   // the last byte may end a mark of an enclosure
	tag               tag
	doubts            doubts
}

// A position is what precedes a byte in its line.
type position uint8

const (
	atStart  position = iota // nothing
	indented                 // white space
	inside
)

// markedLine is what a line has that is marked as a part of a block quote.
type markedLine uint8

const (
	notMarked  markedLine = iota
	marksNone             // nothing else so far
	marksOther            // code or a heading
	marksText             // text, which lines without a mark may go on
)

// isQuoted reports whether the next byte, which was given to settle, is in quoted text. A
// backslash before a bracket is an escape of Markdown.
func (p *place) isQuoted() bool {
	return p.inBlock() || p.paragraph.isOpen() || p.inLine.isOpen() || p.last == '\\' || p.lazy && p.line == inside
}

// inBlock is isQuoted without what a block ends.
func (p *place) inBlock() bool {
	return p.quoting || p.within != 0 || p.isIndented() || p.inLiteral()
}

// isIndented reports whether the next byte begins indented code.
func (p *place) isIndented() bool {
	return !p.past && !p.listed && p.digits == 0 && p.column-p.base >= 4
}

// isOnlyIndented reports whether the next byte, which was given to settle, is quoted by the white space
// before it in its line, and by nothing else.
func (p *place) isOnlyIndented() bool {
	indented := p.line != inside && p.isIndented()
	return indented && !p.quoting && p.within == 0 && !p.lazy && !p.inLiteral() && !p.paragraph.isOpen() && !p.inLine.isOpen()
}

// inLiteral reports whether the next byte begins a line of a literal block.
func (p *place) inLiteral() bool {
	return p.literal > 0 && p.line != inside && p.column >= p.literal
}

// pass moves the place behind a byte of text.
func (p *place) pass(c byte) {
	p.settle(c)
	p.advance(c)
}

// advance is pass for a byte that was given to settle.
func (p *place) advance(c byte) {
	switch {
	case c == '\n':
		p.endLine()
	case p.fence.length > 0 && p.passFence(c):
	default:
		p.passText(c)
	}
	p.last = c
}

// skip moves the place behind a call that is text, in its line, whose last byte is c.
func (p *place) skip(c byte) {
	p.quoting = p.quoting || p.isIndented() || p.inLiteral()
	p.line, p.begun, p.past, p.last, p.recent = inside, true, true, c, 0
}

// settle decides what the marks right before the byte c mean. To call it again changes nothing.
func (p *place) settle(c byte) {
	if p.run > 0 && c != p.last {
		p.endRun()
	}
	if p.ending {
		p.ending = false
		p.settleSymbol(c)
	}
	if p.mark != 0 {
		p.settleMark(c)
		p.mark = 0
	}
	if p.tag.length > 0 && !isTagByte(c) {
		p.settleTag()
		p.tag.length = 0
	}
}

// endLine begins a line. A blank one ends the paragraph.
func (p *place) endLine() {
	if p.fence.endLine() {
		p.fence = fence{}
	}
	blank := p.line != inside
	if blank {
		p.endParagraph()
	} else if p.literal == 0 && (p.opening || endsWith(p.recent, "::")) {
		p.literal = p.indent + 1
	}
	if e := &enclosures[p.within]; p.within != 0 && (e.lasts == toLine || e.lasts == toParagraph && blank) {
		p.doubts.open |= 1 << p.within
		p.within = 0
	}
	p.lazy = p.marked == marksText || p.lazy && !blank && p.marked == notMarked
	p.line, p.column, p.base, p.past, p.digits = atStart, 0, 0, false, 0
	p.listed, p.quoting, p.inLine, p.recent = false, false, marks{}, 0
	p.marked, p.opening = notMarked, false
}

// endParagraph ends a paragraph: only what was behind a mark that is still open shows whether it
// quotes more.
func (p *place) endParagraph() {
	p.doubts.open |= doubtOf[p.paragraph.quoted]
	p.paragraph = marks{}
	p.endLazy()
}

// passText passes a byte that is not in fenced code.
func (p *place) passText(c byte) {
	if p.within != 0 {
		p.passWithin(c)
		return
	}
	if !p.past && p.passPrefix(c) {
		return
	}
	p.line, p.begun, p.past = inside, true, true
	p.remember(c)
	switch {
	case c == '`' && p.last == '\\' && p.run == 0 && p.paragraph.ticks+p.inLine.ticks == 0: // escaped
	case c == '`', c == '~':
		p.run++
	case c == '"', c == '\'':
		p.mark, p.left = rune(c), p.last
	case c >= 0xc0:
		p.left = p.last
	case p.ending && endsWith(p.recent, "”"):
		p.mark = '”'
	case p.ending && endsWith(p.recent, "’"):
		p.mark = '’'
	case p.inLine.isOpen():
	case c == '{', c == '[':
		p.paragraph.nested++
	case c == '}', c == ']':
		p.paragraph.nested = max(0, p.paragraph.nested-1)
	}
	switch {
	case isSpace(c):
		p.opening = p.opening || p.recent == '.'<<16|'.'<<8|' '
	case p.marked == marksNone && c != '>':
		if p.marked = marksText; c == '`' || c == '~' || c == '#' {
			p.marked = marksOther
		}
	case !p.fresh: // which may open a fence
		p.doubts.close(lazily)
	}
}

// passWithin passes a byte of an enclosure. The lines in it may be quoted themselves, with its end.
func (p *place) passWithin(c byte) {
	if !p.past && !p.passPrefix(c) {
		p.line, p.past, p.fresh = inside, true, false
	}
	p.remember(c)
}

// remember keeps a byte for the marks of enclosures.
func (p *place) remember(c byte) {
	p.recent = p.recent<<8 | uint64(lower(c))
	p.ending = symbolEnds[c]
	if c == '<' || c == '\\' || p.tag.length > 0 {
		p.tag.add(c)
	}
}

// passPrefix passes a byte of the line's prefix: white space and list markers. It reports false
// if the byte is not part of it.
func (p *place) passPrefix(c byte) bool {
	if isSpace(c) {
		return p.passSpace(c)
	}
	p.quoting = p.quoting || p.isIndented() || p.inLiteral()
	if p.line != inside {
		if p.indent = p.column; p.indent < p.literal {
			p.literal = 0
		}
	}
	isMarker := !p.listed && p.digits == 0 && (c == '-' || c == '*' || c == '+') || p.digits > 0 && (c == '.' || c == ')')
	isDigit := !p.listed && p.digits < 9 && c >= '0' && c <= '9'
	switch {
	case isMarker:
		p.listed, p.digits = true, 0
	case isDigit:
		p.digits++
	default:
		if clean := !p.listed && p.digits == 0; clean {
			p.beginBlock(c)
		}
		return false
	}
	p.column++
	p.line, p.begun = inside, true
	return true
}

// beginBlock begins the text of a line, behind its prefix, whose first byte is c.
func (p *place) beginBlock(c byte) {
	switch c {
	case '>':
		p.quoting, p.marked = true, marksNone
		p.endParagraph()
	case '|':
		p.quoting = true
		p.endParagraph()
	case '#':
		p.endLazy()
	case '`', '~':
		if p.run == 0 {
			p.fresh = !p.quoting
		}
	}
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
		p.listed, p.base = false, p.column
		p.endParagraph()
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
		p.inLine = marks{}
		p.endParagraph()
	case p.last == '`' && !p.quoting:
		p.paragraph.tick(n)
		p.inLine.tick(n)
	}
	p.fresh = false
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
