package rest

import (
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The rules of a tool's notes.
const (
	rulePlaceholder = "placeholder" // it is no property, or one that a call need not have
	ruleUnused      = "unused"      // no request ever holds the property
)

// notes say what is legal in a definition, and most likely not meant.
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
			n.Say("/rest", rulePlaceholder, "the placeholder {%s} is no property%s%s", name, native.Suggest("{%s}", name, n.Properties), fate(inPath[name]))
		case inPath[name] && n.MayLack(name):
			n.SayOf(name, rulePlaceholder, "%s is in the path and not required: a call without it fails", name)
		}
	}
	if t.body != bodyNone && t.payload == "" {
		return n.All
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if !t.used[name] {
			n.SayOf(name, ruleUnused, "%s has no place in the request and is ignored: %s", name, t.whyUnused())
		}
	}
	return n.All
}

func fate(inPath bool) string {
	if inPath {
		return "; a call fails without it"
	}
	return "; it is left out of each request"
}

func (t *tool) whyUnused() string {
	if t.payload != "" {
		return "the body is {" + t.payload + "}"
	}
	return "a " + t.method + " has no body" + map[bool]string{true: ", as its spec says"}[t.method != "GET" && t.method != "HEAD"]
}
