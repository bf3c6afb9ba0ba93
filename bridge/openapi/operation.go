package openapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// importAll imports the operations in order.
func (m *importer) importAll() {
	for route, item := range wire.Members(wire.Lookup(m.doc, "paths")) {
		if strings.HasPrefix(route, "x-") {
			continue // an extension
		}
		resolved, err := m.schemas.resolve(item)
		if err != nil {
			m.leaveOutPath(route, err)
			continue
		}
		for key, operation := range wire.Members(resolved) {
			switch key {
			case "get", "put", "post", "delete", "options", "head", "patch", "trace", "query": // OpenAPI 3.2.0, section 4.9
				m.importOperation(&source{strings.ToUpper(key), route, resolved, operation})
			case "additionalOperations":
				for method, operation := range wire.Members(operation) {
					m.importOperation(&source{method, route, resolved, operation})
				}
			}
		}
	}
}

// source is an operation of the document.
type source struct {
	method, route string
	item, raw     []byte // the path item and the operation
}

// maxDefinitions bounds the schemas of all tools, in bytes: each has all that it refers to.
const maxDefinitions = 64 << 20

// importOperation imports an operation if the options select it.
func (m *importer) importOperation(src *source) {
	id := text(src.raw, "operationId")
	name := toolName(cmp.Or(id, src.method+" "+m.opt.shown(src.route)))
	switch {
	case !m.selects(src, name):
		return
	case isTrue(src.raw, "deprecated") && !m.opt.Deprecated:
		m.note(name, RuleDeprecated, "%s %s is left out, as it is deprecated (\"deprecated\": true includes it)", src.method, src.route)
		return
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, src.method):
		m.leaveOut(name, src, "the kind rest does not support the method")
		return
	case m.hasServer(src):
		m.note(name, ruleChanged, "the document has a separate server for %s %s; requests go to the API's url like all others", src.method, src.route)
	}
	if id != "" && id != name {
		m.note(name, RuleRenamed, "the operation is %q in the document", id)
	}
	first, n := name, max(m.names[name], 1)
	for m.names[name] > 0 {
		n++
		if name = fmt.Sprintf("%s_%d", first, n); m.names[name] == 0 {
			m.note(name, RuleRenamed, "another operation is named %s", first)
		}
	}
	if m.size > maxDefinitions {
		m.leaveOut(name, src, "the tools before it have more than 64 MiB of schemas: choose those that are needed with tags, include or exclude")
		return
	}
	d := &definition{importer: m, source: src, name: name}
	built, err := d.build()
	if m.size += len(built.Tool.InputSchema); err != nil {
		m.leaveOut(name, src, err.Error())
		return
	}
	m.names[name] = 1
	m.names[first] = n
	m.api.Definitions = append(m.api.Definitions, built)
	if !m.opt.Secured {
		m.security(name, src.raw)
	}
}

// hasServer reports whether an operation has a server of its own, other than the document's first.
func (m *importer) hasServer(src *source) bool {
	servers := list(src.raw, "servers")
	if len(servers) == 0 {
		servers = list(src.item, "servers")
	}
	common := list(m.doc, "servers")
	return len(servers) > 0 && (len(common) == 0 || text(servers[0], "url") != text(common[0], "url"))
}

// selects reports whether the options select an operation.
func (m *importer) selects(src *source, name string) bool {
	hasTag := func(tag []byte) bool { return matches(m.opt.Tags, native.Text(tag)) }
	return (len(m.opt.Tags) == 0 || slices.ContainsFunc(list(src.raw, "tags"), hasTag)) &&
		(len(m.opt.Include) == 0 || matches(m.opt.Include, name)) && !matches(m.opt.Exclude, name)
}

// list returns the items of a member of an object that is a list.
func list(object []byte, key string) [][]byte {
	return slices.Collect(wire.Elements(wire.Lookup(object, key)))
}

// leaveOut notes an operation that cannot be a tool.
func (m *importer) leaveOut(name string, src *source, why string) {
	m.api.LeftOut = append(m.api.LeftOut, newNote(name, ruleLeftOut, "%s %s is left out: %s", src.method, src.route, why))
}

// leaveOutPath notes a path whose operations cannot be tools.
func (m *importer) leaveOutPath(route string, why error) {
	m.api.LeftOut = append(m.api.LeftOut, newNote("", ruleLeftOut, "the path %s is left out: %v", native.Shorten(route), why))
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
