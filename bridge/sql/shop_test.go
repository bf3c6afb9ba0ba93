package sql

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The variables with the URLs of the servers under test; .ci/databases starts them.
const (
	postgresVariable = "MCPBRIDGE_TEST_POSTGRES"
	mysqlVariable    = "MCPBRIDGE_TEST_MYSQL"
)

// A shop is a database under test.
type shop struct {
	testing.TB
	bridge.Backend
	dialect dialect
	log     *bytes.Buffer // what the backend logs
}

// onEach runs a test on each database system that is available.
func onEach(t *testing.T, test func(t *testing.T, s *shop)) {
	for _, d := range []dialect{sqliteDialect, postgresDialect, mysqlDialect} {
		t.Run(d.String(), func(t *testing.T) { test(t, newShop(t, d, "")) })
	}
}

// newShop opens a database of a system, or skips the test. more has further members of its API.
func newShop(t testing.TB, d dialect, more string) *shop {
	t.Helper()
	dir, url := t.TempDir(), "sqlite:shop.db"
	switch d {
	case sqliteDialect:
		if err := os.WriteFile(filepath.Join(dir, "shop.db"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	case postgresDialect:
		url = fromEnvironment(t, postgresVariable)
	case mysqlDialect:
		url = fromEnvironment(t, mysqlVariable)
	}
	return openShop(t, d, dir, fmt.Sprintf(`{"type":"sql","url":%q,"write":true%s}`, url, more))
}

func fromEnvironment(t testing.TB, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Skipf("%s is not set: .ci/databases go test ./bridge/sql/ starts the server", variable)
	}
	return value
}

func openShop(t testing.TB, d dialect, dir, config string) *shop {
	t.Helper()
	s := &shop{TB: t, dialect: d, log: &bytes.Buffer{}}
	s.Backend = sourcetest.Open(t, Kind, bridge.BackendConfig{Name: "shop", Config: json.RawMessage(config), Dir: dir, Log: slog.New(slog.NewTextHandler(s.log, nil))})
	return s
}

// fill creates the table product with three rows.
func (s *shop) fill() *shop {
	s.Helper()
	decimal, id := "NUMERIC(30,10)", "INTEGER PRIMARY KEY"
	if s.dialect == sqliteDialect {
		decimal = "TEXT"
	}
	s.write(`DROP TABLE IF EXISTS product`)
	s.write(`CREATE TABLE product (id ` + id + `, name VARCHAR(200), price ` + decimal + `, customerid BIGINT)`)
	s.write(`INSERT INTO product (id, name, price, customerid) VALUES (1, 'nut', '1.5000000000', 7), (2, 'bolt', '12345678901234567890.0123456789', 7), (3, 'it''s', NULL, 9007199254740993)`)
	return s
}

// write runs a statement that writes.
func (s *shop) write(query string) string {
	s.Helper()
	return s.must(s.tool(query, `"write":true`), `{}`)
}

// tool returns a tool of a query, with a property of any type for each parameter. more has further
// members of its spec.
func (s *shop) tool(query string, more ...string) bridge.Tool {
	s.Helper()
	tool, _, err := s.make(query, more...)
	if err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	return tool
}

func (s *shop) make(query string, more ...string) (bridge.Tool, []toolformat.Note, error) {
	st, err := parse(s.dialect, query)
	schema := `{"type":"object","properties":{`
	if err == nil {
		for i, name := range st.names {
			if i > 0 {
				schema += ","
			}
			schema += string(wire.AppendString(nil, name)) + ":{}"
		}
	}
	spec := append([]string{`"query":` + string(wire.AppendString(nil, query))}, more...)
	return s.Tool(toolformat.Tool{Name: "t", InputSchema: json.RawMessage(schema + "}}")}, json.RawMessage("{"+strings.Join(spec, ",")+"}"))
}

// must returns the text of a call's result, which must not have failed.
func (s *shop) must(tool bridge.Tool, arguments string) string {
	s.Helper()
	r, err := tool.Call(s.Context(), json.RawMessage(arguments))
	if err != nil {
		s.Fatalf("%s: %v", arguments, describe(err))
	}
	return textOf(s, r)
}

// describe returns an error with its cause.
func describe(err error) string {
	if cause := toolformat.AsError(err).Cause; cause != nil {
		return fmt.Sprintf("%v: %v", err, cause)
	}
	return err.Error()
}

// textOf returns the text of a result, whose JSON must be valid.
func textOf(t testing.TB, r *toolformat.Result) string {
	t.Helper()
	return strings.Join(sourcetest.Texts(t, r), "\n")
}

// query returns the text of a query's result.
func (s *shop) query(query, arguments string, more ...string) string {
	s.Helper()
	return s.must(s.tool(query, more...), arguments)
}

// refused returns the error of a query that must fail, at loading or when it runs.
func (s *shop) refused(query, arguments string, more ...string) string {
	s.Helper()
	tool, _, err := s.make(query, more...)
	if err != nil {
		return err.Error()
	}
	r, err := tool.Call(s.Context(), json.RawMessage(arguments))
	if err == nil {
		s.Errorf("%s with %s was not refused: %s", query, arguments, r.JSON)
		return ""
	}
	return err.Error()
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
