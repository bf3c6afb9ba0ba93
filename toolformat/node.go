package toolformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A node is one JSON value that keeps what a Go map would lose: the order of keys, and
// each string and number as it was written.
type node struct {
	kind    nodeKind
	raw     string   // of a scalar: the JSON, as written
	members []member // of an object, in order; no key stands twice
	items   []*node  // of an array
	at, end int      // where it stood in the input: offsets in bytes
}

type member struct {
	key string // decoded
	val *node
}

// A nodeKind is the type of a JSON value.
type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	textNode
	arrayNode
	objectNode
)

func (k nodeKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// maxDepth bounds the nesting of what is read: no tool comes near it, and deeper input
// only serves to exhaust a reader.
const maxDepth = 500

// A syntaxError is input that is not JSON, or not JSON that can be trusted to mean one
// thing.
type syntaxError struct {
	at  int // offset in bytes
	msg string
}

func (e *syntaxError) Error() string { return e.msg }

// parseNode reads one JSON value that is all of data.
func parseNode(data []byte) (*node, error) {
	p := parser{data: data}
	n, err := p.value(0)
	if err == nil && p.space() < len(data) {
		err = p.fail("unexpected %s after the value", p.here())
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// parseValues reads the JSON values of data, one after another, up to the first error.
func parseValues(data []byte) iter.Seq2[*node, *syntaxError] {
	return func(yield func(*node, *syntaxError) bool) {
		p := parser{data: data}
		for p.space() < len(data) {
			v, err := p.value(0)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// parser reads JSON (RFC 8259) without decoding its scalars.
type parser struct {
	data []byte
	pos  int
}

func (p *parser) fail(format string, args ...any) *syntaxError {
	return &syntaxError{at: p.pos, msg: fmt.Sprintf(format, args...)}
}

// here names what stands at the parser's position, for errors.
func (p *parser) here() string {
	if p.pos >= len(p.data) {
		return "end of input"
	}
	r, _ := utf8.DecodeRune(p.data[p.pos:])
	return strconv.QuoteRune(r)
}

// space skips white space and returns the new position.
func (p *parser) space() int {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return p.pos
		}
	}
	return p.pos
}

func (p *parser) value(depth int) (*node, *syntaxError) {
	if depth > maxDepth {
		return nil, p.fail("nested deeper than %d levels", maxDepth)
	}
	start := p.space()
	if start == len(p.data) {
		return nil, p.fail("unexpected end of input, expected a JSON value")
	}
	n := &node{at: start}
	var err *syntaxError
	switch c := p.data[start]; {
	case c == '{':
		n.kind = objectNode
		err = p.object(n, depth)
	case c == '[':
		n.kind = arrayNode
		err = p.array(n, depth)
	case c == '"':
		n.kind = textNode
		err = p.string()
	case c == '-', c >= '0' && c <= '9':
		n.kind = numberNode
		err = p.scalar()
	case c == 't', c == 'f':
		n.kind = boolNode
		err = p.scalar()
	case c == 'n':
		err = p.scalar()
	default:
		err = p.fail("unexpected %s, expected a JSON value", p.here())
	}
	if n.kind != objectNode && n.kind != arrayNode {
		n.raw = string(p.data[start:p.pos])
	}
	n.end = p.pos
	return n, err
}

func (p *parser) object(n *node, depth int) *syntaxError {
	p.pos++
	var seen map[string]bool // of an object with many members
	for first := true; ; first = false {
		p.space()
		if p.skip('}') {
			return nil
		}
		if !first {
			if !p.skip(',') {
				return p.fail("unexpected %s in an object, expected ',' or '}'", p.here())
			}
			p.space()
		}
		start := p.pos
		if p.pos >= len(p.data) || p.data[p.pos] != '"' {
			return p.fail("unexpected %s in an object, expected a key in quotes", p.here())
		}
		if err := p.string(); err != nil {
			return err
		}
		key := unquote(string(p.data[start:p.pos]))
		if len(n.members) == fewMembers {
			seen = make(map[string]bool, 2*fewMembers)
			for _, m := range n.members {
				seen[m.key] = true
			}
		}
		if seen[key] || seen == nil && n.get(key) != nil {
			p.pos = start
			return p.fail("the key %q stands twice in one object", key)
		}
		if seen != nil {
			seen[key] = true
		}
		p.space()
		if !p.skip(':') {
			return p.fail("unexpected %s after a key, expected ':'", p.here())
		}
		val, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key, val})
	}
}

// fewMembers are so few that a key is found sooner by looking at each.
const fewMembers = 16

func (p *parser) array(n *node, depth int) *syntaxError {
	p.pos++
	for first := true; ; first = false {
		p.space()
		if p.skip(']') {
			return nil
		}
		if !first && !p.skip(',') {
			return p.fail("unexpected %s in an array, expected ',' or ']'", p.here())
		}
		val, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, val)
	}
}

func (p *parser) skip(c byte) bool {
	if p.pos < len(p.data) && p.data[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// string skips a string; encoding/json judges its escapes.
func (p *parser) string() *syntaxError {
	start := p.pos
	for p.pos++; p.pos < len(p.data); p.pos++ {
		switch p.data[p.pos] {
		case '\\':
			p.pos++
		case '"':
			p.pos++
			return p.judge(start, "a string")
		}
	}
	p.pos = len(p.data)
	return p.fail("unexpected end of input in a string")
}

// scalar skips a number, true, false or null.
func (p *parser) scalar() *syntaxError {
	start := p.pos
	for p.pos < len(p.data) && !bytes.ContainsRune([]byte(" \t\r\n,]}:[{\""), rune(p.data[p.pos])) {
		p.pos++
	}
	return p.judge(start, "a JSON value")
}

func (p *parser) judge(start int, what string) *syntaxError {
	word := p.data[start:p.pos]
	if isPlain(word) || json.Valid(word) && utf8.Valid(word) {
		return nil
	}
	p.pos = start
	return p.fail("%.40q is not %s", word, what)
}

// isPlain reports whether a string has nothing in it that asks for a closer look.
func isPlain(word []byte) bool {
	if len(word) < 2 || word[0] != '"' || word[len(word)-1] != '"' {
		return false
	}
	for _, c := range word[1 : len(word)-1] {
		if c < ' ' || c == '\\' || c == '"' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unquote decodes a JSON string.
func unquote(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // valid: it was judged when it was read, or written by quote
	return s
}

// quote is the JSON of a string, without the escapes that only HTML needs.
func quote(s string) string {
	if word := `"` + s + `"`; isPlain([]byte(word)) {
		return word
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// Making nodes.

func newObject(members ...member) *node { return &node{kind: objectNode, members: members} }
func newArray(items ...*node) *node     { return &node{kind: arrayNode, items: items} }
func newText(s string) *node            { return &node{kind: textNode, raw: quote(s)} }

func newBool(b bool) *node { return &node{kind: boolNode, raw: strconv.FormatBool(b)} }

// Reading nodes. All may be called on nil, which is no value at all.

// is reports whether a node is there and of a kind.
func (n *node) is(k nodeKind) bool { return n != nil && n.kind == k }

// get is a member of an object; nil when there is none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].val
		}
	}
	return nil
}

// has reports whether an object has a member that is not null.
func (n *node) has(key string) bool {
	m := n.get(key)
	return m != nil && m.kind != nullNode
}

// text is the string that a node is; "" for another one.
func (n *node) text() string {
	if !n.is(textNode) {
		return ""
	}
	return unquote(n.raw)
}

// truth reports whether a node is true.
func (n *node) truth() bool { return n.is(boolNode) && n.raw == "true" }

// hasText reports whether an array holds a string.
func (n *node) hasText(s string) bool {
	return n.is(arrayNode) && slices.ContainsFunc(n.items, func(it *node) bool { return it.is(textNode) && it.text() == s })
}

// Changing objects.

// set replaces a member where it stands, or appends it.
func (n *node) set(key string, val *node) {
	for i := range n.members {
		if n.members[i].key == key {
			n.members[i].val = val
			return
		}
	}
	n.members = append(n.members, member{key, val})
}

// cut removes a member and returns it; nil when there is none.
func (n *node) cut(key string) *node {
	for i, m := range n.members {
		if m.key == key {
			n.members = slices.Delete(n.members, i, i+1)
			return m.val
		}
	}
	return nil
}

// clone is a deep copy.
func (n *node) clone() *node {
	if n == nil {
		return nil
	}
	c := &node{kind: n.kind, raw: n.raw, at: n.at}
	for _, m := range n.members {
		c.members = append(c.members, member{m.key, m.val.clone()})
	}
	for _, it := range n.items {
		c.items = append(c.items, it.clone())
	}
	return c
}

// equal reports whether two nodes mean the same JSON, however it is written: the order
// of keys does not count, numbers and strings count by their value.
func (n *node) equal(o *node) bool {
	if n == nil || o == nil || n.kind != o.kind || len(n.members) != len(o.members) || len(n.items) != len(o.items) {
		return n == o
	}
	for _, m := range n.members {
		if other := o.get(m.key); other == nil || !m.val.equal(other) {
			return false
		}
	}
	for i := range n.items {
		if !n.items[i].equal(o.items[i]) {
			return false
		}
	}
	switch {
	case n.raw == o.raw:
		return true
	case n.kind == textNode:
		return n.text() == o.text()
	case n.kind == numberNode:
		return sameNumber(n.raw, o.raw)
	}
	return false
}

// append writes the node as compact JSON.
func (n *node) append(b []byte) []byte {
	switch n.kind {
	case objectNode:
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quote(m.key)...), ':')
			b = m.val.append(b)
		}
		return append(b, '}')
	case arrayNode:
		b = append(b, '[')
		for i, it := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = it.append(b)
		}
		return append(b, ']')
	}
	return append(b, n.raw...)
}

// json is the node as compact JSON.
func (n *node) json() json.RawMessage { return n.append(nil) }

// short is the node as JSON for an error or a note, cut after some 60 bytes.
func (n *node) short() string {
	const most = 60
	s := string(n.append(nil))
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// measure counts the values of a document and its levels.
func measure(n *node) (count, depth int) {
	count = 1
	for _, m := range n.members {
		c, d := measure(m.val)
		count, depth = count+c, max(depth, d)
	}
	for _, it := range n.items {
		c, d := measure(it)
		count, depth = count+c, max(depth, d)
	}
	return count, depth + 1
}

// typeNames are the names that JSON Schema has for the types.
var typeNames = [...]string{nullNode: "null", boolNode: "boolean", numberNode: "number", textNode: "string", arrayNode: "array", objectNode: "object"}

func (n *node) hasAny(keywords ...string) bool {
	for _, keyword := range keywords {
		if n.get(keyword) != nil {
			return true
		}
	}
	return false
}
