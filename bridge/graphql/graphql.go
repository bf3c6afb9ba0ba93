package graphql

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Kind is the kind graphql. An API of the config is an [API], the spec of a definition a [Spec].
var Kind = bridge.NativeKind{Name: kindName, Spec: reflect.TypeFor[Spec](), Open: open}

const kindName = "graphql"

// An API describes a GraphQL API in the config. Every request is a POST to its url. An answer
// longer than its maxBytes is a failed result.
type API struct{ httpapi.Config }

// backend is an open API.
type backend struct {
	*httpapi.Client
	hidden []string // names of the config's hidden values
	specs  bridge.SpecDecoder[Spec]
}

// open returns a backend without connecting.
func open(cfg bridge.BackendConfig) (bridge.Backend, error) {
	api, err := httpapi.Decode[API](kindName, cfg)
	if err != nil {
		return nil, err
	}
	client, err := api.Client(httpapi.Options{
		Kind: kindName,
		Header: http.Header{ // GraphQL over HTTP, draft of 2025, sections 4.1 and 5.1
			"Accept":       {"application/graphql-response+json, application/json;q=0.9"},
			"Content-Type": {"application/json"},
		},
	}, cfg)
	if err != nil {
		return nil, err
	}
	return &backend{Client: client, hidden: cfg.Hidden}, nil
}

// Tool implements bridge.Backend. The notes name variables that are not properties, and properties
// that are not variables.
func (b *backend) Tool(definition toolformat.Tool, spec json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	s, err := b.specs.Decode(kindName, spec)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	t, err := s.compile()
	if err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("%s: %w", kindName, err)
	}
	t.backend, t.definition = b, definition
	readOnly := t.op.kind == "query" // "a read-only fetch" (GraphQL, September 2025, Operations)
	return bridge.Tool{
		Tool: definition, Timeout: cmp.Or(time.Duration(s.Timeout), b.Timeout), Cancelable: true, ReadOnly: readOnly, Call: t.call,
		Placeholders: slices.Sorted(maps.Keys(t.op.declared())),
	}, t.notes(), nil
}

// call implements bridge.Tool.Call. It never sends a request again: a mutation without an answer
// may have been carried out.
func (t *tool) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	body := append(make([]byte, 0, len(t.head)+2*len(arguments)+len("{}}")), t.head...)
	body, err := t.appendVariables(body, arguments)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL.String(), bytes.NewReader(append(body, '}')))
	if err != nil {
		return nil, err
	}
	req.Header = t.Header // shared by all calls; a transport does not change it
	call := httpapi.Call{Tool: t.definition.Name, Convert: t.convert, Explain: t.explain}
	if t.op.kind == "mutation" {
		call.Effect = "mutation"
	}
	return t.Do(req, call)
}

// The rules of a tool's notes.
const (
	ruleVariable = "variable" // a variable is not a property, only optional, or unused
	ruleType     = "type"     // the property's type is not the variable's
	ruleUnused   = "unused"   // no request ever contains the property
)

// notes lists what is legal in a definition and probably a mistake.
func (t *tool) notes() []toolformat.Note {
	n := native.NewNotes(t.definition, t.hidden)
	declared := t.op.declared()
	for _, v := range t.op.variables {
		schema := n.Properties[v.name]
		kind, _ := wire.Text(wire.Lookup(schema, "type"))
		switch {
		case !n.Known(v.name):
			effect := "it is omitted from every request"
			if v.required() {
				effect = "every call fails without it"
			}
			n.Add("/graphql", ruleVariable, "the variable $%s: %s is not a property%s; %s", v.name, &v.typ, native.Suggest("%s", v.name, n.Properties), effect)
		case v.required() && n.IsOptional(v.name):
			n.AddProperty(v.name, ruleVariable, "%s is not required, but the variable $%s: %s is: a call without it fails", v.name, v.name, &v.typ)
		case !v.typ.accepts(kind):
			n.AddProperty(v.name, ruleType, "%s is of type %s, but the variable is $%s: %s: a call fails unless its value can be converted", v.name, kind, v.name, &v.typ)
		}
		if t.unused[v.name] {
			n.Add("/graphql", ruleVariable, "the operation declares the variable $%s and does not use it: a server may refuse the query", v.name)
		}
	}
	for _, name := range n.Names() {
		if !declared[name] {
			n.AddProperty(name, ruleUnused, "%s is not a variable of the operation and is never sent%s", name, native.Suggest("$%s", name, declared))
		}
	}
	return n.All
}

// accepts reports whether values of a JSON Schema type are values of t or become such. "" stands
// for any type, and a type that GraphQL does not define accepts all.
func (t *typeRef) accepts(kind string) bool {
	for t.item != nil { // a single value becomes a list
		if kind == "array" {
			return true
		}
		t = t.item
	}
	kinds, builtin := map[string]string{
		"Int": "integer number", "Float": "integer number", "String": "string integer number boolean", "ID": "string integer number", "Boolean": "boolean",
	}[t.name]
	return !builtin || kind == "" || slices.Contains(strings.Fields(kinds), kind)
}
