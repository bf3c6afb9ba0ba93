package stack

import (
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/openapi"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

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
		if document, err = readFile(api.Import.File); err != nil {
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
