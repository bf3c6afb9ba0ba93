package rest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The rules of a tool's notes.
const (
	rulePlaceholder = "placeholder" // it is no property, or one that a call need not have
	ruleUnused      = "unused"      // no request ever holds the property
)

// notes say what is legal in a definition, and most likely not meant.
func (t *tool) notes(definition toolformat.Tool) []toolformat.Note {
	var notes []toolformat.Note
	properties := map[string]bool{} // name: has a default
	for name, schema := range wire.Members(wire.Lookup(definition.InputSchema, "properties")) {
		properties[name] = wire.Lookup(schema, "default") != nil
	}
	required := map[string]bool{}
	for raw := range wire.Elements(wire.Lookup(definition.InputSchema, "required")) {
		name, _ := wire.Text(raw)
		required[name] = true
	}
	say := func(path, rule, format string, args ...any) {
		notes = append(notes, toolformat.Note{Tool: definition.Name, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
	}
	inPath := map[string]bool{}
	for _, segment := range t.path {
		for _, name := range segment.names() {
			inPath[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.used)) {
		hasDefault, known := properties[name]
		switch {
		case !known:
			say("/rest", rulePlaceholder, "the placeholder {%s} is no property%s%s", name, nearest(name, properties), fate(inPath[name]))
		case inPath[name] && !required[name] && !hasDefault:
			say("/input_schema/properties/"+name, rulePlaceholder, "%s is in the path and not required: a call without it fails", name)
		}
	}
	if t.body != bodyNone && t.payload == "" {
		return notes
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !t.used[name] {
			say("/input_schema/properties/"+name, ruleUnused, "%s has no place in the request and is ignored: %s", name, t.whyUnused())
		}
	}
	return notes
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

// nearest suggests a property of nearly the same name.
func nearest(name string, properties map[string]bool) string {
	best, least := "", 3
	for _, other := range slices.Sorted(maps.Keys(properties)) {
		if d := distance(name, other); d < least {
			best, least = other, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean {%s}?)", best)
}

// distance is how many bytes must be added, left out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
