package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// context are the arguments of a tool that no model sees: those of its own list, and
// those that the config has a value for. It warns of one that is no property.
func (n *natives) context(t toolformat.Tool) (names []string, notes []toolformat.Note) {
	var properties []string
	for name := range wire.Members(wire.Lookup(t.InputSchema, "properties")) {
		properties = append(properties, name)
	}
	isProperty := func(name string) bool {
		return slices.ContainsFunc(properties, func(p string) bool { return strings.EqualFold(p, name) })
	}
	for raw := range wire.Elements(wire.Lookup(t.Extra, "context")) {
		name, _ := wire.Text(raw)
		if !isProperty(name) {
			notes = append(notes, toolformat.Note{Path: "/context", Rule: "context", Text: fmt.Sprintf("%s is no property of the tool", quoteShort(name))})
		}
		names = append(names, name)
	}
	for _, property := range properties {
		_, global := n.cfg.Context[strings.ToLower(property)]
		if global && !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, property) }) {
			names = append(names, property)
		}
	}
	return names, notes
}

// contextValue is a hidden value that is the same for all callers.
func (c *Config) contextValue(name string) ([]byte, bool) {
	field := c.Context[strings.ToLower(name)]
	if field.Env != "" {
		value, set := os.LookupEnv(field.Env)
		return wire.AppendString(nil, value), set
	}
	return field.Value, field.Value != nil
}

// contextHeaders are the headers in which callers bring hidden values, by their names.
func (c *Config) contextHeaders() map[string]string {
	headers := map[string]string{}
	for name, field := range c.Context {
		if field.Header != "" {
			headers[name] = field.Header
		}
	}
	return headers
}

// contextSessions are the hidden values that a session brings.
func (c *Config) contextSessions() []string {
	var names []string
	for name, field := range c.Context {
		if field.Session {
			names = append(names, name)
		}
	}
	return names
}

// setContext takes hidden values of the command line, NAME=VALUE each.
func (c *Config) setContext(pairs []string) {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if c.Context == nil {
			c.Context = map[string]ContextField{}
		}
		c.Context[strings.ToLower(name)] = ContextField{Value: wire.AppendString(nil, value)}
	}
}
