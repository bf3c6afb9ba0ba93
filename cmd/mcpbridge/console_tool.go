package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/findings"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// consoleTool is how a tool looks in each format, and fares with each provider.
type consoleTool struct {
	Formats  []consoleFormat  `json:"formats"`
	Verdicts []consoleVerdict `json:"verdicts"`
	Hints    []lintNoteJSON   `json:"hints"` // on what the definition says
}

// consoleFormat is a definition in one format.
type consoleFormat struct {
	Format     toolformat.Format `json:"format"`
	Definition json.RawMessage   `json:"definition,omitempty"` // none if the format cannot express the tool
	Notes      []lintNoteJSON    `json:"notes"`
}

// consoleVerdict is what becomes of a tool with providers that treat it alike.
type consoleVerdict struct {
	Providers []string       `json:"providers"`
	Status    string         `json:"status"`
	Name      string         `json:"name"`
	Tokens    []int          `json:"tokens"` // of each provider
	Notes     []lintNoteJSON `json:"notes"`
}

// tool describes a tool of the operator.
func (c *ownConsole) tool(r *http.Request) (any, error) {
	list, err := c.live.own.List(r.Context(), bridge.Tools)
	if list == nil {
		return nil, err
	}
	tools, name := toolsOf(list), r.FormValue("name")
	at := slices.IndexFunc(tools, func(t toolformat.Tool) bool { return t.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("no tool %.100q is listed", name)
	}
	one := tools[at : at+1]
	t := consoleTool{Hints: notesOf(slices.Concat(findings.Of(&one[0]), findings.Across(tools)[at]), name)}
	for _, format := range toolformat.Formats() {
		set, err := toolformat.Encode(one, format, toolformat.Options{})
		if err != nil {
			return nil, err
		}
		own := consoleFormat{Format: format}
		if len(set.Tools) > 0 {
			own.Definition, own.Notes = set.Tools[0].JSON, notesOf(set.Tools[0].Notes, name)
		} else if len(set.Faults) > 0 {
			own.Notes = notesOf(set.Faults[0].Notes, name)
		}
		t.Formats = append(t.Formats, own)
	}
	t.Verdicts, err = verdictsOf(one)
	return t, err
}

func notesOf(notes []toolformat.Note, tool string) []lintNoteJSON {
	return append([]lintNoteJSON{}, lintNotesJSON(notes, tool)...)
}

// verdictsOf groups the providers that treat one tool alike.
func verdictsOf(one []toolformat.Tool) (all []consoleVerdict, err error) {
	names, formats, err := lintTargets(nil)
	if err != nil {
		return nil, err
	}
	report, err := toolformat.Lint(one, formats)
	if err != nil {
		return nil, err
	}
	verdicts := report.Tools[0].Verdicts
	for _, group := range alike(verdicts) {
		first := verdicts[group[0]]
		v := consoleVerdict{Status: first.Status.String(), Name: first.Name, Notes: notesOf(first.Notes, one[0].Name)}
		for _, i := range group {
			v.Providers, v.Tokens = append(v.Providers, names[i]), append(v.Tokens, verdicts[i].Tokens)
		}
		all = append(all, v)
	}
	return all, nil
}

// consoleModels are the language models of the config.
type consoleModels struct {
	Models  []string          `json:"models"`            // each as PROVIDER/MODEL
	Default string            `json:"default,omitempty"` // that answers unless another one is chosen
	Fault   string            `json:"fault,omitempty"`   // why there is no default one
	Faults  map[string]string `json:"faults"`            // providers that cannot be used, and why
}

func (c *ownConsole) models(*http.Request) (any, error) {
	models := c.live.Live.Stack().Models()
	m := consoleModels{Models: append([]string{}, models.IDs()...), Faults: map[string]string{}}
	for name, err := range models.Faults() {
		m.Faults[name] = err.Error()
	}
	chosen, err := models.Choose(stack.Choice{}, true)
	if err != nil {
		m.Fault = err.Error()
	} else {
		m.Default = chosen.Name + "/" + chosen.Model
	}
	return m, nil
}
