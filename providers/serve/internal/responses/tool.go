package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// hosted are the tools that the vendor runs and that clients such as Codex offer with every request. They are left
// out: no model calls a tool that it does not see.
var hosted = []string{"web_search", "web_search_preview", "image_generation", "tool_search"}

// readTools reads the client's own tools.
func (r *request) readTools() error {
	if rawjson.IsNull(r.Tools) {
		return nil
	}
	r.texts, r.namespaces = map[string]bool{}, map[string][2]string{}
	var functions [][]byte
	err := member.Elements("tools", "an array", r.Tools, func(at int, tool []byte) error {
		more, err := r.readTool(at, tool)
		functions = append(functions, more...)
		return err
	})
	if err != nil {
		return err
	}
	r.set, err = endpoint.ReadTools(rawjson.Array(functions), toolformat.FormatOpenAIResponses)
	return err
}

// readTool returns the functions for a tool: custom tools take a text and become functions with one argument, and
// the names of those in a namespace begin with its name.
func (r *request) readTool(at int, tool []byte) ([][]byte, error) {
	kind, name := rawjson.TextAt(tool, "type"), rawjson.TextAt(tool, "name")
	if name == "" && (kind == "custom" || kind == "namespace") {
		return nil, fmt.Errorf("name: expected the name of a tool")
	}
	switch {
	case kind == "function":
		return [][]byte{tool}, nil
	case kind == "custom":
		r.texts[name] = true
		return [][]byte{asFunction(tool)}, nil
	case kind == "namespace":
		return r.readNamespace(name, wire.Lookup(tool, "tools"))
	case kind == "mcp":
		return nil, r.addServer(at, tool)
	case slices.Contains(hosted, kind):
		return nil, nil
	}
	return nil, fmt.Errorf("type: expected function, custom or namespace, got %.40q", kind)
}

// readNamespace returns the functions for the tools of a namespace.
func (r *request) readNamespace(namespace string, tools json.RawMessage) (functions [][]byte, err error) {
	err = member.Elements("tools", "an array", tools, func(at int, tool []byte) error {
		if kind := rawjson.TextAt(tool, "type"); kind != "function" && kind != "custom" {
			return fmt.Errorf("type: expected function or custom, got %.40q", kind)
		}
		name := rawjson.TextAt(tool, "name")
		if name == "" {
			return fmt.Errorf("name: expected the name of a tool")
		}
		full := inNamespace(namespace, name)
		r.namespaces[full] = [2]string{namespace, name}
		more, err := r.readTool(at, wire.SetMember(tool, "name", wire.AppendString(nil, full)))
		functions = append(functions, more...)
		return err
	})
	return functions, err
}

// inNamespace returns the name of the function for a tool of a namespace, which may be "".
func inNamespace(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

// asFunction returns the function for a custom tool.
func asFunction(tool []byte) []byte {
	description := rawjson.TextAt(tool, "description")
	if grammar := rawjson.TextAt(tool, "format", "definition"); grammar != "" {
		description += "\n\nThe input follows this " + rawjson.TextAt(tool, "format", "syntax") + " grammar:\n" + grammar
	}
	b := rawjson.Text([]byte(`{"type":"function"`), "name", rawjson.TextAt(tool, "name"))
	b = rawjson.Text(b, "description", description)
	return append(rawjson.Raw(b, "parameters", `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`), '}')
}

// textArguments returns the arguments of the function for a custom tool.
func textArguments(input string) json.RawMessage {
	return append(rawjson.Text([]byte("{"), "input", input), '}')
}
