package prompted

import (
	"bytes"
	"slices"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A scanner separates the calls in a model's text from the rest: see the package comment. The
// result does not depend on the pieces in which the text arrives. All that is not a call of a
// known tool is text, to the last byte, except for white space between a call and the start
// or the end.
type scanner struct {
	offer
	*syntax
	grammar *grammar
	own     []form   // of grammar, if that is plain
	results []string // the beginnings of results that a model may make up
	out     func(piece)
	maxCall int // bytes that are held back for one call

	mode      mode
	forms     []form   // of the last call, while others may follow in it, innermost last
	thought   string   // the end of the thinking
	expected  bool     // the text was expected to begin within thinking, and no mark shows that it did not
	thinks    bool     // there was thinking, in the text or apart from it
	outermost [1]form  // of the forms that are matched
	held      []byte   // the text that is held back
	place     place    // of the byte of held at offset at
	at        int      // 0 unless doubtful
	doubtful  *place   // of the first byte of held, where a call begins that may be quoted; else nil
	trial     *trial   // of the calls at the first byte of held; else nil
	tried     bool     // there was a trial
	brackets  brackets // of the value in the window
	searched  int      // the offset up to which the end of a form was searched for
	matched   int      // the length of the window that was matched last, if it was undecided
	wasted    int      // bytes that were matched and found to be text
	called    bool     // there was a call
	ended     bool     // the model continued with a result that it made up

	emitting providers.PartType // of the text that was emitted last
	visible  bool               // that text has more than white space
	blank    []byte             // the white space before it
}

// A piece is what a scanner emits: some text, or a call.
type piece struct {
	kind providers.PartType // text, thinking or call
	text string
	call call
	ends bool // of thinking: all before it in the reply is a part of that, too
}

type mode uint8

const (
	inText mode = iota
	inThought
	afterCall // in a form that may hold more of them
)

// A finding is the result of a match for the first n bytes of a window.
type finding struct {
	verdict verdict
	n       int
	calls   []call
	forms   []form // of the calls, innermost last
}

// wholeLen returns the length of calls with the ends of their forms. It reports false if more text
// is needed.
func (f *finding) wholeLen(w []byte, final bool) (n int, ok bool) {
	n = f.n
	for _, in := range slices.Backward(f.forms) {
		size, partly := in.endLen(w[n:])
		if partly && !final {
			return 0, false
		}
		n += size
	}
	return n, true
}

type verdict uint8

const (
	undecided verdict = iota // more text is needed
	notCall                  // text
	isCall
	isThought // the beginning of thinking
	isLoneEnd // the end of thinking that the text did not begin
	isMarkup  // neither text nor a call
	madeUp    // a result that the model made up
)

func newScanner(all *syntax, g *grammar, o offer, maxCall int, out func(piece)) *scanner {
	s := &scanner{offer: o, syntax: all, grammar: g, maxCall: maxCall, out: out, results: []string{responseOpen}}
	for _, m := range []pair{g.results, g.result} {
		if m.open != "" {
			s.results = append(s.results, m.open)
		}
	}
	if g.plain {
		s.own = g.forms()
	}
	return s
}

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
		switch {
		case s.trial != nil:
			more = s.scanTrial(final)
		case s.mode == inText:
			more = s.scanText(final)
		case s.mode == inThought:
			more = s.scanThought(final)
		case s.mode == afterCall:
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
	for n := s.at; ; {
		n = s.passText(n)
		if s.doubtful != nil && s.decide(n, final) {
			return true
		}
		if n == len(s.held) {
			return s.keepText(n)
		}
		w, end := s.window(n, final)
		if s.goesOn(w, end) {
			return s.keepText(n)
		}
		f := s.match(w, end)
		switch {
		case f.verdict == undecided:
			return s.keepText(n)
		case f.verdict == notCall:
			for range max(f.n, 1) {
				s.place.pass(s.held[n])
				n++
			}
			s.reset(f)
			continue
		}
		quoted := s.doubtful != nil || s.isQuoted(w)
		if !quoted && !s.place.doubt(w[0] == '`') {
			s.emitText(providers.PartText, n)
			s.act(f)
			return true
		}
		size, ok := f.wholeLen(w, end)
		if !ok {
			return s.keepText(n)
		}
		if s.mayTry(f) {
			s.emitText(providers.PartText, n)
			s.try(size)
			return true
		}
		if !quoted {
			s.emitText(providers.PartText, n)
			undoubted := s.place.undoubted()
			s.doubtful, n = &undoubted, 0
		}
		n += size // its own quotation marks do not end the quotation
		s.place.skip(s.held[n-1])
		s.reset(finding{verdict: notCall})
	}
}

// passText passes text from an offset on, up to a byte with which a call may begin or that decides
// about a doubtful call. It returns its offset.
func (s *scanner) passText(n int) int {
	limit := len(s.held)
	if s.doubtful != nil {
		limit = min(limit, s.maxCall)
	}
	for ; n < limit; n++ {
		c := s.held[n]
		s.place.settle(c)
		if s.mayBegin(c) || s.doubtful != nil && s.place.doubts.decided() {
			break
		}
		s.place.advance(c)
	}
	return n
}

// decide reports whether the first n bytes of held show if the doubtful call is quoted. If it is,
// they are text.
func (s *scanner) decide(n int, final bool) bool {
	final = final && n == len(s.held)
	if final {
		s.place.settle('\n')
	}
	switch d := &s.place.doubts; {
	case d.closed, n >= s.maxCall:
		s.emitText(providers.PartText, n)
	case d.decided(), final:
		s.wasted += n
		s.place = *s.doubtful
		s.reset(finding{})
	default:
		return false
	}
	s.at, s.doubtful = 0, nil
	return true
}

// keepText emits the first n bytes of held, or keeps them behind a doubtful call. It reports false:
// more text is needed.
func (s *scanner) keepText(n int) bool {
	if s.doubtful != nil {
		s.at = n
	} else {
		s.emitText(providers.PartText, n)
	}
	return false
}

// goesOn reports whether a window is still in the string in which its last match ended.
func (s *scanner) goesOn(w []byte, final bool) bool {
	quote, matched := s.brackets.quote, s.matched
	s.matched = len(w)
	return quote != 0 && !final && bytes.IndexByte(w[matched:], quote) < 0
}

// act does what a finding is about, which is not text.
func (s *scanner) act(f finding) {
	switch f.verdict {
	case isCall:
		s.emitCalls(f)
	case isThought:
		s.discard(f.n)
		s.mode, s.thinks = inThought, true
	case isLoneEnd:
		s.endThought(f.n)
	case isMarkup:
		s.discard(f.n)
		s.place = place{}
	case madeUp:
		s.ended, s.held = true, nil
	}
}

// mayBegin reports whether a call may begin with the next byte, which was given to settle.
func (s *scanner) mayBegin(c byte) bool {
	switch c {
	case '<', '|', '[':
	case '{':
		if s.place.line != atStart {
			return false
		}
	case '`', 't', 'T':
		if s.place.line == inside {
			return false
		}
	default:
		if s.place.line == inside || !s.mayBeginOwn(c) {
			return false
		}
	}
	return s.place.fence.length == 0 && !s.exhausted()
}

// mayBeginOwn reports whether a call or a made up result of the model's own grammar may begin with c
// at the start of a line.
func (s *scanner) mayBeginOwn(c byte) bool {
	return s.called && slices.ContainsFunc(s.results, func(open string) bool { return open[0] == c }) || s.isBare() && isWord(c) ||
		slices.ContainsFunc(s.own, func(f form) bool { return f.open[0] == c })
}

// isQuoted reports whether the call in a window is only quoted. A block of code ends the
// paragraph before it.
func (s *scanner) isQuoted(w []byte) bool {
	if w[0] == '`' {
		return s.place.inBlock()
	}
	return s.place.isQuoted()
}

// exhausted reports whether so much was matched in vain that all the rest is taken for text.
// That needs a malicious text.
func (s *scanner) exhausted() bool { return s.wasted > 16*s.maxCall }

// reset prepares for the match of another window.
func (s *scanner) reset(f finding) {
	if f.verdict == notCall {
		s.wasted += s.brackets.offset
	}
	s.brackets, s.searched, s.matched = brackets{open: s.brackets.open[:0]}, 0, 0
}

// emitCalls emits the calls that were found.
func (s *scanner) emitCalls(f finding) {
	for _, c := range f.calls {
		s.out(piece{kind: providers.PartCall, call: c})
	}
	s.reset(f)
	s.discard(f.n)
	s.forms, s.called = f.forms, true
	s.place = place{begun: true}
	s.visible, s.blank = false, nil
	s.mode = afterCall
}

// scanAfterCall looks for the end of a call's form, or another call in it. It reports false
// if more text is needed.
func (s *scanner) scanAfterCall(final bool) bool {
	w, final := s.window(0, final)
	if s.goesOn(w, final) {
		return false
	}
	in := &s.forms[len(s.forms)-1]
	n, partly := in.endLen(w)
	if partly && !final {
		return false
	}
	f := finding{verdict: notCall}
	if n == 0 && !s.exhausted() {
		i := prefixLen(w, whiteSpace+",;")
		if !in.strict || in.ends != nil || !isCode(w[:i]) {
			f = s.matchBody(w[i:], final, s.forms)
		}
		f.n += i
	}
	switch {
	case f.verdict == undecided:
		return false
	case f.verdict == isCall:
		s.emitCalls(f)
		return true
	}
	s.reset(f)
	s.discard(n)
	if s.forms = s.forms[:len(s.forms)-1]; len(s.forms) > 0 {
		return true
	}
	s.mode = inText
	if n == 0 && in.isBlock() {
		s.place = place{begun: true, line: inside, past: true, fence: fence{char: fenceMark[0], length: len(fenceMark), closing: -1}}
	}
	return true
}

// isCode reports whether white space ends with the indentation of code.
func isCode(blank []byte) bool {
	line := blank[bytes.LastIndexByte(blank, '\n')+1:]
	return len(line) < len(blank) && (len(line) >= 4 || bytes.IndexByte(line, '\t') >= 0)
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
