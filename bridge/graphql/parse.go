package graphql

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// The bounds of a document.
const (
	maxDocument = 1 << 20 // bytes
	maxNesting  = 200     // levels of selections, values and types
)

// A document holds operations and the fragments that they use.
type document struct {
	src        string
	operations []*definition
	fragments  map[string]*definition
}

// A definition is an operation or a fragment.
type definition struct {
	kind      string // query, mutation, subscription, fragment
	name      string // "" for an anonymous operation
	at        int    // byte offset in the document
	variables []variable
	uses      []token // names of variables, without the $
	spreads   []token // names of fragments
}

// declared returns the names of the variables.
func (d *definition) declared() map[string]bool {
	names := map[string]bool{}
	for _, v := range d.variables {
		names[v.name] = true
	}
	return names
}

// A variable is declared by an operation.
type variable struct {
	name       string
	typ        typeRef
	hasDefault bool
}

// required reports whether a request must have the variable.
func (v *variable) required() bool { return v.typ.nonNull && !v.hasDefault }

// A typeRef is the type of a variable: a named type or a list.
type typeRef struct {
	name    string
	item    *typeRef // the items of a list; nil for a named type
	nonNull bool
}

// String returns the type in GraphQL's notation.
func (t *typeRef) String() string {
	s := t.name
	if t.item != nil {
		s = "[" + t.item.String() + "]"
	}
	if t.nonNull {
		s += "!"
	}
	return s
}

// parse parses an executable document (GraphQL, September 2025, section 2.2). The error names the
// line and column of a fault.
func parse(src string) (*document, error) {
	switch {
	case strings.TrimSpace(src) == "":
		return nil, errors.New("query is empty: expected a GraphQL document, such as query ($id: ID!) { user(id: $id) { name } }")
	case len(src) > maxDocument:
		return nil, fmt.Errorf("query has %d bytes; at most %d are read", len(src), maxDocument)
	case !utf8.ValidString(src):
		return nil, errors.New("query is not UTF-8")
	}
	p := parser{scanner: scanner{src: src}, doc: &document{src: src, fragments: map[string]*definition{}}, operations: map[string]bool{}}
	for p.advance(); p.fault == nil && p.tok.kind != tokenEnd; {
		p.definition()
	}
	return p.doc, p.fault
}

// place returns the line and column of a byte offset.
func place(src string, at int) string {
	before := strings.ReplaceAll(strings.ReplaceAll(src[:at], "\r\n", "\n"), "\r", "\n")
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(line)+1)
}

// A parser parses a document by recursive descent. After the first fault it accepts no more tokens.
type parser struct {
	scanner
	doc   *document
	def   *definition // being parsed
	tok   token       // the next one
	depth int

	operations map[string]bool // names so far
	variables  map[string]bool // names of the operation's, so far
}

func (p *parser) advance() { p.tok = p.next() }

func (p *parser) unexpected(wanted string) {
	p.fail(p.tok.at, "expected %s, got %s", wanted, p.tok)
}

// accept consumes the next token if it has that kind, and reports whether it did.
func (p *parser) accept(kind byte) bool {
	if p.tok.kind != kind || p.fault != nil {
		return false
	}
	p.advance()
	return true
}

// expect consumes a token of that kind; any other one is a fault.
func (p *parser) expect(kind byte) token {
	tok := p.tok
	if !p.accept(kind) {
		wanted := string(rune(kind))
		if kind == tokenName {
			wanted = "a name"
		}
		p.unexpected(wanted)
	}
	return tok
}

// group parses the items between two brackets with read, at least as many as least.
func (p *parser) group(open, end byte, least int, read func()) {
	p.expect(open)
	if p.depth++; p.depth > maxNesting {
		p.fail(p.tok.at, "nested more than %d deep", maxNesting)
	}
	for n := 0; p.fault == nil && (n < least || !p.accept(end)); n++ {
		read()
	}
	p.depth--
}

func (p *parser) definition() {
	p.def = &definition{kind: "query", at: p.tok.at}
	described := p.accept(tokenString)
	if p.tok.kind == '{' && !described {
		p.selections()
		p.doc.operations = append(p.doc.operations, p.def)
		return
	}
	switch p.def.kind = p.tok.text; p.def.kind {
	case "query", "mutation", "subscription":
		p.advance()
		p.operation()
	case "fragment":
		p.advance()
		p.fragment()
	default:
		p.unexpected("query, mutation, fragment or {")
	}
}

func (p *parser) operation() {
	if p.tok.kind == tokenName {
		p.def.name = p.expect(tokenName).text
	}
	if p.tok.kind == '(' {
		p.variables = map[string]bool{}
		p.group('(', ')', 1, p.variable)
	}
	p.directives(false)
	p.selections()
	if p.def.name != "" && p.operations[p.def.name] {
		p.fail(p.def.at, "duplicate operation %s", native.Shorten(p.def.name))
	}
	p.operations[p.def.name] = true
	p.doc.operations = append(p.doc.operations, p.def)
}

func (p *parser) variable() {
	p.accept(tokenString) // a description
	p.expect('$')
	tok := p.expect(tokenName)
	p.expect(':')
	v := variable{name: tok.text, typ: p.typeRef()}
	if v.hasDefault = p.accept('='); v.hasDefault {
		p.value(true)
	}
	p.directives(true)
	if p.variables[v.name] {
		p.fail(tok.at, "the variable $%s is declared twice", native.Shorten(v.name))
	}
	p.variables[v.name] = true
	p.def.variables = append(p.def.variables, v)
}

func (p *parser) typeRef() (t typeRef) {
	if p.tok.kind == '[' {
		n := 0
		t.item = new(typeRef)
		p.group('[', ']', 1, func() {
			if n++; n > 1 {
				p.unexpected("]")
			}
			*t.item = p.typeRef()
		})
	} else {
		t.name = p.expect(tokenName).text
	}
	t.nonNull = p.accept('!')
	return t
}

func (p *parser) fragment() {
	tok := p.expect(tokenName)
	if p.def.name = tok.text; tok.text == "on" {
		p.fail(tok.at, "a fragment must not be named on")
	}
	p.typeCondition()
	p.directives(false)
	p.selections()
	if p.doc.fragments[p.def.name] != nil {
		p.fail(p.def.at, "duplicate fragment %s", native.Shorten(p.def.name))
	}
	p.doc.fragments[p.def.name] = p.def
}

func (p *parser) typeCondition() {
	if p.tok.text != "on" {
		p.unexpected("on")
	}
	p.advance()
	p.expect(tokenName)
}

func (p *parser) selections() { p.group('{', '}', 1, p.selection) }

// selection parses a field, a fragment spread or an inline fragment.
func (p *parser) selection() {
	if p.accept('.') {
		if p.tok.kind == tokenName && p.tok.text != "on" {
			p.def.spreads = append(p.def.spreads, p.expect(tokenName))
			p.directives(false)
			return
		}
		if p.tok.kind == tokenName {
			p.typeCondition()
		}
		p.directives(false)
		p.selections()
		return
	}
	p.expect(tokenName)
	if p.accept(':') {
		p.expect(tokenName)
	}
	p.arguments(false)
	p.directives(false)
	if p.tok.kind == '{' {
		p.selections()
	}
}

func (p *parser) arguments(constant bool) {
	if p.tok.kind == '(' {
		p.group('(', ')', 1, func() { p.pair(constant) })
	}
}

func (p *parser) directives(constant bool) {
	for p.accept('@') {
		p.expect(tokenName)
		p.arguments(constant)
	}
}

// pair parses an argument or a field of an input object.
func (p *parser) pair(constant bool) {
	p.expect(tokenName)
	p.expect(':')
	p.value(constant)
}

// value parses a value; a constant must not contain variables.
func (p *parser) value(constant bool) {
	switch p.tok.kind {
	case tokenName, tokenNumber, tokenString:
		p.advance()
	case '[':
		p.group('[', ']', 0, func() { p.value(constant) })
	case '{':
		p.group('{', '}', 0, func() { p.pair(constant) })
	case '$':
		if constant {
			p.fail(p.tok.at, "a default value or a directive of a variable must not contain variables")
		}
		p.advance()
		p.def.uses = append(p.def.uses, p.expect(tokenName))
	default:
		p.unexpected("a value")
	}
}
