package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

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
	Set        []string // names of headers, cookies and query parameters that the config sets: they are not arguments
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

// The rules of notes that are about nothing wrong.
const (
	RuleRenamed    = "renamed"    // a name differs from the document's
	RuleLarge      = "large"      // the definitions cost many tokens
	RuleDeprecated = "deprecated" // an operation is left out, as the options do not want it
)

// The other rules of notes.
const (
	ruleLeftOut = "left-out" // an operation or a part of one
	ruleAuth    = "auth"
	ruleInvalid = "invalid" // the document violates the standard
	ruleChanged = "changed" // requests differ from the document
)

// maxDocument bounds a document, also as JSON, in bytes.
const maxDocument = 64 << 20

// Import imports a document in JSON or YAML. It never loads anything: an operation that refers to
// another file or host is left out, like one whose reference leads to nothing. Definitions come in
// the order of the document.
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
	version := cmp.Or(text(raw, "swagger"), text(raw, "openapi"))
	switch {
	case version == "":
		return nil, errors.New(`not an OpenAPI document: it has no "openapi"`)
	case text(raw, "swagger") == swagger:
	case !slices.ContainsFunc([]string{"3.0", "3.1", "3.2"}, func(known string) bool { return strings.HasPrefix(version, known) }):
		return nil, fmt.Errorf("unsupported version %s: expected 2.0, 3.0, 3.1 or 3.2", native.Shorten(version))
	}
	m := &importer{opt: opt, doc: raw, schemas: newSchemas(raw, version), api: &API{}, names: map[string]int{}, auth: map[string]bool{}}
	if err := m.setURL(); err != nil {
		return nil, err
	}
	m.importAll()
	m.noteCost()
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
func (opt Options) isHidden(name string) bool { return hasFold(opt.Hidden, name) }

// hasFold reports whether names contains a name, in any letter case.
func hasFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) })
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

// importer is the state of an Import.
type importer struct {
	opt     Options
	doc     []byte // the document as JSON
	schemas *schemas
	api     *API
	names   map[string]int  // of the definitions so far, with the number of the last one that is named after it
	size    int             // of their schemas, in bytes
	auth    map[string]bool // security schemes that have a note
}

func (m *importer) note(tool, rule, format string, args ...any) {
	m.api.Notes = append(m.api.Notes, newNote(tool, rule, format, args...))
}

// newNote returns a note on one line: the names of a document may have line breaks, with which they would begin others.
func newNote(tool, rule, format string, args ...any) toolformat.Note {
	text := fmt.Sprintf(format, args...)
	return toolformat.Note{Tool: tool, Rule: rule, Text: strings.Join(strings.Fields(text), " ")}
}

// maxURL bounds the URL of a document's server, in bytes.
const maxURL = 8 << 10

// setURL determines the URL of the API.
func (m *importer) setURL() error {
	m.api.URL = m.opt.URL
	if m.api.URL == "" && m.schemas.isSwagger {
		m.api.URL = swaggerURL(m.doc)
	} else if m.api.URL == "" {
		for server := range wire.Elements(wire.Lookup(m.doc, "servers")) {
			m.api.URL = text(server, "url")
			for name, v := range wire.Members(wire.Lookup(server, "variables")) {
				if len(m.api.URL) > maxURL { // the value of each may have the next one twice
					return errors.New("the URL of the document's server is too long with its variables: set its url")
				}
				m.api.URL = strings.ReplaceAll(m.api.URL, "{"+name+"}", text(v, "default"))
			}
			break
		}
	}
	if u, err := url.Parse(m.api.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the document does not name a server with an http or https URL: set its url")
	}
	return nil
}

// maxTokens is the cost of definitions, in tokens of each request to a model, from which on a note
// says how to reduce it.
const maxTokens = 20_000

// noteCost notes that the definitions cost many tokens.
func (m *importer) noteCost() {
	total, most := 0, 0
	largest := ""
	for _, d := range m.api.Definitions {
		n := len(d.Tool.Name) + len(d.Tool.Description) + len(d.Tool.InputSchema)
		if total += n; n > most {
			most, largest = n, d.Tool.Name
		}
	}
	if tokens := toolformat.EstimateTokens(total); tokens > maxTokens {
		m.note("", RuleLarge, "the %d tools cost about %d tokens in each request to a model, of which %s takes %d: choose those that are needed with tags, include or exclude",
			len(m.api.Definitions), tokens, largest, toolformat.EstimateTokens(most))
	}
}

// text returns a scalar member of an object as text: "" for any other value.
func text(object []byte, key string) string {
	v := wire.Lookup(object, key)
	if len(v) == 0 || v[0] == '{' || v[0] == '[' || string(v) == "null" {
		return ""
	}
	return native.Text(v)
}

// isTrue reports whether a member of an object is true.
func isTrue(object []byte, key string) bool { return string(wire.Lookup(object, key)) == "true" }
