package prompted

import "bytes"

// A scanner tells the calls in a model's text from the rest, while it comes. It gives the
// text away as soon as nothing that may be a call begins in it, and comes to the same
// whatever the portions that it gets. A call is one of a tool that is known; everything
// else is text, to the last byte, but for white space that has a call on one side and
// nothing on the other.
//
// It only ever looks at what it holds back, from the first byte on, and finds that it is
// text, or calls, or that it takes more to know. So that this takes no time that grows
// with the square of a text, it remembers how far it has looked.
type scanner struct {
	known      func(name string) (own string, ok bool) // a tool by the name that a model wrote
	properties func(own string) []string               // of a tool's arguments, in order
	out        func(piece)
	most       int // bytes that are held back for one call

	mode   mode
	form   form    // of the last call, while others may follow in it
	held   []byte  // what is held back
	look   balance // of the value that is being looked at
	seen   int     // up to where the end of a form has been searched for
	wasted int     // bytes that were looked at for nothing
	begun  bool    // something but white space has come
	called bool    // one of it was a call
	line   place   // of held in its line
	fenced bool    // in a block of code
	over   bool    // the model goes on with a result that it makes up

	saying kind
	spoken bool   // the text being said has more than white space
	blank  []byte // the white space that it has begun with
}

// A piece is what a scanner gives away: some text, or a call.
type piece struct {
	kind kind
	text string
	call call
}

type kind uint8

const (
	textPiece kind = iota
	thoughtPiece
	callPiece
)

type mode uint8

const (
	inText mode = iota
	inThought
	afterCall // in a form that may hold more of them
)

// A place says what stands before a byte in its line.
type place uint8

const (
	atStart  place = iota // nothing
	indented              // white space alone
	inside
)

// A finding is what a look has found: that n bytes are calls, or nothing but text.
type finding struct {
	verdict verdict
	n       int
	calls   []call
}

type verdict uint8

const (
	more    verdict = iota // it takes more of the text to know
	no                     // text
	yes                    // calls
	thought                // the model begins to think
	stop                   // nothing that counts follows
)

// write adds a portion of the text.
func (s *scanner) write(text string) {
	if !s.over {
		s.held = append(s.held, text...)
		s.scan(false)
	}
}

// close says that there is no more.
func (s *scanner) close() { s.scan(true) }

func (s *scanner) scan(final bool) {
	for on := true; on && len(s.held) > 0; {
		switch s.mode {
		case inText:
			on = s.text(final)
		case inThought:
			on = s.thought(final)
		case afterCall:
			on = s.after(final)
		}
	}
}

// window is what is looked at from a byte on. The limit is as good as the end.
func (s *scanner) window(from int, final bool) ([]byte, bool) {
	w := s.held[from:]
	if len(w) >= s.most {
		return w[:s.most], true
	}
	return w, final
}

// text gives away what is text, up to what may be a call, and looks at that.
func (s *scanner) text(final bool) bool {
	for n := 0; ; {
		for n < len(s.held) && !s.mayBegin(s.held[n]) {
			s.pass(s.held[n])
			n++
		}
		if n == len(s.held) {
			s.say(textPiece, n)
			return false
		}
		w, end := s.window(n, final)
		f := s.begin(w, end)
		if f.verdict == no {
			for range max(f.n, 1) {
				s.pass(s.held[n])
				n++
			}
			s.settle(f)
			continue
		}
		s.say(textPiece, n)
		switch f.verdict {
		case yes:
			s.commit(f)
		case thought:
			s.drop(f.n)
			s.mode = inThought
		case stop:
			s.over, s.held = true, nil
		default:
			return false
		}
		return true
	}
}

// mayBegin reports whether a call may begin with a byte that is the next.
func (s *scanner) mayBegin(c byte) bool {
	switch c {
	case '<', '|', '[':
	case '{':
		return s.line == atStart && !s.fenced && !s.tired()
	case '`', 't', 'T':
		return s.line != inside && !s.tired()
	default:
		return false
	}
	return !s.tired()
}

// tired reports whether the text was looked at so often that all the rest is taken for
// text. Only one that is made to do so makes it.
func (s *scanner) tired() bool { return s.wasted > 16*s.most }

// pass keeps the place up with a byte that is text.
func (s *scanner) pass(c byte) {
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

// settle ends a look.
func (s *scanner) settle(f finding) {
	if f.verdict == no {
		s.wasted += s.look.at
	}
	s.look, s.seen = balance{stack: s.look.stack[:0]}, 0
}

// commit gives calls away.
func (s *scanner) commit(f finding) {
	for _, c := range f.calls {
		s.out(piece{kind: callPiece, call: c})
	}
	s.settle(f)
	s.drop(f.n)
	s.begun, s.called = true, true
	s.spoken, s.blank = false, nil
	s.mode = afterCall
}

// after looks behind a call: for the end of its form, and for another call in it.
func (s *scanner) after(final bool) bool {
	w, final := s.window(0, final)
	n, partly := s.form.ends(w)
	if partly && !final {
		return false
	}
	f := finding{verdict: no}
	if n == 0 {
		i := gap(w, whiteSpace+",;")
		f = s.body(w[i:], final, s.form)
		f.n += i
	}
	switch f.verdict {
	case more:
		return false
	case yes:
		s.commit(f)
	default:
		s.settle(f)
		s.drop(n)
		s.mode, s.line = inText, atStart
	}
	return true
}

// thought gives away what the model thinks. It calls nothing there.
func (s *scanner) thought(final bool) bool {
	n, shut := bytes.Index(s.held, []byte(thinkShut)), len(thinkShut)
	if n < 0 {
		n, shut = len(s.held), 0
		if !final {
			for n = max(0, n-len(thinkShut)+1); !partOf(s.held[n:], thinkShut); n++ {
			}
		}
	}
	s.say(thoughtPiece, n)
	s.drop(shut)
	if shut > 0 {
		s.mode, s.line, s.begun = inText, atStart, false
	}
	return shut > 0
}

// say gives away n bytes that are no call.
func (s *scanner) say(k kind, n int) {
	if s.saying != k {
		s.saying, s.spoken, s.blank = k, false, nil
	}
	if n == 0 {
		return
	}
	text := s.held[:n]
	if !s.spoken {
		s.spoken = len(bytes.TrimLeft(text, whiteSpace)) > 0
		s.blank = append(s.blank, text...)
		text = s.blank
	}
	if s.spoken {
		s.out(piece{kind: k, text: string(text)})
		s.blank = nil
	}
	s.drop(n)
}

func (s *scanner) drop(n int) { s.held = s.held[n:] }
