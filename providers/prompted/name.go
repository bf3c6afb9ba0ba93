package prompted

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An offer is the tools that a model may call.
type offer struct {
	tools *providers.ToolSet // may be nil
	set   *toolformat.Set

	byLetters map[string]string // the own names of tools by their letters, made when it is needed
}

func toolsOf(req *providers.Request) offer {
	o := offer{tools: req.Tools}
	if req.Choice == providers.ChoiceNone {
		o.tools = nil
	}
	o.set = o.tools.Encoded(format)
	return o
}

// namespaces are what models put before the name of a tool: functions.get_weather.
var namespaces = []string{"functions", "function", "tools", "tool", "default_api", "api"}

// resolve returns the own name of the tool that a word means: the tool's own name or the
// format's, in a namespace, with a number behind it as Kimi writes it, or the one tool that
// differs only in letter case and separators.
func (o *offer) resolve(word string) (own string, ok bool) {
	if own, ok = o.find(word); ok {
		return own, true
	}
	if space, name, found := strings.Cut(word, "."); found && slices.Contains(namespaces, space) {
		word = name
	}
	if name, number, found := strings.Cut(word, ":"); found && strings.Trim(number, "0123456789") == "" {
		word = name
	}
	if own, ok = o.find(word); ok {
		return own, true
	}
	return o.nearest(word)
}

// find returns a tool's own name for that name or the format's.
func (o offer) find(name string) (own string, ok bool) {
	c, ok := o.set.Find(name)
	if !ok && o.tools.Find(name) != nil {
		c, ok = o.set.Find(o.tools.WireName(format, name))
	}
	if !ok {
		return "", false
	}
	return c.Tool.Name, true
}

// nearest returns the one tool whose name is a word but for letter case and separators.
func (o *offer) nearest(word string) (own string, ok bool) {
	if o.byLetters == nil {
		o.byLetters = make(map[string]string, len(o.set.Tools))
		for i := range o.set.Tools {
			c := &o.set.Tools[i]
			o.addLetters(c.Name, c.Tool.Name)
			o.addLetters(c.Tool.Name, c.Tool.Name)
		}
	}
	own = o.byLetters[letters(word)]
	return own, own != ""
}

// addLetters adds a spelling of a tool's name. Of two tools with the same letters none is nearest.
func (o *offer) addLetters(name, own string) {
	bare := letters(name)
	if other, taken := o.byLetters[bare]; taken && other != own || bare == "" {
		own = ""
	}
	o.byLetters[bare] = own
}

// letters returns a name in lower case and without separators.
func letters(name string) string {
	return separators.Replace(strings.ToLower(name))
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// mayName reports whether a word in a form can be the name of a tool that the model believes to
// have. A call of it is answered with the tools that exist. Behind a call in a form without an
// end there may be prose.
func (s *scanner) mayName(word string) bool {
	if s.mode == afterCall && s.forms[len(s.forms)-1].ends == nil {
		return false
	}
	isOther := func(c rune) bool { return c <= ' ' || c > '~' }
	return len(s.set.Tools) > 0 && word != "" && len(word) <= maxName && !strings.ContainsFunc(word, isOther)
}

// types returns the types that the schema of a tool's property names.
func (o offer) types(own, key string) []string {
	c, ok := o.set.Find(o.tools.WireName(format, own))
	if !ok {
		return nil
	}
	return typesOf(nil, wire.Lookup(c.JSON, "function", "parameters", "properties", key))
}

// mayBe reports whether a property of some types, which may be a string, may as well be a value that is written as JSON.
func mayBe(types []string, value []byte) bool {
	value = bytes.TrimSpace(value)
	return slices.Contains(types, "string") && json.Valid(value) &&
		slices.ContainsFunc(jsonTypes(value), func(kind string) bool { return slices.Contains(types, kind) })
}

// jsonTypes returns the types of a value of JSON that is not a string.
func jsonTypes(value []byte) []string {
	switch c := value[0]; {
	case c == '{':
		return []string{"object"}
	case c == '[':
		return []string{"array"}
	case c == 'n':
		return []string{"null"}
	case c == 't', c == 'f':
		return []string{"boolean"}
	case c == '"':
		return nil
	case bytes.ContainsAny(value, ".eE"):
		return []string{"number"}
	}
	return []string{"number", "integer"}
}

// typesOf appends the types that a schema names.
func typesOf(types []string, schema json.RawMessage) []string {
	kinds := wire.Lookup(schema, "type")
	if kind, ok := wire.Text(kinds); ok {
		types = append(types, kind)
	}
	for kind := range wire.Elements(kinds) {
		text, _ := wire.Text(kind)
		types = append(types, text)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for branch := range wire.Elements(wire.Lookup(schema, keyword)) {
			types = typesOf(types, branch)
		}
	}
	return types
}

// properties returns the properties of a tool's arguments, in the order of its schema.
func (o offer) properties(own string) []string {
	c, ok := o.set.Find(o.tools.WireName(format, own))
	if !ok {
		return nil
	}
	var names []string
	for name := range wire.Members(wire.Lookup(c.JSON, "function", "parameters", "properties")) {
		names = append(names, name)
	}
	return names
}
