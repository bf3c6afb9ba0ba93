package prompted

import (
	"bytes"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A scanner separates the calls in a model's text from the rest: see the package comment. The
// result does not depend on the pieces in which the text arrives. All that is not a call of a
// known tool is text, to the last byte, except for white space between a call and the start
// or the end.
type scanner struct {
	offer
	out     func(piece)
	maxCall int // bytes that are held back for one call

	mode     mode
	form     form     // of the last call, while others may follow in it
	held     []byte   // the text that is held back
	brackets brackets // of the value in the window
	searched int      // the offset up to which the end of a form was searched for
	wasted   int      // bytes that were matched and found to be text
	begun    bool     // there was more than white space
	called   bool     // there was a call
	line     place    // of the first byte of held, in its line
	fenced   bool     // held is in a block of code without calls
	ended    bool     // the model continued with a result that it made up

	emitting providers.PartType // of the text that was emitted last
	visible  bool               // that text has more than white space
	blank    []byte             // the white space before it
}

// A piece is what a scanner emits: some text, or a call.
type piece struct {
	kind providers.PartType // text, thinking or call
	text string
	call call
}

type mode uint8

const (
	inText mode = iota
	inThought
	afterCall // in a form that may hold more of them
)

// A place is what precedes a byte in its line.
type place uint8

const (
	atStart  place = iota // nothing
	indented              // white space
	inside
)

// A finding is the result of a match for the first n bytes of a window.
type finding struct {
	verdict verdict
	n       int
	calls   []call
}

type verdict uint8

const (
	undecided verdict = iota // more text is needed
	notCall                  // text
	isCall
	isThought // the beginning of thinking
	madeUp    // a result that the model made up
)

// write adds a piece of the text.
func (s *scanner) write(text string) {
	if !s.ended {
		s.held = append(s.held, text...)
		s.scan(false)
	}
}

// close ends the text.
func (s *scanner) close() { s.scan(true) }

func (s *scanner) scan(final bool) {
	for more := true; more && len(s.held) > 0; {
		switch s.mode {
		case inText:
			more = s.scanText(final)
		case inThought:
			more = s.scanThought(final)
		case afterCall:
			more = s.scanAfterCall(final)
		}
	}
}

// window returns what a match sees from an offset on. A window of maxCall bytes is final.
func (s *scanner) window(from int, final bool) ([]byte, bool) {
	w := s.held[from:]
	if len(w) >= s.maxCall {
		return w[:s.maxCall], true
	}
	return w, final
}

// scanText emits text up to a byte with which a call may begin, and matches from there. It
// reports false if more text is needed.
func (s *scanner) scanText(final bool) bool {
	for n := 0; ; {
		for n < len(s.held) && !s.mayBegin(s.held[n]) {
			s.advance(s.held[n])
			n++
		}
		if n == len(s.held) {
			s.emitText(providers.PartText, n)
			return false
		}
		w, end := s.window(n, final)
		f := s.match(w, end)
		if f.verdict == notCall {
			for range max(f.n, 1) {
				s.advance(s.held[n])
				n++
			}
			s.reset(f)
			continue
		}
		s.emitText(providers.PartText, n)
		switch f.verdict {
		case isCall:
			s.emitCalls(f)
		case isThought:
			s.discard(f.n)
			s.mode = inThought
		case madeUp:
			s.ended, s.held = true, nil
		default:
			return false
		}
		return true
	}
}

// mayBegin reports whether a call may begin with the next byte.
func (s *scanner) mayBegin(c byte) bool {
	switch c {
	case '<', '|', '[':
	case '{':
		return s.line == atStart && !s.fenced && !s.exhausted()
	case '`', 't', 'T':
		return s.line != inside && !s.exhausted()
	default:
		return false
	}
	return !s.exhausted()
}

// exhausted reports whether so much was matched in vain that all the rest is taken for text.
// That needs a malicious text.
func (s *scanner) exhausted() bool { return s.wasted > 16*s.maxCall }

// advance updates the place in the line with a byte of text.
func (s *scanner) advance(c byte) {
	switch c {
	case '\n':
		s.line = atStart
	case ' ', '\t', '\r':
		if s.line == atStart && s.begun {
			s.line = indented
		}
	default:
		s.line, s.begun = inside, true
	}
}

// reset prepares for the match of another window.
func (s *scanner) reset(f finding) {
	if f.verdict == notCall {
		s.wasted += s.brackets.offset
	}
	s.brackets, s.searched = brackets{open: s.brackets.open[:0]}, 0
}

// emitCalls emits the calls that were found.
func (s *scanner) emitCalls(f finding) {
	for _, c := range f.calls {
		s.out(piece{kind: providers.PartCall, call: c})
	}
	s.reset(f)
	s.discard(f.n)
	s.begun, s.called = true, true
	s.visible, s.blank = false, nil
	s.mode = afterCall
}

// scanAfterCall looks for the end of a call's form, or another call in it. It reports false
// if more text is needed.
func (s *scanner) scanAfterCall(final bool) bool {
	w, final := s.window(0, final)
	n, partly := s.form.endLen(w)
	if partly && !final {
		return false
	}
	f := finding{verdict: notCall}
	if n == 0 {
		i := prefixLen(w, whiteSpace+",;")
		f = s.matchBody(w[i:], final, s.form)
		f.n += i
	}
	switch f.verdict {
	case undecided:
		return false
	case isCall:
		s.emitCalls(f)
	default:
		s.reset(f)
		s.discard(n)
		s.mode, s.line = inText, atStart
	}
	return true
}

// scanThought emits thinking, in which there are no calls. It reports false if more text is
// needed.
func (s *scanner) scanThought(final bool) bool {
	n, end := bytes.Index(s.held, []byte(thinkEnd)), len(thinkEnd)
	if n < 0 {
		n, end = len(s.held), 0
		if !final {
			for n = max(0, n-len(thinkEnd)+1); !strings.HasPrefix(thinkEnd, string(s.held[n:])); n++ {
			}
		}
	}
	s.emitText(providers.PartThinking, n)
	s.discard(end)
	if end > 0 {
		s.mode, s.line, s.begun = inText, atStart, false
	}
	return end > 0
}

// emitText emits n bytes that are not a call.
func (s *scanner) emitText(k providers.PartType, n int) {
	if s.emitting != k {
		s.emitting, s.visible, s.blank = k, false, nil
	}
	if n == 0 {
		return
	}
	text := s.held[:n]
	if !s.visible {
		s.visible = len(bytes.TrimLeft(text, whiteSpace)) > 0
		s.blank = append(s.blank, text...)
		text = s.blank
	}
	if s.visible {
		s.out(piece{kind: k, text: string(text)})
		s.blank = nil
	}
	s.discard(n)
}

func (s *scanner) discard(n int) { s.held = s.held[n:] }
