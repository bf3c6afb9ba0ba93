package prompted

import "slices"

// marks are the open marks of quoted text.
type marks struct {
	ticks  int  // the backticks that opened a code span
	quoted rune // the open quotation mark
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
func (m *marks) quote(mark rune, before, after byte) {
	single := mark == '\'' || mark == '’'
	inWord := isAlphanumeric(before) && (single || before < 0x80) // Chinese has no spaces
	endsLine := after == '\n' || after == '\r'
	opens := (endsLine || !isSpace(after)) && (!inWord || isBracket(after))
	if endsLine || mark >= 0x80 { // a curly mark mostly closes what another one opened
		opens = opens && (before == 0 || before == '\n' || isSpace(before) || before == '(')
	}
	switch {
	case m.ticks > 0:
	case m.quoted == 0 && opens:
		m.quoted = mark
	case m.quoted == mark && (!single || !isAlphanumeric(before) || !isAlphanumeric(after)):
		m.quoted = 0
	}
}

// settleMark reads a quotation mark that may open and close, before the byte c. A lone single one
// is more often a part of a word: it quotes its line only. One that may do either closes what a
// call depends on, and else opens.
func (p *place) settleMark(c byte) {
	if doubt := doubtOf[p.mark]; doubt != 0 && !p.quoting {
		free, closing := !p.paragraph.isOpen(), closes(p.left, c)
		if free && closing && p.doubts.relevant&doubt != 0 {
			p.doubts.close(doubt)
			return
		}
		p.paragraph.quote(p.mark, p.left, c)
		if free && (closing || p.paragraph.isOpen()) {
			p.doubts.drop(doubt)
		}
	}
	p.inLine.quote(p.mark, p.left, c)
}

// closes reports whether a quotation mark between two bytes rather closes than opens.
func closes(before, after byte) bool {
	behind := before != 0 && before != '\n' && before != '(' && !isSpace(before) && !isBracket(before)
	return after == '\n' || isSpace(after) || behind && !isAlphanumeric(after) && !isBracket(after)
}

// doubts are marks whose paragraph or line ended before they were closed, a bit for each. Such a
// mark may be a lone one, or the text behind it is quoted up to the mark that closes it. A call
// there is thus decided by what follows: it is quoted if the mark is closed before another one
// opens, and a call if the text ends before that.
type doubts struct {
	open     uint64 // those that are not closed yet
	relevant uint64 // those of them on which a call depends
	closed   bool   // one that was relevant is closed: the call is quoted
}

// The doubts beside those of enclosures, which have the bits of their indices.
const (
	lazily    = 1 << (63 - iota) // the line goes on a block quote if text follows in its paragraph
	straight                     // "…"
	rightOnly                    // ”…”, of Swedish and Finnish
)

// doubtOf has the doubts that open quotation marks leave where their paragraph ends.
var doubtOf = map[rune]uint64{'"': straight, '”': rightOnly}

// close ends a doubt: its mark is closed.
func (d *doubts) close(doubt uint64) {
	d.closed = d.closed || d.relevant&doubt != 0
	d.drop(doubt)
}

// decided reports whether it is known if the call is quoted.
func (d *doubts) decided() bool { return d.closed || d.relevant == 0 }

// drop ends a doubt: its mark was a lone one.
func (d *doubts) drop(doubt uint64) {
	d.open &^= doubt
	d.relevant &^= doubt
}

// endLazy ends the paragraph of a block quote.
func (p *place) endLazy() {
	p.lazy = false
	p.doubts.drop(lazily)
}

// doubt makes the place that of a call, or of a block of code that is one, if it is not quoted for
// certain. It reports false if it surely is not quoted.
func (p *place) doubt(block bool) bool {
	switch {
	case block:
		p.endParagraph()
	case p.lazy:
		p.doubts.open |= lazily
	}
	p.doubts.relevant, p.doubts.closed = p.doubts.open, false
	return p.doubts.relevant != 0
}

// undoubted returns the place of a call that turned out not to be quoted.
func (p place) undoubted() place {
	p.doubts, p.lazy = doubts{}, false
	return p
}

// An enclosure is quoted text between two marks of several bytes: symbols of at most 8, or tags,
// without what ends them.
type enclosure struct {
	open  string
	close []string // one of these
	lasts scope
}

// A scope is how far an enclosure reaches that is not closed.
type scope uint8

const (
	toLine scope = iota
	toParagraph
	toEnd
)

// enclosures have marks in lower case. The first is not one.
var enclosures = []enclosure{
	{},
	{"<!--", []string{"-->"}, toEnd},
	{"![cdata[", []string{"]]>"}, toEnd},
	{`"""`, []string{`"""`}, toEnd},
	{`'''`, []string{`'''`}, toEnd},
	{"<pre", []string{"</pre"}, toEnd},
	{"<blockquote", []string{"</blockquote"}, toEnd},
	{"<think", []string{"</think"}, toEnd}, // not at the beginning
	{"<code", []string{"</code"}, toParagraph},
	{"<samp", []string{"</samp"}, toParagraph},
	{"<kbd", []string{"</kbd"}, toParagraph},
	{"<tt", []string{"</tt"}, toParagraph},
	{"<xmp", []string{"</xmp"}, toParagraph},
	{"<textarea", []string{"</textarea"}, toParagraph},
	{`\begin{verbatim`, []string{`\end{verbatim`}, toParagraph},
	{`\begin{lstlisting`, []string{`\end{lstlisting`}, toParagraph},
	{`\begin{minted`, []string{`\end{minted`}, toParagraph},
	{`\begin{quote`, []string{`\end{quote`}, toParagraph},
	{"“", []string{"”"}, toParagraph},
	{"„", []string{"“", "”"}, toParagraph},
	{"«", []string{"»"}, toParagraph},
	{"»", []string{"«", "»"}, toLine},
	{"‹", []string{"›"}, toLine},
	{"›", []string{"‹", "›"}, toLine},
	{"「", []string{"」"}, toParagraph},
	{"『", []string{"』"}, toParagraph},
	{"‘", []string{"’"}, toLine},
	{"‚", []string{"‘", "’"}, toLine},
}

// symbolEnds are the last bytes of symbols.
var symbolEnds = [256]bool{
	'-': true, '>': true, '[': true, '"': true, '\'': true, 0x98: true, 0x99: true, 0x9a: true, 0x9c: true, 0x9d: true,
	0x9e: true, 0xab: true, 0xbb: true, 0xb9: true, 0xba: true, 0x8c: true, 0x8d: true, 0x8e: true, 0x8f: true,
}

// settleSymbol reads a symbol that ends right before the byte c, if one does. An apostrophe is not
// one.
func (p *place) settleSymbol(c byte) {
	p.readMark(func(mark string) bool { return endsWith(p.recent, mark) && !(mark == "’" && isLetter(c)) })
}

// settleTag reads the tag that ends right before.
func (p *place) settleTag() {
	name := string(p.tag.name[:p.tag.length])
	p.readMark(func(mark string) bool { return mark == name })
}

// readMark opens or closes the enclosure whose mark is right before.
func (p *place) readMark(before func(mark string) bool) {
	if p.within != 0 {
		if slices.ContainsFunc(enclosures[p.within].close, before) {
			p.within, p.recent, p.mark = 0, 0, 0
		}
		return
	}
	if p.quoting || p.paragraph.ticks+p.inLine.ticks > 0 {
		return
	}
	opened, last := 0, lower(p.last)
	for i := 1; i < len(enclosures); i++ {
		if doubt := uint64(1) << i; p.doubts.open&doubt != 0 && slices.ContainsFunc(enclosures[i].close, before) {
			p.doubts.close(doubt)
			p.mark = 0
			return
		}
		if mark := enclosures[i].open; opened == 0 && mark[len(mark)-1] == last && before(mark) {
			opened = i
		}
	}
	if opened == 0 {
		return
	}
	if p.mark != 0 { // three of them
		p.paragraph.quoted, p.inLine.quoted = 0, 0
	}
	p.doubts.drop(1 << opened)
	p.within, p.recent, p.mark = opened, 0, 0
}

// A tag is the beginning of one, such as <pre or \begin{verbatim, in lower case.
type tag struct {
	name   [20]byte
	length int // of name, or more if that is too short; 0 outside of a tag
}

// add adds a byte to a tag. One that begins a tag begins another one.
func (t *tag) add(c byte) {
	if c == '<' || c == '\\' {
		t.length = 0
	}
	if t.length < len(t.name) {
		t.name[t.length] = lower(c)
		t.length++
	}
}

func isTagByte(c byte) bool {
	return c < 0x80 && isAlphanumeric(c) || c == '/' || c == '{' || c == '-' || c == '_' || c == '.' || c == ':'
}

// isLetter reports whether c is a letter of ASCII, or begins one of another alphabet.
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0xc3 && c < 0xe0 }

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
