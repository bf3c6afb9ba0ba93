package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Options select the operations to import. The zero value selects all that are not deprecated.
//
// Patterns are those of bridge.Match. An operation is imported if a tag matches Tags, its name
// matches Include, and its name does not match Exclude; empty Tags or Include match everything.
type Options struct {
	URL        string   // of the API; "" means the document's first server
	Tags       []string // patterns of tags
	Include    []string // patterns of names
	Exclude    []string // patterns of names
	Deprecated bool     // import deprecated operations as well
	Hidden     []string // names of hidden values, in any letter case, which no tool shows
	Secured    bool     // the auth that the document requires is set: omit the notes about it
}

// An API is an imported document.
type API struct {
	URL         string // base of all paths
	Definitions []Definition
	LeftOut     []toolformat.Note // operations that cannot be tools, and why
	Notes       []toolformat.Note // other differences from the document, and the required auth
}

// A Definition is an imported operation.
type Definition struct {
	Tool toolformat.Tool
	Spec json.RawMessage // spec of the kind rest
}

// RuleRenamed is the rule of notes about names that differ from the document's.
const RuleRenamed = "renamed"

// The other rules of notes.
const (
	ruleLeftOut = "left-out" // an operation or a part of one
	ruleAuth    = "auth"
	ruleInvalid = "invalid" // the document violates the standard
	ruleChanged = "changed" // requests differ from the document
)

// maxDocument bounds a document, also as JSON, in bytes.
const maxDocument = 64 << 20

// Import imports a document in JSON or YAML. It never loads anything: a reference to another file
// or host is an error. Definitions come in the order of the document.
func Import(doc []byte, opt Options) (api *API, err error) {
	defer func() {
		if r := recover(); r != nil { // a panic of a library
			err = fmt.Errorf("cannot read the document: %v", r)
		}
		if err != nil {
			api, err = nil, fmt.Errorf("openapi: %w", err)
		}
	}()
	if err := opt.check(); err != nil {
		return nil, err
	}
	raw, err := toJSON(doc)
	if err != nil {
		return nil, err
	}
	version, _ := wire.Text(wire.Lookup(raw, "openapi"))
	if !strings.HasPrefix(version, "3.0") && !strings.HasPrefix(version, "3.1") {
		return nil, versionError(raw, version)
	}
	typed, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		if strings.Contains(err.Error(), "disallowed external reference") {
			err = fmt.Errorf("%w: other files are never loaded; bundle the document into one file first", err)
		}
		return nil, err
	}
	m := &importer{opt: opt, typed: typed, schemas: newSchemas(raw, strings.HasPrefix(version, "3.0")), api: &API{}, names: map[string]bool{}, auth: map[string]bool{}}
	if err := m.setURL(); err != nil {
		return nil, err
	}
	m.importAll(raw)
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

// isHidden reports whether a parameter has the name of a hidden value.
func (opt Options) isHidden(name string) bool {
	return slices.ContainsFunc(opt.Hidden, func(hidden string) bool { return strings.EqualFold(hidden, name) })
}

// shown returns a route without the names of hidden parameters.
func (opt Options) shown(route string) string {
	for _, part := range strings.Split(route, "{")[1:] {
		if name, _, closed := strings.Cut(part, "}"); closed && opt.isHidden(name) {
			route = strings.ReplaceAll(route, "{"+name+"}", "{…}")
		}
	}
	return route
}

func versionError(raw []byte, version string) error {
	switch {
	case wire.Lookup(raw, "swagger") != nil:
		return errors.New("this is a Swagger 2.0 document: convert it to OpenAPI 3 first")
	case version == "":
		return errors.New(`not an OpenAPI document: it has no "openapi"`)
	}
	return fmt.Errorf("unsupported version %s: expected 3.0 or 3.1", native.Shorten(version))
}

// importer is the state of an Import.
type importer struct {
	opt     Options
	typed   *openapi3.T
	schemas *schemas
	api     *API
	names   map[string]bool // names of the definitions so far
	auth    map[string]bool // security schemes that have a note
}

func (m *importer) note(tool, rule, format string, args ...any) {
	m.api.Notes = append(m.api.Notes, toolformat.Note{Tool: tool, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// setURL determines the URL of the API.
func (m *importer) setURL() error {
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
		return errors.New("the document does not name a server with an http or https URL: set its url")
	}
	return nil
}

// importAll imports the operations in order.
func (m *importer) importAll(raw []byte) {
	for route, item := range wire.Members(wire.Lookup(raw, "paths")) {
		typed := m.typed.Paths.Value(route)
		if typed == nil {
			continue // an extension
		}
		item = m.schemas.resolve(item)
		for key, operation := range wire.Members(item) {
			switch key {
			case "get", "put", "post", "delete", "options", "head", "patch", "trace": // OpenAPI 3.1.1, section 4.8.9
				method := strings.ToUpper(key)
				if op := typed.GetOperation(method); op != nil {
					m.importOperation(&source{method, route, typed, op, item, operation})
				}
			}
		}
	}
}

// source is an operation of the document, as the library has it and as written.
type source struct {
	method, route string
	item          *openapi3.PathItem
	op            *openapi3.Operation
	rawItem, raw  []byte // the path item and the operation as written
}

// importOperation imports an operation if the options select it.
func (m *importer) importOperation(src *source) {
	name := toolName(cmp.Or(src.op.OperationID, src.method+" "+m.opt.shown(src.route)))
	switch {
	case len(m.opt.Tags) > 0 && !slices.ContainsFunc(src.op.Tags, func(tag string) bool { return matches(m.opt.Tags, tag) }),
		len(m.opt.Include) > 0 && !matches(m.opt.Include, name),
		matches(m.opt.Exclude, name):
		return
	case src.op.Deprecated && !m.opt.Deprecated:
		m.note(name, ruleLeftOut, "%s %s is left out, as it is deprecated (\"deprecated\": true includes it)", src.method, src.route)
		return
	case src.method == http.MethodOptions || src.method == http.MethodTrace:
		m.leaveOut(name, src, "the kind rest does not support the method")
		return
	case src.op.Servers != nil && len(*src.op.Servers) > 0 || len(src.item.Servers) > 0:
		m.note(name, ruleChanged, "the document has a separate server for %s %s; requests go to the API's url like all others", src.method, src.route)
	}
	if own := src.op.OperationID; own != "" && own != name {
		m.note(name, RuleRenamed, "the operation is %q in the document", own)
	}
	for n, first := 2, name; m.names[name]; n++ {
		if name = fmt.Sprintf("%s_%d", first, n); !m.names[name] {
			m.note(name, RuleRenamed, "another operation is named %s", first)
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
		ok, _ := bridge.Match(pattern, s) // Options.check has found the errors
		return ok
	})
}

// maxName bounds the name of a tool, in bytes: every provider accepts that many.
const maxName = 64

// toolName converts an operationId, or a method and a path, to the name of a tool.
func toolName(s string) string {
	name := strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}), "_")
	if method, rest, found := strings.Cut(s, " "); found && method == strings.ToUpper(method) && strings.HasPrefix(rest, "/") {
		return toolformat.Shorten(strings.ToLower(method)+name[len(method):], maxName)
	}
	return toolformat.Shorten(cmp.Or(name, "operation"), maxName)
}

// security notes which auth the API needs in the config, once for each security scheme.
func (m *importer) security(tool string, op *openapi3.Operation) {
	requirements := m.typed.Security
	if op.Security != nil {
		requirements = *op.Security
	}
	for _, requirement := range requirements {
		for _, name := range slices.Sorted(maps.Keys(requirement)) {
			if m.auth[name] {
				continue
			}
			m.auth[name] = true
			ref := m.schemes()[name]
			if ref == nil || ref.Value == nil {
				m.note(tool, ruleInvalid, "the security scheme %s is not in the document", name)
				continue
			}
			m.note("", ruleAuth, "%s (security scheme %s): %s", tool, name, advice(ref.Value))
		}
	}
}

func (m *importer) schemes() openapi3.SecuritySchemes {
	if m.typed.Components == nil {
		return nil
	}
	return m.typed.Components.SecuritySchemes
}

// advice says what to configure for a scheme.
func advice(s *openapi3.SecurityScheme) string {
	const bearer = `set the API's auth to {"bearer": TOKEN}`
	switch s.Type {
	case "http":
		switch strings.ToLower(s.Scheme) {
		case "bearer":
			return bearer
		case "basic":
			return `set the API's auth to {"basic": {"username": …, "password": …}}`
		}
		return fmt.Sprintf(`set the API's auth to the value of the Authorization header, "%s …"`, s.Scheme)
	case "apiKey":
		switch s.In {
		case "header":
			return fmt.Sprintf(`set the API's auth to {"header": {"name": %q, "value": KEY}}`, s.Name)
		case "query":
			return fmt.Sprintf("append ?%s=KEY to the API's url", escapeName(s.Name))
		case "cookie":
			return fmt.Sprintf(`set the API's headers to {"Cookie": "%s=KEY"}`, s.Name)
		}
	case "oauth2", "openIdConnect":
		return bearer + " with an access token, which the bridge does not request itself"
	case "mutualTLS":
		return "it requires a client certificate, which the kind rest does not support"
	}
	return fmt.Sprintf("unknown type %q", s.Type)
}
