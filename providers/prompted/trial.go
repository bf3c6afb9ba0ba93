package prompted

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A trial reads indented calls in special tokens up to the end of the reply, which shows whether they
// are quoted: see scanner.mayTry. Its scanner sees the text from the calls on as if it was not
// indented.
type trial struct {
	*scanner
	read   int // bytes of the text that the scanner has
	size   int // bytes of the text that are quoted if the trial fails
	calls  []piece
	failed bool // there is something else, or a call that is not well-formed
}

// mayTry reports whether a call is indented code by its place, but may be one that ends the reply: it
// is in tokens that a model of the grammar writes for its calls only, and nothing but its indentation
// quotes it. It is a call if its form is closed, has only well-formed calls of tools that exist, and
// nothing but white space follows. A reply that quotes one quotes others too.
func (s *scanner) mayTry(f finding) bool {
	return f.verdict == isCall && s.doubtful == nil && !s.tried && s.place.isOnlyIndented() && s.isSpecial(f.forms[0])
}

// isSpecial reports whether the marks of a form are special tokens of the model's own grammar.
func (s *scanner) isSpecial(in form) bool {
	return slices.ContainsFunc(s.grammar.forms(), func(own form) bool { return own.special && own.open == in.open })
}

// try begins a trial at the start of held.
func (s *scanner) try(size int) {
	s.reset(finding{})
	s.tried = true
	t := &trial{size: size}
	t.scanner = newScanner(s.syntax, s.grammar, s.offer, s.maxCall, t.take)
	t.place = place{begun: true}
	t.tried = true
	s.trial = t
}

// take receives what the trial's scanner emits.
func (t *trial) take(p piece) {
	_, known := t.resolve(p.call.name)
	another := t.called && t.mode == inText // in a form of its own
	if p.kind != providers.PartCall || !known || !isObject(p.call.arguments) || another {
		t.failed = true
		return
	}
	t.calls = append(t.calls, p)
}

// succeeds reports whether the whole text, which ends here, is a form with calls.
func (t *trial) succeeds() bool {
	closed := t.mode == inText && !t.ended
	t.close()
	return closed && !t.ended && !t.failed && len(t.calls) > 0
}

// scanTrial emits the calls of a trial, or the first of them as text. It reports false if more text
// is needed.
func (s *scanner) scanTrial(final bool) bool {
	t, n := s.trial, min(len(s.held), s.maxCall)
	t.write(string(s.held[t.read:n]))
	t.read = n
	whole := n < s.maxCall && !t.failed
	if whole && !final {
		return false
	}
	s.trial = nil
	if whole && t.succeeds() {
		for _, p := range t.calls {
			s.out(p)
		}
		s.called = true
		s.discard(n)
		return true
	}
	s.place.skip(s.held[t.size-1])
	s.emitText(providers.PartText, t.size)
	return true
}
