package bridge

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// hiddenContext is what a tool is given and no caller sees.
type hiddenContext struct {
	tool   string
	names  []string            // as the definition has them
	schema json.RawMessage     // the tool's own, in which they stand
	check  *toolformat.Checker // of it
}

// hide takes the context fields of a tool out of its schema; nil when it has none.
func hide(t *Tool) (*hiddenContext, error) {
	if len(t.Context) == 0 {
		return nil, nil
	}
	h := &hiddenContext{tool: t.Name, names: slices.Clone(t.Context), schema: t.inputSchema()}
	visible, err := toolformat.HideProperties(h.schema, h.names)
	if err != nil {
		return nil, fmt.Errorf("bridge: tool %s: input schema: %w", t.Name, err)
	}
	if h.check, _, err = toolformat.NewChecker(h.schema); err != nil {
		return nil, fmt.Errorf("bridge: tool %s: input schema: %w", t.Name, err)
	}
	t.InputSchema, t.Extra = visible, nil // what it came in shows them
	return h, nil
}

// strip takes out of the arguments what only the context may say.
func (h *hiddenContext) strip(arguments json.RawMessage) json.RawMessage {
	none := make(map[string]json.RawMessage, len(h.names))
	for _, name := range h.names {
		none[name] = nil
	}
	if stripped, err := toolformat.SetProperties(arguments, nil, none); err == nil {
		return stripped
	}
	return arguments // not JSON, or nothing: the check says so
}

// fill puts the hidden values in, or says which is missing; they themselves are never
// told.
func (h *hiddenContext) fill(arguments json.RawMessage, value func(name string) (json.RawMessage, bool)) (json.RawMessage, *toolformat.Result) {
	values := make(map[string]json.RawMessage, len(h.names))
	for _, name := range h.names {
		v, ok := value(name)
		if !ok {
			return nil, toolformat.TextResult("Missing context field: "+name, true) // the words of Acorn's ToolsBackend
		}
		values[name] = v
	}
	filled, err := toolformat.SetProperties(arguments, h.schema, values)
	if err == nil {
		filled, err = h.check.Arguments(h.tool, filled)
	}
	if err != nil {
		return nil, toolformat.TextResult("Invalid context field: "+strings.Join(h.wrong(err), ", "), true)
	}
	return filled, nil
}

// wrong are the context fields that a check complains of, or all when that cannot be
// told.
func (h *hiddenContext) wrong(err error) []string {
	var check *toolformat.CheckError
	var names []string
	if errors.As(err, &check) {
		for _, name := range h.names {
			if slices.ContainsFunc(check.Faults, func(n toolformat.Note) bool {
				first, _, _ := strings.Cut(strings.TrimPrefix(n.Path, "/"), "/")
				return strings.EqualFold(first, name)
			}) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return h.names
	}
	return names
}

// contextValue is a hidden value: the caller's, else one for all callers. The two that Acorn always has are made here
// where the caller brings none: the id of the request, and how many calls of it came
// before (ToolsBackend, requestid and invocationid).
func (s *nativeSession) contextValue(name string) (json.RawMessage, bool) {
	for _, source := range []func(string) ([]byte, bool){s.caller.Context, s.native.opts.Context} {
		if source != nil {
			if value, ok := source(name); ok {
				return value, true
			}
		}
	}
	switch strings.ToLower(name) {
	case "requestid":
		return json.RawMessage(`"` + rand.Text() + `"`), true
	case "invocationid":
		return json.RawMessage("0"), true
	}
	return nil, false
}
