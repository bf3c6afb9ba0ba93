package tree

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

// A Node is one JSON value that keeps what a Go map would lose: the order of keys, and
// each string and number as it was written.
type Node struct {
	Kind       Kind
	Raw        string   // of a scalar: the JSON, as written
	Members    []Member // of an object, in order; no key stands twice
	Items      []*Node  // of an array
	Start, End int      // where it stood in the input: offsets in bytes
}

type Member struct {
	Key   string // decoded
	Value *Node
}

// A Kind is the type of a JSON value.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Number
	Text
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// maxDepth bounds the nesting of what is read: no tool comes near it, and deeper input
// only serves to exhaust a reader.
const maxDepth = 500

// A SyntaxError is input that is not JSON, or not JSON that can be trusted to mean one
// thing.
type SyntaxError struct {
	Offset  int // offset in bytes
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

// Parse reads one JSON value that is all of data.
func Parse(data []byte) (*Node, error) {
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

// ParseAll reads the JSON values of data, one after another, up to the first error.
func ParseAll(data []byte) iter.Seq2[*Node, *SyntaxError] {
	return func(yield func(*Node, *SyntaxError) bool) {
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

func (p *parser) fail(format string, args ...any) *SyntaxError {
	return &SyntaxError{Offset: p.pos, Message: fmt.Sprintf(format, args...)}
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

func (p *parser) value(depth int) (*Node, *SyntaxError) {
	if depth > maxDepth {
		return nil, p.fail("nested deeper than %d levels", maxDepth)
	}
	start := p.space()
	if start == len(p.data) {
		return nil, p.fail("unexpected end of input, expected a JSON value")
	}
	n := &Node{Start: start}
	var err *SyntaxError
	switch c := p.data[start]; {
	case c == '{':
		n.Kind = Object
		err = p.object(n, depth)
	case c == '[':
		n.Kind = Array
		err = p.array(n, depth)
	case c == '"':
		n.Kind = Text
		err = p.string()
	case c == '-', c >= '0' && c <= '9':
		n.Kind = Number
		err = p.scalar()
	case c == 't', c == 'f':
		n.Kind = Bool
		err = p.scalar()
	case c == 'n':
		err = p.scalar()
	default:
		err = p.fail("unexpected %s, expected a JSON value", p.here())
	}
	if n.Kind != Object && n.Kind != Array {
		n.Raw = string(p.data[start:p.pos])
	}
	n.End = p.pos
	return n, err
}

func (p *parser) object(n *Node, depth int) *SyntaxError {
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
		if len(n.Members) == fewMembers {
			seen = make(map[string]bool, 2*fewMembers)
			for _, m := range n.Members {
				seen[m.Key] = true
			}
		}
		if seen[key] || seen == nil && n.Get(key) != nil {
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
		n.Members = append(n.Members, Member{key, val})
	}
}

// fewMembers are so few that a key is found sooner by looking at each.
const fewMembers = 16

func (p *parser) array(n *Node, depth int) *SyntaxError {
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
		n.Items = append(n.Items, val)
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
func (p *parser) string() *SyntaxError {
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
func (p *parser) scalar() *SyntaxError {
	start := p.pos
	for p.pos < len(p.data) && !bytes.ContainsRune([]byte(" \t\r\n,]}:[{\""), rune(p.data[p.pos])) {
		p.pos++
	}
	return p.judge(start, "a JSON value")
}

func (p *parser) judge(start int, what string) *SyntaxError {
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

// Quote is the JSON of a string, without the escapes that only HTML needs.
func Quote(s string) string {
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

func NewObject(members ...Member) *Node { return &Node{Kind: Object, Members: members} }
func NewArray(items ...*Node) *Node     { return &Node{Kind: Array, Items: items} }
func NewText(s string) *Node            { return &Node{Kind: Text, Raw: Quote(s)} }

func NewBool(b bool) *Node { return &Node{Kind: Bool, Raw: strconv.FormatBool(b)} }

// Reading nodes. All may be called on nil, which is no value at all.

// Is reports whether a node is there and of a kind.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// Get is a member of an object; nil when there is none.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Has reports whether an object has a member that is not null.
func (n *Node) Has(key string) bool {
	m := n.Get(key)
	return m != nil && m.Kind != Null
}

// Text is the string that a node is; "" for another one.
func (n *Node) Text() string {
	if !n.Is(Text) {
		return ""
	}
	return unquote(n.Raw)
}

// IsTrue reports whether a node is true.
func (n *Node) IsTrue() bool { return n.Is(Bool) && n.Raw == "true" }

// Changing objects.

// Set replaces a member where it stands, or appends it.
func (n *Node) Set(key string, val *Node) {
	for i := range n.Members {
		if n.Members[i].Key == key {
			n.Members[i].Value = val
			return
		}
	}
	n.Members = append(n.Members, Member{key, val})
}

// Remove removes a member and returns it; nil when there is none.
func (n *Node) Remove(key string) *Node {
	for i, m := range n.Members {
		if m.Key == key {
			n.Members = slices.Delete(n.Members, i, i+1)
			return m.Value
		}
	}
	return nil
}

// Clone is a deep copy.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := &Node{Kind: n.Kind, Raw: n.Raw, Start: n.Start}
	for _, m := range n.Members {
		c.Members = append(c.Members, Member{m.Key, m.Value.Clone()})
	}
	for _, it := range n.Items {
		c.Items = append(c.Items, it.Clone())
	}
	return c
}

// Equal reports whether two nodes mean the same JSON, however it is written: the order
// of keys does not count, numbers and strings count by their value.
func (n *Node) Equal(o *Node) bool {
	if n == nil || o == nil || n.Kind != o.Kind || len(n.Members) != len(o.Members) || len(n.Items) != len(o.Items) {
		return n == o
	}
	for _, m := range n.Members {
		if other := o.Get(m.Key); other == nil || !m.Value.Equal(other) {
			return false
		}
	}
	for i := range n.Items {
		if !n.Items[i].Equal(o.Items[i]) {
			return false
		}
	}
	switch {
	case n.Raw == o.Raw:
		return true
	case n.Kind == Text:
		return n.Text() == o.Text()
	case n.Kind == Number:
		return sameNumber(n.Raw, o.Raw)
	}
	return false
}

// append writes the node as compact JSON.
func (n *Node) append(b []byte) []byte {
	switch n.Kind {
	case Object:
		b = append(b, '{')
		for i, m := range n.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, Quote(m.Key)...), ':')
			b = m.Value.append(b)
		}
		return append(b, '}')
	case Array:
		b = append(b, '[')
		for i, it := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = it.append(b)
		}
		return append(b, ']')
	}
	return append(b, n.Raw...)
}

// Json is the node as compact JSON.
func (n *Node) JSON() json.RawMessage { return n.append(nil) }

// Short is the node as JSON for an error or a note, cut after some 60 bytes.
func (n *Node) Short() string {
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

// Size counts the values of a document and its levels.
func (n *Node) Size() (values, levels int) {
	values = 1
	for _, m := range n.Members {
		v, l := m.Value.Size()
		values, levels = values+v, max(levels, l)
	}
	for _, it := range n.Items {
		v, l := it.Size()
		values, levels = values+v, max(levels, l)
	}
	return values, levels + 1
}

func (n *Node) HasAny(keywords ...string) bool {
	for _, keyword := range keywords {
		if n.Get(keyword) != nil {
			return true
		}
	}
	return false
}

// NewMember is a member of an object.
func NewMember(key string, val *Node) Member { return Member{key, val} }
