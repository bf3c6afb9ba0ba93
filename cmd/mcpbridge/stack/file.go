package stack

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge/openapi"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// readFiles reads the definitions of the files that match a pattern.
func (n *nativeLoader) readFiles(d config.Definitions) {
	pattern := d.Files
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(n.cfg.Dir, pattern)
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		n.fault("%s:%d: no file matches %s", n.cfg.Path, d.Line, d.Files)
	}
	for _, name := range files {
		data, err := file.ReadRegular(name, maxFile)
		name = n.short(name)
		if err != nil {
			n.fault("%s:%d: %s: %v", n.cfg.Path, d.Line, name, err)
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
		n.fault("%s:%v", where, err)
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
	from := 0 // the end of the definition before
	for _, t := range reading.Tools {
		at := where
		if offset := bytes.Index(data[from:], t.Extra); isFile && offset >= 0 {
			at = fmt.Sprintf("%s:%d", where, 1+bytes.Count(data[:from+offset], []byte("\n")))
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
			n.fault("%s:%d: api %s: %v", n.cfg.Path, api.Line, api.Name, err)
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
	i = imported{api: api, where: fmt.Sprintf("%s:%d", n.cfg.Path, api.Line)}
	if document == nil {
		i.where = n.short(api.Import.File)
		if document, err = file.ReadRegular(api.Import.File, maxFile); err != nil {
			return i, fmt.Errorf("%s: %w", i.where, err)
		}
	}
	opt.URL, _ = wire.Text(wire.Lookup(api.Config, "url"))
	opt.Secured = wire.Lookup(api.Config, "auth") != nil || wire.Lookup(api.Config, "headers") != nil || strings.Contains(opt.URL, "?")
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
		if note.Rule == openapi.RuleRenamed { // nothing is lost
			n.log.Info(text)
		} else {
			n.warnings = append(n.warnings, text)
		}
	}
	if len(got.Definitions)+len(got.LeftOut) == 0 {
		n.warnings = append(n.warnings, i.where+": no operation of the document is a tool: tags, include and exclude filter out all")
	}
	api.Type = rest.Kind.Name
	api.Config = wire.SetMember(api.Config, "type", wire.AppendString(nil, api.Type))
	api.Config = wire.SetMember(api.Config, "url", wire.AppendString(nil, got.URL))
	i.definitions = got.Definitions
	return i, nil
}

// ofOperation returns the text of a note, which begins with its operation.
func ofOperation(note toolformat.Note) string {
	if note.Tool != "" {
		note.Tool = "operation " + note.Tool
	}
	return note.String()
}

// addImported adds the tools of a document.
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
