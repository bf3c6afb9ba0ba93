package prompted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// tags mark the parts of a call: open NAME> key KEY keyEnd value VALUE valueEnd … end. A name and a
// key may be in quotes, and have attributes behind it.
type tags struct {
	open, key, keyEnd, value, valueEnd, end string

	inner bool   // they mark a call in other forms only: XML has them too
	outer string // the end of the form whose beginning models forget; "" means none
}

var allTags = []tags{
	{ // Llama 3.1, Qwen3-Coder
		open: "<function=", end: "</function>",
		key: "<parameter=", keyEnd: ">", valueEnd: "</parameter>", outer: hermesCall.end,
	}, { // MiniMax
		open: "<invoke name=", end: "</invoke>", inner: true,
		key: "<parameter name=", keyEnd: ">", valueEnd: "</parameter>",
	}, { // DeepSeek V3.2 and V4
		open: "<｜DSML｜invoke name=", end: "</｜DSML｜invoke>",
		key: "<｜DSML｜parameter name=", keyEnd: ">", valueEnd: "</｜DSML｜parameter>",
	}, {
		open: "<|DSML|invoke name=", end: "</|DSML|invoke>",
		key: "<|DSML|parameter name=", keyEnd: ">", valueEnd: "</|DSML|parameter>",
	}, { // Step 3
		open: "<steptml:invoke name=", end: "</steptml:invoke>",
		key: "<steptml:parameter name=", keyEnd: ">", valueEnd: "</steptml:parameter>",
	},
}

// keyTags are those of GLM. The end of the form is that of the call.
var keyTags = tags{key: "<arg_key>", keyEnd: "</arg_key>", value: "<arg_value>", valueEnd: "</arg_value>"}

// tagsOf returns the tags that begin at the start of w, or nil. partly reports that w may begin some.
func tagsOf(w []byte) (t *tags, partly bool) {
	return firstOf(w, allTags, func(t *tags) string { return t.open })
}

// matchTagged looks for a call in tags: <function=f>{"a": 1}, or <function=f> with a <parameter=a>
// for each argument, and </function>.
func (s *scanner) matchTagged(w []byte, final bool, in form) finding {
	t, partly := tagsOf(w)
	if t == nil {
		return undecidedIf(partly && !final)
	}
	n := bytes.IndexByte(w[:min(len(w), maxName)], '>') + 1
	if n == 0 {
		return undecidedIf(len(w) < maxName && !final)
	}
	head, empty := strings.CutSuffix(string(w[len(t.open):n-1]), "/")
	word, _ := keyOf(head)
	if !s.isCallable(word) {
		return finding{verdict: notCall, n: n}
	}
	if empty {
		tool, _ := s.resolve(word)
		return finding{verdict: isCall, n: n, calls: []call{{cmp.Or(tool, word), json.RawMessage("{}")}}}
	}
	n += prefixLen(w[n:], whiteSpace)
	switch {
	case n == len(w) && !final:
		return finding{}
	case n < len(w) && w[n] == '{':
		return s.includeEnd(w, final, t.end, s.matchObject(w, final, n, word, form{ends: []string{t.end}}))
	}
	switch begin, partly := prefixOf(w[n:], []string{t.key, t.end}); {
	case begin != "":
		return s.matchParameters(w, final, n, word, t, in)
	case partly && !final:
		return finding{}
	}
	return s.matchWords(w, final, n, word, t.end)
}

// matchKeys looks for the arguments of a call of GLM, which begin at n. A call without any needs a
// tool that exists.
func (s *scanner) matchKeys(w []byte, final bool, n int, word string, in form) finding {
	full, partly := hasPrefix(w[n:], "<tool_sep>") // Hunyuan 3
	if full {
		n += len("<tool_sep>")
		n += prefixLen(w[n:], whiteSpace)
	}
	full, begun := hasPrefix(w[n:], keyTags.key)
	end, ends := in.endLen(w[n:])
	_, known := s.resolve(word)
	if full || end > 0 && known && !in.isBlock() {
		return s.matchParameters(w, final, n, word, &keyTags, in)
	}
	return undecidedIf((partly || begun || ends || n == len(w)) && !final)
}

// matchWords looks for the end of a call whose body, from n, is neither arguments nor parameters.
// Without an end near it is prose.
func (s *scanner) matchWords(w []byte, final bool, n int, word, end string) finding {
	near := w[n:min(len(w), n+maxHead)]
	tool, known := s.resolve(word)
	i := bytes.Index(near, []byte(end))
	switch {
	case known && i >= 0:
		return finding{verdict: isCall, n: n + i + len(end), calls: malformed(tool, near[:i])}
	case known && len(near) < maxHead && !final:
		return finding{}
	}
	return finding{verdict: notCall, n: n}
}

// includeEnd adds the end of a call to a finding.
func (s *scanner) includeEnd(w []byte, final bool, end string, f finding) finding {
	if f.verdict != isCall {
		return f
	}
	i := f.n + prefixLen(w[f.n:], whiteSpace)
	switch full, partly := hasPrefix(w[i:], end); {
	case partly && !final:
		return finding{}
	case full:
		f.n = i + len(end)
	}
	return f
}

// matchParameters looks for the parameters of a call, which begin at n. The end of the call is the
// first that follows the end of a parameter: a value may hold its text. Without one it is the first,
// or the end of the form in which the call is. If there is none of them, the call is cut.
func (s *scanner) matchParameters(w []byte, final bool, n int, word string, t *tags, in form) finding {
	rest, ends, endLen := w[n:], []string{t.end}, len(t.end)
	if t.end == "" {
		ends = in.ends
	}
	end := s.searchBehind(rest, final, t.valueEnd, ends)
	if end < 0 {
		if !final {
			return finding{}
		}
		end, endLen = indexOf(rest, in.ends), 0
	}
	tool, _ := s.resolve(word)
	tool = cmp.Or(tool, word)
	if end < 0 {
		return finding{verdict: isCall, n: len(w), calls: malformed(tool, rest)}
	}
	calls := malformed(tool, rest[:end])
	types := map[string][]string{} // of properties, each found once however often it is given
	isJSON := func(key string, value []byte) bool {
		kinds, found := types[key]
		if !found {
			kinds = s.types(tool, key)
			types[key] = kinds
		}
		return mayBe(kinds, value)
	}
	if args, ok := t.arguments(rest[:end], s.properties(tool), isJSON); ok {
		calls = []call{{tool, args}}
	}
	return finding{verdict: isCall, n: n + end + endLen, calls: calls}
}

// arguments returns the arguments in a call, as strings unless an attribute, or isJSON where there is none, says that
// they are JSON: they are converted to the tool's schema later.
func (t *tags) arguments(body []byte, properties []string, isJSON func(key string, value []byte) bool) (args []byte, ok bool) {
	args = []byte{'{'}
	given := map[string]bool{}
	for body = bytes.TrimSpace(body); len(body) > 0; body = bytes.TrimSpace(body) {
		rest, found := bytes.CutPrefix(body, []byte(t.key))
		head, rest, named := bytes.Cut(rest, []byte(t.keyEnd))
		if !found || !named || len(head) > maxName {
			return nil, false
		}
		key, kind := keyOf(string(head))
		given[key] = true
		if t.value != "" {
			if rest, found = bytes.CutPrefix(bytes.TrimLeft(rest, whiteSpace), []byte(t.value)); !found {
				return nil, false
			}
		}
		value, next := t.cutValue(rest, properties, given)
		if len(args) > 1 {
			args = append(args, ',')
		}
		args = append(wire.AppendString(args, key), ':')
		if line, ok := bytes.CutPrefix(value, []byte{'\n'}); ok {
			value = bytes.TrimSuffix(line, []byte{'\n'})
		}
		if raw, ok := toJSON(value); ok && (kind == aValue || kind == notSaid && slices.Contains(properties, key) && isJSON(key, value)) {
			args = append(args, raw...)
		} else {
			args = wire.AppendString(args, value)
		}
		body = next
	}
	return append(args, '}'), true
}

// A saying is what an attribute behind a key, of DeepSeek, says of the value.
type saying uint8

const (
	notSaid saying = iota
	aString        // string="true"
	aValue         // string="false"
)

// keyOf returns the key or name at the start of what is between its tags, without quotes, and what is said of its value.
func keyOf(head string) (key string, kind saying) {
	key = strings.TrimSpace(head)
	if key == "" || key[0] != '"' && key[0] != '\'' {
		return key, notSaid
	}
	text, attributes, ok := strings.Cut(key[1:], key[:1])
	switch {
	case !ok:
		return key, notSaid
	case strings.Contains(attributes, `"false"`):
		return text, aValue
	case strings.Contains(attributes, `"true"`):
		return text, aString
	}
	return text, notSaid
}

// cutValue returns the value of a parameter and what follows it. Models forget the end of a
// parameter: it ends at the latest where a parameter begins that the tool has and that was not
// given yet.
func (t *tags) cutValue(rest []byte, properties []string, given map[string]bool) (value, next []byte) {
	value, next, _ = bytes.Cut(rest, []byte(t.valueEnd))
	for _, name := range properties {
		if given[name] {
			continue
		}
		if i := bytes.Index(value, []byte(t.key+name+t.keyEnd)); i >= 0 {
			value, next = value[:i], rest[i:]
		}
	}
	return value, next
}
