package prompted

import (
	"bytes"
	"slices"
	"strings"
)

// begin looks at a text from a byte on with which a call may begin.
func (s *scanner) begin(w []byte, final bool) finding {
	if w[0] == '`' {
		return s.block(w, final)
	}
	if f := s.marked(w, final); f.verdict != no {
		return f
	}
	for i := range openers {
		switch full, partly := prefixed(w, openers[i].text); {
		case full:
			return s.open(w, final, len(openers[i].text), openers[i].form)
		case partly && !final:
			return finding{}
		}
	}
	if w[0] == '{' || w[0] == '[' && s.line == atStart && !s.fenced {
		return s.open(w, final, 0, form{strict: true})
	}
	return finding{verdict: no}
}

// open looks at what is in a form that begins with n bytes.
func (s *scanner) open(w []byte, final bool, n int, in form) finding {
	s.form = in
	f := s.body(w[n:], final, in)
	f.n += n
	return f
}

// marked looks for the marks that count in some places only, and for <function=.
func (s *scanner) marked(w []byte, final bool) finding {
	marks := []struct {
		text    string
		counts  bool
		verdict verdict
	}{
		{"<tool_response", s.called, stop}, // a result comes from the tool, not from the model
		{thinkOpen, !s.begun, thought},
		{functionOpen, true, yes},
	}
	for _, m := range marks {
		switch full, partly := prefixed(w, m.text); {
		case !m.counts:
		case full && m.verdict == yes:
			s.form = form{shut: []string{functionShut}}
			return s.function(w, final)
		case full:
			return finding{verdict: m.verdict, n: len(m.text)}
		case partly && !final:
			return finding{}
		}
	}
	return finding{verdict: no}
}

// block looks at a block of code.
func (s *scanner) block(w []byte, final bool) finding {
	switch full, partly := prefixed(w, fence); {
	case partly && !final:
		return finding{}
	case !full:
		return finding{verdict: no}
	case s.fenced:
		s.fenced = false
		return finding{verdict: no, n: len(fence)}
	}
	n := len(fence)
	n += identifier(w[n:min(len(w), n+maxName)])
	if n == len(w) && !final {
		return finding{}
	}
	f := finding{verdict: no, n: n}
	if in, ok := blocks[strings.ToLower(string(w[len(fence):n]))]; ok {
		f = s.open(w, final, n, in)
	}
	if f.verdict == no {
		s.fenced = true
	}
	return f
}

// body looks at what is inside of a form: JSON, or a call in another way of writing it.
func (s *scanner) body(w []byte, final bool, in form) finding {
	i := gap(w, whiteSpace)
	if !in.strict && !slices.Contains(in.shut, fence) {
		switch full, partly := prefixed(w[i:], fence); {
		case partly && !final:
			return finding{}
		case full: // a block of code in a form
			i += len(fence)
			i += identifier(w[i:min(len(w), i+maxName)])
			i += gap(w[i:], whiteSpace)
		}
	}
	var f finding
	switch {
	case i == len(w):
		if final {
			f.verdict = no
		}
		return f
	case w[i] == '{', w[i] == '[':
		f = s.json(w[i:], final, in)
	case in.strict:
		return finding{verdict: no}
	case w[i] == '<':
		f = s.function(w[i:], final)
	default:
		f = s.named(w[i:], final, in)
	}
	if f.n > 0 {
		f.n += i
	}
	return f
}

// json looks at JSON, or what is almost JSON, from its bracket on.
func (s *scanner) json(w []byte, final bool, in form) finding {
	name, v := s.head(w, final, in)
	if v != yes {
		return finding{verdict: v}
	}
	value, v := s.value(w, final, in)
	switch v {
	case more:
		return finding{}
	case yes:
		calls, readable := s.calls(value, in.strict)
		switch {
		case calls != nil:
			return finding{yes, s.look.at, calls}
		case readable:
			return finding{verdict: no, n: s.look.at}
		}
	}
	return s.spoiled(w, final, name, in)
}

// value looks for the end of a value. Where its form or the text ends before, the brackets
// that are open are closed.
func (s *scanner) value(w []byte, final bool, in form) ([]byte, verdict) {
	switch s.look.scan(w) {
	case ended:
		return w[:s.look.at], yes
	case unended:
		if !final {
			return nil, more
		}
		if s.look.quote != 0 {
			return nil, no
		}
	case broken:
		n, partly := in.ends(w[s.look.at:])
		if partly && !final {
			return nil, more
		}
		if n == 0 {
			return nil, no
		}
	}
	return s.look.closed(w), yes
}

// spoiled is a call whose arguments cannot be read, when it is known of which tool, up to
// its end or that of its form. The model can be told so.
func (s *scanner) spoiled(w []byte, final bool, name string, in form) finding {
	if name == "" || in.strict || in.shut == nil {
		return finding{verdict: no}
	}
	n := s.look.at
	if !s.look.done {
		n = s.find(w, final, in.shut)
	}
	if n < 0 {
		if !final {
			return finding{}
		}
		n = len(w)
	}
	return finding{yes, n, malformed(name, w[:n])}
}

// find is where the first of some texts stands in w; -1 for nowhere, or when another may
// yet begin before it. It goes on from where it was when it found nothing in less of w.
func (s *scanner) find(w []byte, final bool, texts []string) int {
	first, longest := -1, 0
	for _, text := range texts {
		longest = max(longest, len(text))
		if i := bytes.Index(w[s.seen:], []byte(text)); i >= 0 && (first < 0 || s.seen+i < first) {
			first = s.seen + i
		}
	}
	if first < 0 {
		s.seen = max(s.seen, len(w)-longest+1)
	} else if len(w) < first+longest && !final {
		return -1
	}
	return first
}
