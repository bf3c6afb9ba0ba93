package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
)

// A request is the body of a request.
type request struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"` // a string or an array of items
	Instructions string          `json:"instructions"`
	Tools        json.RawMessage `json:"tools"`
	Choice       json.RawMessage `json:"tool_choice"`
	Stream       bool            `json:"stream"`
	Store        *bool           `json:"store"`
	Previous     string          `json:"previous_response_id"`
	parameters

	id         string                           // of the response
	kept       func(id string) json.RawMessage  // returns an item of an earlier response, or nil
	named      func(server, tool string) string // returns the name that models have for a server's tool
	system     string                           // the instructions
	said       string                           // what messages of the system and of developers say, those that this request continues included
	messages   []providers.Message
	set        *providers.ToolSet   // of the client's own tools
	texts      map[string]bool      // those of its tools that take a text (custom tools)
	namespaces map[string][2]string // the namespaces of its functions, and their names there
	choice     providers.Choice
	only       []providers.Selection      // the tools that may be called; nil means all
	selection  []providers.Selection      // the tools of the bridge that are offered; nil means all
	servers    map[string]bool            // the members of selection
	must       *providers.Selection       // those of which one must be called; nil means that none must
	listed     map[string]bool            // the servers whose tools the input, an earlier response or this one lists
	rest       map[string]json.RawMessage // the members that are not mapped
}

// readRequest parses a body. The error names the path of what is invalid.
func readRequest(body []byte, kept func(string) json.RawMessage, named func(string, string) string) (*request, error) {
	r := request{kept: kept, named: named, listed: map[string]bool{}, servers: map[string]bool{}}
	var err error
	if r.rest, err = endpoint.Read(body, &r, parameter.Parameters(all).Mapped()); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, fmt.Errorf("model: expected one of /v1/models")
	case !endpoint.IsCount(r.MaxTokens):
		return nil, fmt.Errorf("max_output_tokens: expected a whole number above 0")
	}
	if err := r.readTools(); err != nil {
		return nil, err
	}
	for server := range wire.Elements(kept(listedBy(r.Previous))) {
		r.listed[rawjson.TextOf(server)] = true
	}
	r.system = r.Instructions
	r.said, _ = wire.Text(kept(saidBefore(r.Previous)))
	if err := r.readInput(); err != nil {
		return nil, err
	}
	if err := r.readChoice(); err != nil {
		return nil, err
	}
	return &r, r.parameters.validate()
}

// keep returns the id under which the conversation is kept; "" if the client does not ask for that.
func (r *request) keep() string {
	if r.Store != nil && *r.Store {
		return r.id
	}
	return ""
}

// readInput makes the conversation. A system prompt alone becomes the message of the user, without which
// most APIs refuse a request.
func (r *request) readInput() error {
	if text, isText := wire.Text(r.Input); !isText {
		err := member.Elements("input", "a string or an array of items", r.Input, func(_ int, raw []byte) error { return r.add(raw) })
		if err != nil {
			return err
		}
	} else if text != "" {
		r.messages = []providers.Message{providers.UserText(text)}
		return nil
	}
	if len(r.messages) == 0 && r.Previous == "" {
		prompt := r.prompt()
		if prompt == "" {
			return fmt.Errorf("input: expected a message with content")
		}
		r.messages = []providers.Message{providers.UserText(prompt)}
		r.system, r.said = "", ""
	}
	return nil
}

// prompt returns the system prompt.
func (r *request) prompt() string { return joined(r.system, r.said) }

// say adds what a message of the system says, unless that was said: some clients repeat it in each request.
func (r *request) say(text string) {
	const between = "\n\n"
	if !strings.Contains(between+r.said+between, between+text+between) {
		r.said = joined(r.said, text)
	}
}

// joined returns two texts, each of which may be empty, as one.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// readChoice reads tool_choice: a word, the tool that must be called, or those that may be.
func (r *request) readChoice() error {
	if rawjson.IsNull(r.Choice) {
		return nil
	}
	if word, isWord := wire.Text(r.Choice); isWord {
		return r.chooseMode("tool_choice", word)
	}
	switch kind := rawjson.TextAt(r.Choice, "type"); kind {
	case "function", "custom":
		name := inNamespace(rawjson.TextAt(r.Choice, "namespace"), rawjson.TextAt(r.Choice, "name"))
		if name == "" {
			return fmt.Errorf("tool_choice.name: expected the name of a tool")
		}
		r.choice = providers.Choice(name)
		return nil
	case "allowed_tools":
		return r.readAllowed()
	case "mcp":
		return r.mustCall(rawjson.TextAt(r.Choice, "server_label"), rawjson.TextAt(r.Choice, "name"))
	default:
		return fmt.Errorf("tool_choice.type: %.40q is not supported: expected function, custom, mcp or allowed_tools", kind)
	}
}

// readAllowed reads the tools that may be called, and the choice among them. Tools that are left out are not called
// anyway.
func (r *request) readAllowed() error {
	r.only = []providers.Selection{}
	err := member.Elements("tools", "an array", wire.Lookup(r.Choice, "tools"), func(_ int, tool []byte) error {
		kind, name, one := rawjson.TextAt(tool, "type"), rawjson.TextAt(tool, "name"), providers.Selection{From: "tool_choice"}
		switch {
		case slices.Contains(hosted, kind):
			return nil
		case kind == "mcp":
			one.Member = rawjson.TextAt(tool, "server_label")
			if err := r.selects(one.Member); err != nil {
				return err
			}
		case kind != "function" && kind != "custom":
			return fmt.Errorf("type: expected function, custom or mcp, got %.40q", kind)
		case name == "":
			return fmt.Errorf("name: expected the name of a tool")
		}
		if name != "" {
			one.Match = endpoint.Literal([]string{inNamespace(rawjson.TextAt(tool, "namespace"), name)})
		}
		r.only = append(r.only, one)
		return nil
	})
	if err != nil {
		return member.In("tool_choice", err)
	}
	return r.chooseMode("tool_choice.mode", rawjson.TextAt(r.Choice, "mode"))
}

// chooseMode sets the choice that a word names. member is its place, for the error.
func (r *request) chooseMode(member, word string) error {
	switch word {
	case "auto":
	case "none":
		r.choice = providers.ChoiceNone
	case "required":
		r.choice = providers.ChoiceRequired
	default:
		return fmt.Errorf("%s: expected none, auto or required, got %.40q", member, word)
	}
	return nil
}
