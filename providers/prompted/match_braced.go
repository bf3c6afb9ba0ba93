package prompted

import "cmp"

// callWord begins a call of Gemma.
const callWord = "call"

// textMarks are the quotation marks of Gemma 4 and FunctionGemma.
var textMarks = []string{`<|"|>`, "<escape>"}

// matchBraced looks for a call of Gemma, whose name begins at n: call:f{a:1,b:<|"|>x<|"|>}. It ends
// with its form, since braces in strings are not escaped: at the first end behind a brace, or else at
// the first.
func (s *scanner) matchBraced(w []byte, final bool, n int, in form) finding {
	from := n
	n += wordLen(w[n:min(len(w), n+maxName)])
	word := string(w[from:n])
	switch {
	case n == len(w) && !final && in.ends != nil:
		return finding{}
	case in.ends == nil, n == len(w), w[n] != '{', !s.isCallable(word):
		return finding{verdict: notCall}
	}
	end := s.searchBehind(w[n:], final, "}", in.ends)
	if end < 0 && !final {
		return finding{}
	}
	tool, known := s.resolve(word)
	if end >= 0 {
		l := lenientParser{in: w[n : n+end], marked: true}
		if l.value() && l.peek() == 0 {
			return finding{verdict: isCall, n: n + end, calls: []call{{cmp.Or(tool, word), l.out}}}
		}
	} else {
		end = len(w) - n
	}
	if !known {
		return finding{verdict: notCall, n: n + end}
	}
	return finding{verdict: isCall, n: n + end, calls: malformed(tool, w[n:n+end])}
}
