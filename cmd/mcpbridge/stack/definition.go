package stack

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/openapi"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// validate returns the fault of a definition that does not depend on its kind.
func (n *nativeLoader) validate(t toolformat.Tool, word string) error {
	var inner json.RawMessage
	if t.Format == toolformat.FormatAcorn {
		inner = wire.Lookup(t.Extra, "function")
	}
	return cmp.Or(
		n.misplaced(t, word),
		misspelled(t.Extra, "", n.keys(t, word)...),
		misspelled(inner, "function: ", "description", "parameters"),
		n.ofAnotherKind(t, word),
		checkContextNames(wire.Lookup(t.Extra, "context")),
		checkAnnotations(wire.Lookup(t.Extra, "annotations")),
	)
}

func checkContextNames(raw json.RawMessage) error {
	var names []string
	if raw != nil && (json.Unmarshal(raw, &names) != nil || slices.Contains(names, "")) {
		return errors.New("context: expected an array of names of properties")
	}
	return nil
}

// checkAnnotations checks the types of annotations (MCP 2025-06-18, schema.ts, ToolAnnotations):
// clients refuse a whole list for one of another type.
func checkAnnotations(raw json.RawMessage) error {
	hints := []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
	for key, value := range wire.Members(raw) {
		isBool := string(value) == "true" || string(value) == "false"
		if slices.Contains(hints, key) && !isBool {
			return fmt.Errorf("annotations: %s: expected true or false, got %.40s", key, value)
		}
		if _, isText := wire.Text(value); key == "title" && !isText {
			return fmt.Errorf("annotations: title: expected a string, got %.40s", value)
		}
	}
	return misspelled(raw, "annotations: ", append(hints, "title")...)
}

// objectSchema returns a definition whose input schema has "type": "object" (MCP 2025-06-18,
// schema.ts, Tool): clients refuse a whole list for one without.
func objectSchema(t toolformat.Tool) (toolformat.Tool, error) {
	if t.InputSchema == nil || string(t.InputSchema) == "true" {
		t.InputSchema = json.RawMessage("{}")
	}
	kind := wire.Lookup(t.InputSchema, "type")
	switch text, _ := wire.Text(kind); {
	case t.InputSchema[0] != '{':
		return t, fmt.Errorf("input schema: expected an object, got %.40s", t.InputSchema)
	case kind == nil:
		t.InputSchema = wire.SetMember(t.InputSchema, "type", []byte(`"object"`))
	case text != "object":
		return t, fmt.Errorf(`input schema: expected "type": "object", got %.40s`, kind)
	}
	if t.Format == toolformat.FormatMCP { // which is listed verbatim
		t.Extra = wire.SetMember(t.Extra, "inputSchema", t.InputSchema)
	}
	return t, nil
}

// unchecked warns of parts of a tool's schemas that are not JSON Schema or cannot be checked.
func unchecked(t toolformat.Tool) (notes []toolformat.Note) {
	for _, it := range []struct {
		path   string
		schema json.RawMessage
	}{{"/input_schema", t.InputSchema}, {"/output_schema", t.OutputSchema}} {
		if it.schema == nil {
			continue
		}
		_, found, _ := toolformat.NewChecker(it.schema) // bridge.NewNative reports the error
		for _, note := range found {
			note.Path = it.path + note.Path
			notes = append(notes, note)
		}
	}
	return notes
}

// unknownRequired warns of required properties that a schema does not define.
func unknownRequired(schema json.RawMessage) (notes []toolformat.Note) {
	if hasOtherProperties(schema) {
		return nil // it may be defined there
	}
	for raw := range wire.Elements(wire.Lookup(schema, "required")) {
		if name, ok := wire.Text(raw); ok && wire.Lookup(schema, "properties", name) == nil {
			notes = append(notes, toolformat.Note{Path: "/input_schema/required", Rule: "required", Text: hint.Quote(name) + " is not a property of the tool"})
		}
	}
	return notes
}

// hasOtherProperties reports whether the object of a schema may have properties that are not in its
// properties.
func hasOtherProperties(schema json.RawMessage) bool {
	return slices.ContainsFunc([]string{"$ref", "allOf", "anyOf", "oneOf", "patternProperties"}, func(key string) bool { return wire.Lookup(schema, key) != nil })
}

// hide sets the names that no caller of a tool sees or sets: those of its own context, which the tool
// always gets, and those of the config. Notes warn of names that the tool does not use.
func (n *nativeLoader) hide(t *bridge.Tool) (notes []toolformat.Note) {
	used := slices.Clone(t.Placeholders)
	for name := range wire.Members(wire.Lookup(t.InputSchema, "properties")) {
		used = append(used, name)
	}
	for raw := range wire.Elements(wire.Lookup(t.Extra, "context")) {
		name, _ := wire.Text(raw)
		if !hasFold(used, name) {
			if !hasOtherProperties(t.InputSchema) {
				notes = append(notes, toolformat.Note{Path: "/context", Rule: "context", Text: fmt.Sprintf("%s is not a property of the tool", hint.Quote(name))})
			}
			t.Placeholders = append(t.Placeholders, name)
		}
		t.Hidden = append(t.Hidden, name)
	}
	n.uses = append(n.uses, t.Hidden...)
	schema := bytes.ToLower(t.InputSchema)
	for _, name := range slices.Sorted(maps.Keys(n.cfg.Context)) {
		if isChatFunction(*t) || hasFold(used, name) || bytes.Contains(schema, wire.AppendString(nil, name)) {
			n.uses = append(n.uses, name)
		}
		// What the bridge calls itself, to save a conversation, may have all values as arguments.
		if !hasFold(t.Hidden, name) && (!isChatFunction(*t) || hasFold(used, name)) {
			t.Hidden = append(t.Hidden, name)
		}
	}
	return notes
}

// hasFold reports whether names contains a name, in any letter case.
func hasFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) })
}

// readFiles reads the definitions of the files that match a pattern.
func (n *nativeLoader) readFiles(d config.Definitions) {
	files, err := filepath.Glob(file.Below(n.cfg.Dir, d.Files))
	if err != nil || len(files) == 0 {
		n.faultOfFile(d.Files, "%s:%d: no file matches %s", n.cfg.Path, d.Line, d.Files)
	}
	for _, name := range files {
		data, err := file.ReadRegular(name, maxFile)
		name = n.short(name)
		if err != nil {
			n.faultOfFile(name, "%s:%d: %s: %v", n.cfg.Path, d.Line, name, err)
			continue
		}
		n.read(name, data, true)
	}
}

// maxFile bounds a file of definitions or an OpenAPI document.
const maxFile = 64 << 20 // bytes

// short returns the path of a file for messages: relative to the config if it is below.
func (n *nativeLoader) short(path string) string {
	if short, err := filepath.Rel(n.cfg.Dir, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// read reads the definitions of a file or of the config, with comments and trailing commas.
func (n *nativeLoader) read(where string, data []byte, isFile bool) {
	if standard, err := hujson.Standardize(data); err == nil { // keeps every byte in its place
		data = standard
	}
	reading, err := toolformat.Read(data, "")
	if err != nil {
		n.faultOfFile(where, "%s:%v", where, err)
		return
	}
	for _, f := range reading.Faults {
		at := where
		if line := lineOf(data, f.Index); isFile && line > 0 {
			at = fmt.Sprintf("%s:%d", where, line)
		}
		for _, note := range f.Notes {
			note.Tool = ""
			n.fault("%s: %s: %s", at, strings.TrimSpace("tool "+f.Tool), note)
		}
	}
	for _, note := range reading.Notes {
		if note.Tool != "" {
			note.Tool = "tool " + note.Tool
		}
		n.warnings = append(n.warnings, fmt.Sprintf("%s: %s", where, note))
	}
	from, line := 0, 1 // the end of the definition before
	for _, t := range reading.Tools {
		at := where
		if offset := bytes.Index(data[from:], t.Extra); isFile && offset >= 0 {
			line += bytes.Count(data[from:from+offset], []byte("\n"))
			at = fmt.Sprintf("%s:%d", where, line)
			line += bytes.Count(t.Extra, []byte("\n"))
			from += offset + len(t.Extra)
		}
		notes, err := n.add(t)
		if err != nil {
			n.fault("%s: tool %s: %v", at, t.Name, err)
		}
		for _, note := range notes {
			note.Tool = ""
			n.warnings = append(n.warnings, fmt.Sprintf("%s: tool %s: %s", at, t.Name, note))
		}
	}
}

// lineOf returns the first line of a definition, or 0 if the file is not a plain list.
func lineOf(data []byte, index int) int {
	list := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	from := len(data) - len(list)
	if index == 0 && bytes.HasPrefix(list, []byte("{")) {
		return 1 + bytes.Count(data[:from], []byte("\n"))
	}
	for e := range wire.Elements(list) {
		from += bytes.Index(data[from:], e)
		if index == 0 {
			return 1 + bytes.Count(data[:from], []byte("\n"))
		}
		from += len(e)
		index--
	}
	return 0
}

// imported is the definitions of an OpenAPI document.
type imported struct {
	api         *config.API
	where       string // the document, as messages name it
	definitions []openapi.Definition
}

// importAll reads the documents of the APIs of type openapi, which become APIs of type rest. An API
// whose document cannot be read keeps its type, so that no tool can use it.
func (n *nativeLoader) importAll() []imported {
	var all []imported
	for i := range n.apis {
		api := &n.apis[i]
		if api.Import == nil {
			continue
		}
		i, err := n.importDocument(api)
		if err != nil {
			n.faultOfFile("api "+api.Name, "%s:%d: api %s: %v", n.cfg.Path, api.Line, api.Name, err)
			continue
		}
		all = append(all, i)
	}
	return all
}

// importDocument returns the definitions of an API's document, and adds warnings about them.
func (n *nativeLoader) importDocument(api *config.API) (i imported, err error) {
	from := api.Import
	document, opt := from.Inline, openapi.Options{Tags: from.Tags, Include: from.Include, Exclude: from.Exclude, Deprecated: from.Deprecated}
	opt.Hidden = slices.Sorted(maps.Keys(n.cfg.Context))
	i = imported{api: api, where: fmt.Sprintf("%s:%d", n.cfg.Path, api.Line)}
	if config.IsServerURL(from.File) { // it may hold a secret
		return i, errors.New("document: expected the name of a file, got a URL: download it first, and name the file")
	}
	if document == nil {
		i.where = n.short(api.Import.File)
		if document, err = file.ReadRegular(api.Import.File, maxFile); err != nil {
			return i, fmt.Errorf("%s: %w", i.where, err)
		}
	}
	opt.URL, _ = wire.Text(wire.Lookup(api.Config, "url"))
	opt.Secured = wire.Lookup(api.Config, "auth") != nil || api.OAuth != nil || wire.Lookup(api.Config, "headers") != nil || strings.Contains(opt.URL, "?")
	opt.Set = setByConfig(api.Config, opt.URL)
	if api.OAuth != nil {
		opt.Set = append(opt.Set, "Authorization")
	}
	got, err := openapi.Import(document, opt)
	if err != nil && api.Import.Inline == nil {
		err = fmt.Errorf("%s: %w", i.where, err)
	}
	if err != nil {
		return i, err
	}
	for _, note := range got.LeftOut {
		n.fault("%s: %s", i.where, ofOperation(note))
	}
	for _, note := range got.Notes {
		text := i.where + ": " + ofOperation(note)
		switch note.Rule {
		case openapi.RuleRenamed: // nothing is lost
			n.log.Info(text)
		case openapi.RuleLarge, openapi.RuleDeprecated:
			n.advice = append(n.advice, text)
		default:
			n.warnings = append(n.warnings, text)
		}
	}
	if len(got.Definitions)+len(got.LeftOut) == 0 {
		n.warnings = append(n.warnings, i.where+": no operation of the document is a tool: "+whyNone(got, opt))
	}
	api.Type = rest.Kind.Name
	api.Config = wire.SetMember(api.Config, "type", wire.AppendString(nil, api.Type))
	api.Config = wire.SetMember(api.Config, "url", wire.AppendString(nil, got.URL))
	i.definitions = got.Definitions
	return i, nil
}

// whyNone says why an import that has left out no operation for a fault has no definitions.
func whyNone(got *openapi.API, opt openapi.Options) string {
	deprecated := slices.ContainsFunc(got.Notes, func(note toolformat.Note) bool { return note.Rule == openapi.RuleDeprecated })
	filtered := len(opt.Tags)+len(opt.Include)+len(opt.Exclude) > 0
	switch {
	case deprecated && filtered:
		return `tags, include and exclude filter out all that are not deprecated ("deprecated": true includes the others)`
	case deprecated:
		return `all are deprecated ("deprecated": true includes them)`
	case filtered:
		return "tags, include and exclude filter out all"
	}
	return "it has none"
}

// setByConfig returns the names of the headers, cookies and query parameters that the config of an
// API sets.
func setByConfig(api json.RawMessage, at string) (names []string) {
	if auth := wire.Lookup(api, "auth"); auth != nil {
		name, _ := wire.Text(wire.Lookup(auth, "header", "name"))
		names = append(names, cmp.Or(name, "Authorization"))
	}
	for name, value := range wire.Members(wire.Lookup(api, "headers")) {
		names = append(names, name)
		if strings.EqualFold(name, "Cookie") {
			cookies, _ := wire.Text(value)
			for cookie := range strings.SplitSeq(cookies, ";") {
				name, _, _ := strings.Cut(strings.TrimSpace(cookie), "=")
				names = append(names, name)
			}
		}
	}
	if u, err := url.Parse(at); err == nil {
		names = append(names, slices.Collect(maps.Keys(u.Query()))...)
	}
	return names
}

// ofOperation returns the text of a note, which begins with its operation.
func ofOperation(note toolformat.Note) string {
	if note.Tool != "" {
		note.Tool = "operation " + note.Tool
	}
	return note.String()
}

func (n *nativeLoader) addImported(i imported) {
	kind := n.kind(i.api.Type)
	if _, err := n.backend(kind, i.api); err != nil { // report it once, not for each operation
		n.fault("%v", err)
		return
	}
	for _, d := range i.definitions {
		notes, err := n.make(d.Tool, kind, i.api, d.Spec)
		if err != nil {
			n.fault("%s: operation %s: %v", i.where, d.Tool.Name, err)
		}
		for _, note := range notes {
			note.Tool = d.Tool.Name
			n.warnings = append(n.warnings, i.where+": "+ofOperation(note))
		}
	}
}
