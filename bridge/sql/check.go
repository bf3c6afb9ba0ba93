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

// A dialect is the SQL of a database system: its lexical rules and its placeholders.
type dialect uint8

const (
	sqliteDialect dialect = iota
	postgresDialect
	mysqlDialect // also MariaDB
)

func (d dialect) String() string { return [...]string{"SQLite", "PostgreSQL", "MySQL"}[d] }

// reads returns the statements that a tool may run that must not write. The database enforces that
// they do not write; this check shows a mistake before the first call.
func (d dialect) reads() []string {
	switch d {
	case postgresDialect:
		return []string{"SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN"}
	case mysqlDialect:
		return []string{"SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC"}
	}
	return []string{"SELECT", "VALUES", "EXPLAIN"}
}

// writes are the other statements that a tool may run. Statements that begin a transaction, change
// a setting or leave the database are not among them, since another tool uses the connection next.
var writes = []string{"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "CALL", "CREATE", "ALTER", "DROP", "TRUNCATE", "REFRESH"}

// check refuses a statement that a tool or its API may not run.
func (b *backend) check(st *statement, spec Spec) error {
	reads := st.dialect.reads()
	switch {
	case spec.MaxRows < 0:
		return fmt.Errorf("maxRows: expected a number above 0, got %d", spec.MaxRows)
	case spec.Write && !b.api.Write:
		return fmt.Errorf(`write: the api %s does not allow it: set "write": true there as well`, b.name)
	case st.files && !spec.Write:
		return errors.New(`query: it writes a file on the server: to allow it, set "write": true in the tool and in its api`)
	case slices.Contains(reads, st.verb):
		return nil
	case !slices.Contains(writes, st.verb):
		return fmt.Errorf("query: a tool cannot run %s: expected %s, %s", native.Shorten(st.verb), strings.Join(reads, ", "), strings.Join(writes, ", "))
	case !spec.Write:
		return fmt.Errorf(`query: %s writes: to allow it, set "write": true in the tool and in its api; otherwise expected %s`, st.verb, strings.Join(reads, ", "))
	}
	return nil
}

// The rules of a tool's notes.
const (
	ruleUnused    = "unused-property"
	ruleEmptyList = "empty-list"
	ruleUntyped   = "untyped"
)

// compare compares the parameters of a statement with the properties of its tool.
func compare(st *statement, n *native.Notes) ([]toolformat.Note, error) {
	for _, name := range st.names {
		if !n.Known(name) {
			return nil, fmt.Errorf("query: :%s is not a property of the input schema%s", name, native.Suggest(":%s", name, n.Properties))
		}
	}
	for _, name := range n.Names() {
		if !slices.Contains(st.names, name) {
			n.AddProperty(name, ruleUnused, "the query has no :%s, so that this argument has no effect", name)
		}
		if st.dialect == mysqlDialect && slices.Contains(st.names, name) && isUntyped(n.Properties[name]) && !n.IsHidden(name) {
			n.AddProperty(name, ruleUntyped, `%s may be of any type, and MySQL finds that the number 0 equals any text that begins with no digit: add a "type"`, name)
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

// isUntyped reports whether a schema does not say of which type a value is.
func isUntyped(schema []byte) bool {
	keywords := []string{"type", "$ref", "enum", "const", "allOf", "anyOf", "oneOf"}
	return !slices.ContainsFunc(keywords, func(keyword string) bool { return wire.Lookup(schema, keyword) != nil })
}

func mayBeEmptyList(schema []byte) bool {
	kind, _ := wire.Text(wire.Lookup(schema, "type"))
	least := string(wire.Lookup(schema, "minItems"))
	return kind == "array" && (least == "" || least == "0")
}
