package prompted

import (
	"bytes"
	"slices"
	"strings"
)

// match looks for a call at the start of a window.
func (s *scanner) match(w []byte, final bool) finding {
	if w[0] == '`' {
		return s.matchCodeBlock(w, final)
	}
	if f := s.matchMark(w, final); f.verdict != notCall {
		return f
	}
	for i := range openers {
		switch full, partly := hasPrefix(w, openers[i].text); {
		case full:
			return s.matchForm(w, final, len(openers[i].text), openers[i].form)
		case partly && !final:
			return finding{}
		}
	}
	if w[0] == '{' || w[0] == '[' && s.line == atStart && !s.fenced {
		return s.matchForm(w, final, 0, form{strict: true})
	}
	return finding{verdict: notCall}
}

// matchForm looks for calls in a form whose opener has n bytes.
func (s *scanner) matchForm(w []byte, final bool, n int, in form) finding {
	s.form = in
	f := s.matchBody(w[n:], final, in)
	f.n += n
	return f
}

// matchMark looks for the marks that count in some places only, and for <function=.
func (s *scanner) matchMark(w []byte, final bool) finding {
	marks := []struct {
		text    string
		counts  bool
		verdict verdict
	}{
		{"<tool_response", s.called, madeUp}, // a result comes from the tool, not from the model
		{thinkOpen, !s.begun, isThought},
		{functionOpen, true, isCall},
	}
	for _, m := range marks {
		switch full, partly := hasPrefix(w, m.text); {
		case !m.counts:
		case full && m.verdict == isCall:
			s.form = form{ends: []string{functionEnd}}
			return s.matchFunction(w, final)
		case full:
			return finding{verdict: m.verdict, n: len(m.text)}
		case partly && !final:
			return finding{}
		}
	}
	return finding{verdict: notCall}
}

// matchCodeBlock looks for calls in a block of code.
func (s *scanner) matchCodeBlock(w []byte, final bool) finding {
	switch full, partly := hasPrefix(w, fence); {
	case partly && !final:
		return finding{}
	case !full:
		return finding{verdict: notCall}
	case s.fenced:
		s.fenced = false
		return finding{verdict: notCall, n: len(fence)}
	}
	n := len(fence)
	n += wordLen(w[n:min(len(w), n+maxName)])
	if n == len(w) && !final {
		return finding{}
	}
	f := finding{verdict: notCall, n: n}
	if in, ok := blocks[strings.ToLower(string(w[len(fence):n]))]; ok {
		f = s.matchForm(w, final, n, in)
	}
	if f.verdict == notCall {
		s.fenced = true
	}
	return f
}

// matchBody looks for calls in the body of a form.
func (s *scanner) matchBody(w []byte, final bool, in form) finding {
	i := prefixLen(w, whiteSpace)
	if !in.strict && !slices.Contains(in.ends, fence) {
		switch full, partly := hasPrefix(w[i:], fence); {
		case partly && !final:
			return finding{}
		case full: // a block of code in another form
			i += len(fence)
			i += wordLen(w[i:min(len(w), i+maxName)])
			i += prefixLen(w[i:], whiteSpace)
		}
	}
	var f finding
	switch {
	case i == len(w):
		if final {
			f.verdict = notCall
		}
		return f
	case w[i] == '{', w[i] == '[':
		f = s.matchJSON(w[i:], final, in)
	case in.strict:
		return finding{verdict: notCall}
	case w[i] == '<':
		f = s.matchFunction(w[i:], final)
	default:
		f = s.matchNamed(w[i:], final, in)
	}
	if f.n > 0 {
		f.n += i
	}
	return f
}

// matchJSON looks for calls in JSON, or almost JSON.
func (s *scanner) matchJSON(w []byte, final bool, in form) finding {
	name, v := s.peekJSON(w, final, in)
	if v != isCall {
		return finding{verdict: v}
	}
	value, v := s.completeValue(w, final, in)
	switch v {
	case undecided:
		return finding{}
	case isCall:
		calls, readable := s.calls(value, in.strict)
		switch {
		case calls != nil:
			return finding{isCall, s.brackets.offset, calls}
		case readable:
			return finding{verdict: notCall, n: s.brackets.offset}
		}
	}
	return s.matchMalformed(w, final, name, in)
}

// completeValue returns the value at the start of w. If the form or the text ends within it,
// its open brackets are closed.
func (s *scanner) completeValue(w []byte, final bool, in form) ([]byte, verdict) {
	switch s.brackets.scan(w) {
	case complete:
		return w[:s.brackets.offset], isCall
	case incomplete:
		if !final {
			return nil, undecided
		}
		if s.brackets.quote != 0 {
			return nil, notCall
		}
	case invalid:
		n, partly := in.endLen(w[s.brackets.offset:])
		if partly && !final {
			return nil, undecided
		}
		if n == 0 {
			return nil, notCall
		}
	}
	return s.brackets.closed(w), isCall
}

// matchMalformed returns a call whose arguments cannot be parsed, up to the end of the value
// or of the form, if its tool is known. The model is told.
func (s *scanner) matchMalformed(w []byte, final bool, name string, in form) finding {
	if name == "" || in.strict || in.ends == nil {
		return finding{verdict: notCall}
	}
	n := s.brackets.offset
	if !s.brackets.done {
		n = s.search(w, final, in.ends)
	}
	if n < 0 {
		if !final {
			return finding{}
		}
		n = len(w)
	}
	return finding{isCall, n, malformed(name, w[:n])}
}

// search returns the index in w of the first of some texts; -1 if there is none, or one may
// yet begin before it. It continues where the last search of the window ended.
func (s *scanner) search(w []byte, final bool, texts []string) int {
	first, longest := -1, 0
	for _, text := range texts {
		longest = max(longest, len(text))
		if i := bytes.Index(w[s.searched:], []byte(text)); i >= 0 && (first < 0 || s.searched+i < first) {
			first = s.searched + i
		}
	}
	if first < 0 {
		s.searched = max(s.searched, len(w)-longest+1)
	} else if len(w) < first+longest && !final {
		return -1
	}
	return first
}
