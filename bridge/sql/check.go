package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// mayRun refuses a statement that a tool may not run.
func (s *statement) mayRun(write bool) error {
	reads := s.dialect.reads()
	switch {
	case slices.Contains(reads, s.verb) && (write || !s.files):
		return nil
	case s.files && !write:
		return errors.New(`query: it writes a file on the server: to allow it, set "write": true in the tool and in its api`)
	case !slices.Contains(writes, s.verb):
		return fmt.Errorf("query: a tool cannot run %s: expected %s, %s", native.Shorten(s.verb), strings.Join(reads, ", "), strings.Join(writes, ", "))
	case !write:
		return fmt.Errorf(`query: %s writes: to allow it, set "write": true in the tool and in its api; otherwise expected %s`, s.verb, strings.Join(reads, ", "))
	}
	return nil
}

// The rules of a tool's notes.
const (
	ruleUnused    = "unused-property"
	ruleEmptyList = "empty-list"
)

// compare compares the parameters of a statement with the properties of its tool.
func compare(st *statement, definition toolformat.Tool) ([]toolformat.Note, error) {
	n := native.NewNotes(definition)
	for _, name := range st.names {
		if _, known := n.Properties[name]; !known {
			return nil, fmt.Errorf("query: :%s is not a property of the input schema%s", name, native.Suggest(":%s", name, n.Properties))
		}
	}
	for _, name := range n.Names() {
		if !slices.Contains(st.names, name) {
			n.AddProperty(name, ruleUnused, "the query has no :%s, so that this argument has no effect", name)
		}
		if st.excludes(name) && mayBeEmptyList(n.Properties[name]) {
			n.AddProperty(name, ruleEmptyList, `an empty list makes NOT IN (:%s) match nothing; "minItems": 1 refuses it`, name)
		}
	}
	return n.All, nil
}

// excludes reports whether a parameter is in NOT IN (…).
func (s *statement) excludes(name string) bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.negate && s.names[p.param] == name })
}

func mayBeEmptyList(schema []byte) bool {
	kind, _ := wire.Text(wire.Lookup(schema, "type"))
	least := string(wire.Lookup(schema, "minItems"))
	return kind == "array" && (least == "" || least == "0")
}
