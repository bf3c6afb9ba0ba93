// Package openapi makes REST tools of an OpenAPI document, 3.0 or 3.1: each operation
// becomes a definition with a spec of the kind rest.
//
// github.com/getkin/kin-openapi reads the document, follows its references and knows the
// defaults of the standard: it is the most used library for it in Go, speaks 3.1, and
// brings nothing with it but a YAML parser and JSON Schema. What it would lose, the
// order of properties and the digits of numbers, is taken from the document itself.
package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Options say which operations are imported, and as what. The zero value imports all
// that are not deprecated.
//
// Patterns are those of bridge.Match. An operation is left out unless it has one of Tags
// and one of Include as its name, where they are given, and none of Exclude.
type Options struct {
	URL        string   // of the API; "": the document's first server
	Tags       []string // patterns of tags
	Include    []string // patterns of names
	Exclude    []string // patterns of names
	Deprecated bool     // deprecated operations as well
	Secured    bool     // what the document wants for its security is set: no note says what that is
}

// An API is what a document becomes.
type API struct {
	URL         string // what all paths are relative to
	Definitions []Definition
	LeftOut     []toolformat.Note // operations that cannot be tools, and why
	Notes       []toolformat.Note // what else is not as the document has it, and which auth to set
}

// A Definition is one operation.
type Definition struct {
	Tool toolformat.Tool
	Spec json.RawMessage // of the kind rest
}

// RuleRenamed is the rule of notes that only say that something has another name than in
// the document: nothing is lost.
const RuleRenamed = "renamed"

// The other rules of notes.
const (
	ruleLeftOut = "left-out" // an operation or a part of one
	ruleAuth    = "auth"
	ruleInvalid = "invalid" // the document does not keep the standard
	ruleChanged = "changed" // what is sent differs from what the document says
)

// maxDocument bounds a document, as JSON too.
const maxDocument = 64 << 20 // bytes

// Import reads a document, JSON or YAML. Nothing is ever loaded: a reference to another
// file or host is an error. Definitions come in the order of the document.
func Import(doc []byte, opt Options) (api *API, err error) {
	defer func() { // the last belt around code that is not ours
		if r := recover(); r != nil {
			api, err = nil, fmt.Errorf("openapi: the document cannot be read: %v", r)
		}
	}()
	if err := opt.check(); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	raw, err := toJSON(doc)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	version, _ := wire.Text(wire.Lookup(raw, "openapi"))
	if !strings.HasPrefix(version, "3.0") && !strings.HasPrefix(version, "3.1") {
		return nil, versionError(raw, version)
	}
	typed, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		if strings.Contains(err.Error(), "disallowed external reference") {
			return nil, fmt.Errorf("openapi: %w: nothing is loaded; bundle the document into one file first", err)
		}
		return nil, fmt.Errorf("openapi: %w", err)
	}
	m := &importer{opt: opt, typed: typed, schemas: newSchemas(raw, strings.HasPrefix(version, "3.0")), api: &API{}, names: map[string]bool{}, auth: map[string]bool{}}
	if err := m.server(); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	m.operations(raw)
	return m.api, nil
}

func (opt Options) check() error {
	for _, pattern := range slices.Concat(opt.Tags, opt.Include, opt.Exclude) {
		if _, err := bridge.Match(pattern, ""); err != nil {
			return fmt.Errorf("the pattern %q: %w", pattern, err)
		}
	}
	return nil
}

func versionError(raw []byte, version string) error {
	if wire.Lookup(raw, "swagger") != nil {
		return errors.New("openapi: a Swagger 2.0 document; convert it to OpenAPI 3 first")
	}
	if version == "" {
		return errors.New(`openapi: not an OpenAPI document: it has no "openapi"`)
	}
	return fmt.Errorf("openapi: version %.20s is not supported: expected 3.0 or 3.1", version)
}

// importer is an import under way.
type importer struct {
	opt     Options
	typed   *openapi3.T
	schemas *schemas
	api     *API
	names   map[string]bool // of the definitions so far
	auth    map[string]bool // the schemes that a note tells of
}

func (m *importer) note(tool, rule, format string, args ...any) {
	m.api.Notes = append(m.api.Notes, toolformat.Note{Tool: tool, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// server finds where the API is.
func (m *importer) server() error {
	m.api.URL = m.opt.URL
	if m.api.URL == "" && len(m.typed.Servers) > 0 {
		server := m.typed.Servers[0]
		m.api.URL = server.URL
		for name, v := range server.Variables {
			if v != nil {
				m.api.URL = strings.ReplaceAll(m.api.URL, "{"+name+"}", v.Default)
			}
		}
	}
	if u, err := url.Parse(m.api.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the document does not say where the API is, as an http or https URL: set its url")
	}
	return nil
}

// operations imports all, in order.
func (m *importer) operations(raw []byte) {
	for route, item := range wire.Members(wire.Lookup(raw, "paths")) {
		typed := m.typed.Paths.Value(route)
		if typed == nil {
			continue // an extension
		}
		item = m.schemas.resolve(item)
		for key, operation := range wire.Members(item) {
			method := strings.ToUpper(key)
			if key != strings.ToLower(key) || !isMethod(method) {
				continue
			}
			if op := typed.GetOperation(method); op != nil {
				m.operation(&source{method, route, typed, op, item, operation})
			}
		}
	}
}

// isMethod reports whether a key of a path item is an operation (OpenAPI 3.1.1, 4.8.9).
func isMethod(method string) bool {
	switch method {
	case http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodHead, http.MethodPatch, http.MethodTrace:
		return true
	}
	return false
}

// source is an operation in the document, as the library has it and as it stands.
type source struct {
	method, route string
	item          *openapi3.PathItem
	op            *openapi3.Operation
	rawItem, raw  []byte
}

// operation imports one, unless it is not asked for.
func (m *importer) operation(src *source) {
	name := toolName(cmp.Or(src.op.OperationID, src.method+" "+src.route))
	switch {
	case len(m.opt.Tags) > 0 && !slices.ContainsFunc(src.op.Tags, func(tag string) bool { return matches(m.opt.Tags, tag) }),
		len(m.opt.Include) > 0 && !matches(m.opt.Include, name),
		matches(m.opt.Exclude, name):
		return
	case src.op.Deprecated && !m.opt.Deprecated:
		m.note(name, ruleLeftOut, "%s %s is deprecated and left out (\"deprecated\": true takes it)", src.method, src.route)
		return
	case src.method == http.MethodOptions || src.method == http.MethodTrace:
		m.leaveOut(name, src, "the kind rest has no such method")
		return
	case src.op.Servers != nil && len(*src.op.Servers) > 0 || len(src.item.Servers) > 0:
		m.note(name, ruleChanged, "the document has a server of its own for %s %s; it is sent to the API's url like all others", src.method, src.route)
	}
	if own := src.op.OperationID; own != "" && own != name {
		m.note(name, RuleRenamed, "the operation is %q in the document", own)
	}
	for n, first := 2, name; m.names[name]; n++ {
		if name = fmt.Sprintf("%s_%d", first, n); !m.names[name] {
			m.note(name, RuleRenamed, "there is another operation %s", first)
		}
	}
	d := &definition{importer: m, source: src, name: name}
	if err := d.build(); err != nil {
		m.leaveOut(name, src, err.Error())
		return
	}
	m.names[name] = true
	m.api.Definitions = append(m.api.Definitions, d.definition())
	if !m.opt.Secured {
		m.security(name, src.op)
	}
}

// leaveOut notes an operation that cannot be a tool.
func (m *importer) leaveOut(name string, src *source, why string) {
	m.api.LeftOut = append(m.api.LeftOut, toolformat.Note{Tool: name, Rule: ruleLeftOut, Text: fmt.Sprintf("%s %s is left out: %s", src.method, src.route, why)})
}

func matches(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := bridge.Match(pattern, s) // they have been checked
		return ok
	})
}

// maxName is how long the name of a tool may be for every provider.
const maxName = 64

// toolName makes a name of an operationId, or of a method and a path.
func toolName(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
		} else {
			gap = true
		}
	}
	if method, rest, found := strings.Cut(s, " "); found && method == strings.ToUpper(method) && strings.HasPrefix(rest, "/") {
		return toolformat.Shorten(strings.ToLower(method)+b.String()[len(method):], maxName)
	}
	return toolformat.Shorten(cmp.Or(b.String(), "operation"), maxName)
}
