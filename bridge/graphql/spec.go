package graphql

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Spec describes the request of a tool.
type Spec struct {
	// Query is a GraphQL document with a query or a mutation, at most 1 MiB. It is sent
	// unchanged; the arguments are its variables. An argument that the operation does not declare
	// is not sent, the others are converted to the declared types: 12.0 and "12" to 12 for an
	// Int, 12 to "12" for a String or an ID, one value to a list of it. A variable without an
	// argument is omitted.
	Query string `json:"query"`

	// OperationName names the operation to run; required if the document has several.
	OperationName string `json:"operationName,omitempty"`

	// Select is a JSON Pointer (RFC 6901) to the part of the answer's data that is the result,
	// such as /user/orders. Anything below a null is null.
	Select string `json:"select,omitempty"`

	Timeout bridge.Duration `json:"timeout,omitempty"` // bounds a call; default the API's
}

// A tool is a compiled Spec.
type tool struct {
	*backend
	definition toolformat.Tool

	op     *definition
	unused map[string]bool // declared variables that the operation does not use
	head   []byte          // the request's body up to the variables
	sel    native.Pointer
}

func (s *Spec) compile() (*tool, error) {
	doc, err := parse(s.Query)
	if err != nil {
		return nil, err
	}
	t := &tool{}
	if t.op, err = doc.choose(s.OperationName); err != nil {
		return nil, err
	}
	if t.unused, err = doc.resolve(t.op); err != nil {
		return nil, err
	}
	if t.sel, err = native.ParsePointer(s.Select); err != nil {
		return nil, err
	}
	t.head = wire.AppendString([]byte(`{"query":`), s.Query)
	if t.op.name != "" {
		t.head = wire.AppendString(append(t.head, `,"operationName":`...), t.op.name)
	}
	t.head = append(t.head, `,"variables":`...)
	return t, nil
}

// choose returns the named operation, or the only one if name is "".
func (d *document) choose(name string) (*definition, error) {
	var names []string
	var found *definition
	for _, op := range d.operations {
		if op.name == "" && len(d.operations) > 1 {
			return nil, fmt.Errorf("query: %s: an operation without a name must be the only one", place(d.src, op.at))
		}
		if names = append(names, op.name); name == "" || name == op.name {
			found = op
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("query: the document has no operation: expected a query or a mutation beside the fragments")
	case found == nil && names[0] == "":
		return nil, fmt.Errorf("operationName: %q: the operation has no name", native.Shorten(name))
	case found == nil:
		return nil, fmt.Errorf("operationName: the query has no operation %q; it has %s", native.Shorten(name), native.Shorten(strings.Join(names, ", ")))
	case name == "" && len(names) > 1:
		return nil, fmt.Errorf("operationName is empty and the query has several operations: expected one of %s", native.Shorten(strings.Join(names, ", ")))
	case found.kind == "subscription":
		return nil, fmt.Errorf("query: %s: a subscription does not have a single answer: expected a query or a mutation", place(d.src, found.at))
	}
	return found, nil
}

// resolve follows an operation into its fragments and returns the declared variables that are not
// used. A server refuses the same errors (GraphQL, September 2025, sections 5.5.2.1 and 5.8.3).
func (d *document) resolve(op *definition) (unused map[string]bool, err error) {
	declared := op.declared()
	unused = maps.Clone(declared)
	seen := map[string]bool{}
	for todo := []*definition{op}; len(todo) > 0; {
		def := todo[0]
		todo = todo[1:]
		for _, use := range def.uses {
			if !declared[use.text] {
				return nil, fmt.Errorf("query: %s: the operation does not declare the variable $%s%s", place(d.src, use.at), native.Shorten(use.text), native.Suggest("$%s", use.text, declared))
			}
			delete(unused, use.text)
		}
		for _, spread := range def.spreads {
			fragment := d.fragments[spread.text]
			if fragment == nil {
				return nil, fmt.Errorf("query: %s: unknown fragment %s%s", place(d.src, spread.at), native.Shorten(spread.text), native.Suggest("%s", spread.text, d.fragments))
			}
			if !seen[spread.text] {
				seen[spread.text] = true
				todo = append(todo, fragment)
			}
		}
	}
	return unused, nil
}
