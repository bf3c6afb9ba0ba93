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
	if f := s.matchMark(w, final); f.verdict != notCall || f.n > 0 {
		return f
	}
	var in *form
	var partly bool
	if s.place.line != inside {
		if n, begun := s.wordsLen(w); n > 0 {
			return finding{verdict: isMarkup, n: n}
		} else if begun && !final {
			return finding{}
		}
		in, partly = openerOf(w, s.own)
	}
	if in == nil && !partly {
		in, partly = openerOf(w, s.openers)
	}
	atStart := s.place.line == atStart && s.place.paragraph.nested == 0
	switch {
	case partly && !final:
		return finding{}
	case in != nil:
		return s.matchForm(w, final, len(in.open), s.only(*in))
	case atStart && (w[0] == '{' || w[0] == '['):
		return s.matchForm(w, final, 0, s.only(form{strict: true}))
	case s.isBare():
		return s.matchForm(w, final, 0, s.only(form{plain: true}))
	}
	return finding{verdict: notCall}
}

// isBare reports whether a call may begin without its opener, which the prompt ends with.
func (s *scanner) isBare() bool { return s.grammar.bare && !s.place.begun }

// wordsLen returns the length of what precedes words for the user at the start of w, or 0. partly
// reports that w may begin with it.
func (s *scanner) wordsLen(w []byte) (n int, partly bool) {
	words := s.grammar.words
	if words == "" {
		return 0, false
	}
	all := []string{s.grammar.call.open + words}
	if s.isBare() {
		all = append(all, words)
	}
	mark, partly := prefixOf(w, all)
	return len(mark), partly
}

// only returns a form that is in no other one. It is valid until the next call of only.
func (s *scanner) only(f form) []form {
	s.outermost[0] = f
	return s.outermost[:]
}

// matchForm looks for calls in a form whose opener has n bytes. The form is the last one.
func (s *scanner) matchForm(w []byte, final bool, n int, forms []form) finding {
	f := s.matchBody(w[n:], final, forms)
	f.n += n
	return f
}

// matchMark looks for the marks that count in some places only, and for calls in tags.
func (s *scanner) matchMark(w []byte, final bool) finding {
	partly := false
	if s.called { // a result comes from the tool, not from the model
		mark, begun := prefixOf(w, s.results)
		if mark != "" {
			return finding{verdict: madeUp, n: len(mark)}
		}
		partly = begun
	}
	if s.grammar.name == harmony {
		if f := s.matchHeader(w, final); f.verdict != notCall || f.n > 0 {
			return f
		}
	}
	n, begun := s.loneEnd(w)
	if n > 0 {
		return finding{verdict: isLoneEnd, n: n}
	}
	in, begunThought := openerOf(w, thoughts)
	if in != nil {
		if !s.place.begun {
			s.thought = in.ends[0]
			return finding{verdict: isThought, n: len(in.open)}
		}
		s.thinks = true // elsewhere it is text, as is its end
	}
	partly = partly || begun || begunThought
	t, begun := tagsOf(w)
	if t != nil && !t.inner {
		f := s.matchTagged(w, final, form{})
		f.forms = s.only(form{ends: slices.DeleteFunc([]string{t.end, t.outer}, func(end string) bool { return end == "" })})
		return f
	}
	return undecidedIf((partly || begun) && !final)
}

// undecidedIf returns the finding that a window is undecided, or else is not a call.
func undecidedIf(more bool) finding {
	if more {
		return finding{}
	}
	return finding{verdict: notCall}
}

// matchCodeBlock looks for calls in a block of code.
func (s *scanner) matchCodeBlock(w []byte, final bool) finding {
	if full, partly := hasPrefix(w, fenceMark); !full {
		return undecidedIf(partly && !final)
	}
	n := len(fenceMark)
	n += wordLen(w[n:min(len(w), n+maxName)])
	if n == len(w) && !final {
		return finding{}
	}
	if in, ok := blocks[strings.ToLower(string(w[len(fenceMark):n]))]; ok {
		return s.matchForm(w, final, n, s.only(in))
	}
	return finding{verdict: notCall}
}

// maxForms bounds the forms in each other.
const maxForms = 3

// matchBody looks for calls in the body of a form, the last one.
func (s *scanner) matchBody(w []byte, final bool, forms []form) finding {
	in := forms[len(forms)-1]
	i := prefixLen(w, whiteSpace)
	if !in.strict {
		if !in.isBlock() {
			n, partly := codeLen(w[i:])
			if partly && !final {
				return finding{}
			}
			i += n
		}
		switch inner, partly := openerOf(w[i:], s.openers); {
		case partly && !final:
			return finding{}
		case inner != nil && len(forms) < maxForms:
			return s.matchForm(w, final, i+len(inner.open), append(forms[:len(forms):len(forms)], *inner))
		}
	}
	var f finding
	switch {
	case i == len(w):
		return undecidedIf(!final)
	case in.plain && s.grammar.bare && !isWord(w[i]):
		return finding{verdict: notCall}
	case w[i] == '{', w[i] == '[':
		f = s.matchJSON(w[i:], final, in)
	case in.strict:
		return finding{verdict: notCall}
	case w[i] == '<':
		f = s.matchTagged(w[i:], final, in)
	default:
		f = s.matchNamed(w[i:], final, in)
	}
	if f.n > 0 {
		f.n += i
	}
	f.forms = forms
	return f
}

// codeLen returns the length of the opening line of a block of code in a form, with the white
// space behind it; 0 if there is none. partly reports that w may begin one.
func codeLen(w []byte) (n int, partly bool) {
	full, partly := hasPrefix(w, fenceMark)
	if !full {
		return 0, partly
	}
	n = len(fenceMark)
	n += wordLen(w[n:min(len(w), n+maxName)])
	return n + prefixLen(w[n:], whiteSpace), false
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
			return finding{verdict: isCall, n: s.brackets.offset, calls: calls}
		case readable:
			return finding{verdict: notCall, n: s.brackets.offset}
		}
	}
	if in.strict && s.isCut(w, final) { // what is in it is not a call of its own
		return finding{verdict: notCall, n: len(w)}
	}
	return s.matchMalformed(w, final, name, in)
}

// isCut reports whether the text ends within the value at the start of w.
func (s *scanner) isCut(w []byte, final bool) bool {
	return final && !s.brackets.done && s.brackets.offset == len(w)
}

// completeValue returns the value at the start of w. If its form ends within it, its open
// brackets are closed; if the text does, it is cut and thus not a call.
func (s *scanner) completeValue(w []byte, final bool, in form) ([]byte, verdict) {
	switch s.brackets.scan(w) {
	case complete:
		return w[:s.brackets.offset], isCall
	case incomplete:
		if !final {
			return nil, undecided
		}
		return nil, notCall
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
// of the form or, if it is cut, of the text. The model is told.
func (s *scanner) matchMalformed(w []byte, final bool, name string, in form) finding {
	cut := s.isCut(w, final)
	if name == "" || in.strict || in.ends == nil && !cut {
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
	return finding{verdict: isCall, n: n, calls: malformed(name, w[:n])}
}

// search returns the index in w of the first of some texts; -1 if there is none, or one may
// yet begin before it. It continues where the last search of the window ended.
func (s *scanner) search(w []byte, final bool, texts []string) int {
	longest := 1
	for _, text := range texts {
		longest = max(longest, len(text))
	}
	first := indexOf(w[s.searched:], texts)
	switch {
	case first < 0:
		s.searched = max(s.searched, len(w)-longest+1)
		return -1
	case len(w) < s.searched+first+longest && !final:
		return -1
	}
	return s.searched + first
}

// searchBehind is search for a text that follows another one but for white space. If the window is
// final and has none, it returns the index of the first of the texts.
func (s *scanner) searchBehind(w []byte, final bool, before string, texts []string) int {
	end := s.search(w, final, texts)
	for end >= 0 {
		body := bytes.TrimRight(w[:end], whiteSpace)
		if len(body) == 0 || bytes.HasSuffix(body, []byte(before)) {
			return end
		}
		s.searched = end + 1
		end = s.search(w, final, texts)
	}
	if !final {
		return -1
	}
	s.wasted += len(w)
	return indexOf(w, texts)
}

// indexOf returns the index in w of the first of some texts, or -1.
func indexOf(w []byte, texts []string) int {
	first := -1
	for _, text := range texts {
		if i := bytes.Index(w, []byte(text)); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}
