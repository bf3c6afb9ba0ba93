package rest

import (
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The rules of a tool's notes.
const (
	rulePlaceholder = "placeholder" // a placeholder is not a property, or an optional one in the path
	ruleUnused      = "unused"      // no request ever contains the property
)

// notes lists what is legal in a definition and probably a mistake.
func (t *tool) notes(definition toolformat.Tool) []toolformat.Note {
	n := native.NewNotes(definition)
	inPath := map[string]bool{}
	for _, segment := range t.path {
		for _, name := range segment.names() {
			inPath[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.used)) {
		switch _, known := n.Properties[name]; {
		case !known:
			effect := "it is omitted from every request"
			if inPath[name] {
				effect = "every call fails without it"
			}
			n.Add("/rest", rulePlaceholder, "the placeholder {%s} is not a property%s; %s", name, native.Suggest("{%s}", name, n.Properties), effect)
		case inPath[name] && n.IsOptional(name):
			n.AddProperty(name, rulePlaceholder, "%s is in the path and not required: a call without it fails", name)
		}
	}
	if t.body != bodyNone && t.payload == "" {
		return n.All
	}
	for _, name := range n.Names() {
		if !t.used[name] {
			n.AddProperty(name, ruleUnused, "%s is ignored, as the request has no place for it: %s", name, t.whyUnused())
		}
	}
	return n.All
}

func (t *tool) whyUnused() string {
	switch {
	case t.payload != "":
		return "the body is {" + t.payload + "}"
	case t.method == "GET" || t.method == "HEAD":
		return "a " + t.method + " has no body"
	}
	return "its body is none"
}
