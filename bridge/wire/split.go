package wire

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// A span is the place of a member in an object: where its key begins, where its value begins and
// where that ends. The zero span is an absent member.
type span struct{ start, value, end int32 }

func (s span) of(b []byte) []byte {
	if s.start == 0 {
		return nil
	}
	return b[s.value:s.end:s.end]
}

// A level is an object of a message whose keys are routed on: those in [first, end).
type level struct{ first, end Key }

var (
	paramsLevel   = level{Name, MetaProgressToken}
	metaLevel     = level{MetaProgressToken, numKeys}
	envelopeLevel = level{keyVersion, keyIsError}
	resultLevel   = level{keyIsError, allKeys}
)

// A splitter is one pass over a message.
type splitter struct {
	b        []byte
	envelope [keyIsError - numKeys]span
	params   [numKeys]span // relative to base
	base     int           // where params begin
	oneID    bool          // there is one key id
	unusual  bool          // the result has a member that Message.Usual excludes
	wrong    *Error        // the first fault of the message, reported unless it is not JSON
}

// object scans the object at i, of the given level and inside depth containers, and records the
// members that routing needs.
func (s *splitter) object(i int, l level, depth int) (int, string) {
	i = skip(s.b, i+1)
	if at(s.b, i) == '}' {
		return i + 1, ""
	}
	var fault string
	for {
		if i, fault = s.member(i, l, depth+1); fault != "" {
			return i, fault
		}
		switch i = skip(s.b, i); at(s.b, i) {
		case ',':
			i = skip(s.b, i+1)
		case '}':
			return i + 1, ""
		default:
			return i, faultNext
		}
	}
}

func (s *splitter) member(start int, l level, depth int) (int, string) {
	if at(s.b, start) != '"' {
		return start, faultKey
	}
	from, fault := str(s.b, start)
	if fault != "" {
		return from, fault
	}
	k, known := s.route(start, from, l)
	if from, fault = colon(s.b, from); fault != "" {
		return from, fault
	}
	if !known {
		return value(s.b, from, depth)
	}
	to := 0
	switch object := at(s.b, from) == '{'; {
	case object && k == keyParams:
		s.base = from
		to, fault = s.object(from, paramsLevel, depth)
	case object && k == Meta:
		to, fault = s.object(from, metaLevel, depth)
	case object && k == keyResult:
		to, fault = s.object(from, resultLevel, depth)
	default:
		to, fault = value(s.b, from, depth)
	}
	if fault != "" {
		return to, fault
	}
	switch raw := s.b[from:to]; {
	case k < numKeys:
		s.params[k] = span{int32(start - s.base), int32(from - s.base), int32(to - s.base)}
	case k < keyIsError:
		s.envelope[k-numKeys] = span{int32(start), int32(from), int32(to)}
	case k == keyIsError && string(raw) == "false", k == keyResultType && string(raw) == `"complete"`:
	default:
		s.unusual = true
	}
	return to, ""
}

// route looks up the key that is the string from start to end. It records a key that occurs twice
// or in another letter case as wrong.
func (s *splitter) route(start, end int, l level) (Key, bool) {
	k, exact := match(s.b[start+1:end-1], l)
	if k == l.end || l == resultLevel { // the other keys of a result are its readers' matter
		return k, k != l.end
	}
	twice := k < numKeys && s.params[k] != span{} || k >= numKeys && s.envelope[k-numKeys] != span{}
	if k == keyID {
		s.oneID = exact && !twice
	}
	switch {
	case s.wrong != nil:
	case !exact:
		s.wrong = invalid("key %s is a variant of %q", string(s.b[start:end]), names[k])
	case twice:
		s.wrong = invalid("key %q occurs twice", names[k])
	}
	return k, true
}

// match finds the key of the level that the text between the quotes spells, exactly or in another
// letter case; it returns l.end for any other text.
func match(quoted []byte, l level) (k Key, exact bool) {
	plain := !slices.ContainsFunc(quoted, func(c byte) bool { return c == '\\' || c >= utf8.RuneSelf })
	if !plain { // the long s and the Kelvin sign fold to s and k, as in encoding/json
		quoted = []byte(unquote(quoted))
	}
	for k = l.first; k < l.end; k++ {
		name := names[k]
		if exact = string(quoted) == name; exact || (!plain || len(quoted) == len(name)) && bytes.EqualFold(quoted, []byte(name)) {
			return k, exact
		}
	}
	return l.end, false
}

// fill sets the fields of the message from the spans. The error says why they are not a message.
func (s *splitter) fill(m *Message) *Error {
	part := func(k Key) []byte { return s.envelope[k-numKeys].of(s.b) }
	id := part(keyID)
	if len(id) > 0 && (id[0] == '"' || id[0] == '-' || digit(id[0])) {
		m.ID = id
	}
	params := part(keyParams)
	m.Result = part(keyResult)
	m.Usual = m.Result != nil && !s.unusual
	m.Error = part(keyError)
	method := part(keyMethod)
	version := part(keyVersion)

	if s.wrong != nil {
		return s.wrong
	}
	if !spells(version, "2.0") {
		return invalid(`"jsonrpc" must be "2.0"`)
	}
	if m.ID == nil && id != nil && (string(id) != "null" || m.Error == nil) {
		return invalid(`"id" must be a string or a number`)
	}
	switch at(params, 0) {
	case '{':
		m.Params = Params{Raw: params, spans: s.params}
	case 0, 'n':
	default:
		return invalid(`"params" must be an object`)
	}
	switch {
	case method != nil && (m.Result != nil || m.Error != nil), m.Result != nil && m.Error != nil:
		return invalid(`more than one of "method", "result" and "error"`)
	case method != nil:
		if m.Method = methodName(method); m.Method == "" {
			return invalid(`"method" must be a string that is not empty`)
		}
	case m.Error != nil:
		if m.Error[0] != '{' {
			return invalid(`"error" must be an object`)
		}
	case m.Result == nil:
		return invalid(`none of "method", "result" and "error"`)
	case m.ID == nil:
		return invalid(`a result without "id"`)
	}
	return nil
}
