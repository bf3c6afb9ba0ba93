package prompted

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
