package bridge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Secrets are texts that errors and logs must not show: credentials of a config, which a server may
// repeat, and the hidden values of a call. The zero value and nil are empty. Add must not be called
// once it is shared.
type Secrets struct {
	all     []secretForms
	encoded []secretForms // those in base64, sought after the others, such as a whole header with one in it
}

// mask stands for a secret.
const mask = "xxxxx"

// Add adds a secret, as it is and as it is written in a URL, in JSON and in base64, unless it is "".
func (s *Secrets) Add(secret string) { s.add(secret, true) }

// with returns a copy of s, which may be nil, with a hidden value.
func (s *Secrets) with(value json.RawMessage) *Secrets {
	own := &Secrets{}
	if s != nil {
		own.all, own.encoded = slices.Clone(s.all), s.encoded
	}
	own.addValue(value)
	return own
}

// addValue adds the strings and numbers of a hidden value, raw JSON.
func (s *Secrets) addValue(raw []byte) {
	if len(raw) == 0 {
		return
	}
	text := string(raw)
	switch raw[0] {
	case 't', 'f', 'n': // true, false and null say too little
		return
	case '{':
		for _, value := range wire.Members(raw) {
			s.addValue(value)
		}
		return
	case '[':
		for value := range wire.Elements(raw) {
			s.addValue(value)
		}
		return
	case '"':
		text, _ = wire.Text(raw)
	}
	s.add(text, false)
}

// Hide returns a text with xxxxx in place of each secret.
func (s *Secrets) Hide(text string) string {
	if s == nil {
		return text
	}
	for i := range s.all {
		text = s.all[i].hide(text)
	}
	for i := range s.encoded {
		text = s.encoded[i].hide(text)
	}
	return text
}

// The lengths in bytes from which a hidden value is hidden inside of a word too, and from which so is
// the beginning of it: a database cuts a long value.
const (
	longValue = 8
	cutValue  = 16
)

// hide hides a secret in a text.
func (f *secretForms) hide(text string) string {
	text = f.hideWhole(text)
	if strings.Contains(text, "…") {
		for _, form := range f.all {
			text = hideCut(text, form)
		}
	}
	return text
}

// hideWhole hides a secret where at least the beginning of a form stands in a text.
func (f *secretForms) hideWhole(text string) string {
	var b strings.Builder
	done, from := 0, 0
	for {
		at := strings.Index(text[from:], f.start)
		if at < 0 {
			return b.String() + text[done:]
		}
		at += from
		if n := f.lengthIn(text[at:]); n > 0 && (f.anywhere || n >= longValue || isWord(text, at, at+n) && !isProse(text, at, at+n)) {
			b.WriteString(text[done:at] + mask)
			done, from = at+n, at+n
		} else {
			from = at + 1
		}
	}
}

// lengthIn returns how many bytes a text has of the form that it has the most of. Of a short form it has
// all or none.
func (f *secretForms) lengthIn(text string) (longest int) {
	for _, form := range f.all {
		n := len(f.start)
		for n < min(len(form), len(text)) && form[n] == text[n] {
			n++
		}
		if n == len(form) || len(form) >= cutValue {
			longest = max(longest, n)
		}
	}
	return longest
}

// shortestPart is the length in bytes from which the part of a value beside an ellipsis is hidden.
const shortestPart = 4

// hideCut hides the parts of a value where a text was cut: its beginning before an ellipsis, unless
// hideWhole has hidden that, and its end between two ellipses. It takes a time linear in the text.
func hideCut(text, value string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "…")
		if !found {
			return b.String() + text
		}
		body := strings.TrimRight(before, "\n")
		gap := before[len(body):]
		for n := min(len(value), cutValue) - 1; n >= shortestPart; n-- {
			if head, ok := strings.CutSuffix(body, value[:n]); ok {
				body = head + mask
				break
			}
		}
		b.WriteString(body + gap + "…")
		rest := strings.TrimLeft(after, "\n")
		b.WriteString(after[:len(after)-len(rest)])
		part, _, _ := strings.Cut(rest, "…")
		if n := overlap(value[1:], part); n >= shortestPart {
			b.WriteString(mask)
			rest = rest[n:]
		}
		text = rest
	}
}

// overlap returns the length of the longest end of value with which text begins: the state in which
// the Knuth-Morris-Pratt automaton of text ends.
func overlap(value, text string) int {
	text = text[:min(len(text), len(value))]
	value = value[len(value)-len(text):]
	longest := make([]int, len(text)+1) // at i: of the proper ends of text[:i] with which text begins
	next := func(n int, c byte) int {
		for n > 0 && (n == len(text) || text[n] != c) {
			n = longest[n]
		}
		if text[n] == c {
			n++
		}
		return n
	}
	for i := 1; i < len(text); i++ {
		longest[i+1] = next(longest[i], text[i])
	}
	n := 0
	for i := range len(value) {
		n = next(n, value[i])
	}
	return n
}

// isWord reports whether a part of a text does not continue a word or a number, and none continues it.
func isWord(text string, at, end int) bool {
	continues := func(a, b rune) bool {
		return unicode.IsLetter(a) && unicode.IsLetter(b) || unicode.IsDigit(a) && unicode.IsDigit(b)
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	first, _ := utf8.DecodeRuneInString(text[at:])
	last, _ := utf8.DecodeLastRuneInString(text[:end])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return !continues(before, first) && !continues(last, after)
}

// isProse reports whether a part of a text is a single letter between blanks, such as the a of a
// sentence: to hide each of those would hide no value but show that it is this letter.
func isProse(text string, at, end int) bool {
	letter, size := utf8.DecodeRuneInString(text[at:end])
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return size == end-at && unicode.IsLetter(letter) && (at == 0 || unicode.IsSpace(before)) && unicode.IsSpace(after)
}

// hideReply hides the secrets in a reply that is an error or a failed result.
func (s *Secrets) hideReply(r Reply) Reply {
	switch {
	case s == nil:
	case r.Err != nil:
		e := *r.Err
		if e.Message, e.Raw = s.Hide(e.Message), s.HideJSON(e.Raw); e.Cause != nil {
			e.Cause = &hiddenError{s.Hide(e.Cause.Error()), e.Cause}
		}
		r.Err = &e
	case isFailed(r.Result):
		hidden := s.HideJSON(r.Result)
		r.Free()
		r.Result = hidden
	}
	return r
}

// A hiddenError is an error without the secrets of its text.
type hiddenError struct {
	text  string
	cause error
}

func (e *hiddenError) Error() string { return e.text }

func (e *hiddenError) Unwrap() error { return e.cause }

// isFailed reports whether a result of a tool says that it failed.
func isFailed(result []byte) bool { return string(wire.Lookup(result, "isError")) == "true" }

// hideError is hideReply for replies of which only the errors are not the source's own.
func (s *Secrets) hideError(r Reply) Reply {
	if r.Err == nil {
		return r
	}
	return s.hideReply(r)
}

// hideCall is hideReply for a call, which may create a task.
func (s *Secrets) hideCall(r Reply) Reply {
	if s != nil && r.Err == nil {
		if r.Usual {
			return r
		}
		if _, isTask := wire.CreatedTask(r.Result); isTask {
			return s.hideTask(r)
		}
	}
	return s.hideReply(r)
}

// hideTask is hideReply for the result of a task, its state, a reply that has its state as a member, and
// a list of tasks: in a state it hides the secrets of the messages and of a failed result.
func (s *Secrets) hideTask(r Reply) Reply {
	if r = s.hideReply(r); s == nil || r.Err != nil {
		return r
	}
	shown := s.hideState(r.Result)
	if task := wire.Lookup(shown, "task"); task != nil {
		shown = wire.SetMember(shown, "task", s.hideState(task))
	}
	if tasks := wire.Lookup(shown, "tasks"); tasks != nil {
		var each [][]byte
		for task := range wire.Elements(tasks) {
			each = append(each, s.hideState(task))
		}
		shown = wire.SetMember(shown, "tasks", slices.Concat([]byte("["), bytes.Join(each, []byte(",")), []byte("]")))
	}
	if !bytes.Equal(shown, r.Result) {
		r.Free()
		r.Result = shown
	}
	return r
}

// hideState hides the secrets in the state of a task.
func (s *Secrets) hideState(task []byte) []byte {
	task = s.hideMember(s.hideMember(task, "statusMessage"), "error")
	if isFailed(wire.Lookup(task, "result")) {
		task = s.hideMember(task, "result")
	}
	return task
}

// hideNotification hides the secrets in a notification: in the message of progress, in the data of a
// log message, in the state of a task.
func (s *Secrets) hideNotification(params []byte) []byte {
	if s == nil || params == nil {
		return params
	}
	return s.hideState(s.hideMember(s.hideMember(params, "message"), "data"))
}

// hideMember hides the secrets in a member of an object, if it has that.
func (s *Secrets) hideMember(object []byte, key string) []byte {
	value := wire.Lookup(object, key)
	if hidden := s.HideJSON(value); !bytes.Equal(hidden, value) {
		return wire.SetMember(object, key, hidden)
	}
	return object
}

// A secretBack hides secrets in the log messages and the progress of a call.
type secretBack struct {
	Back
	secrets *Secrets
}

func (b *secretBack) Notify(method string, params []byte) {
	b.Back.Notify(method, b.secrets.hideNotification(params))
}

// HideJSON returns a copy of raw JSON with xxxxx in place of secrets in its strings, numbers and keys.
func (s *Secrets) HideJSON(raw json.RawMessage) json.RawMessage {
	if raw == nil || s == nil || len(s.all) == 0 {
		return bytes.Clone(raw)
	}
	shown, last := make([]byte, 0, len(raw)), 0
	for start, end := range scalars(raw) {
		text, isText := wire.Text(raw[start:end])
		if !isText {
			text = string(raw[start:end])
		}
		if hidden := s.Hide(text); hidden != text {
			shown = wire.AppendString(append(shown, raw[last:start]...), hidden)
			last = end
		}
	}
	return append(shown, raw[last:]...)
}
