package sql

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const secret = `p:w@rd/?#%x '"`

// secretInURL is the secret as it is written in a URL.
const secretInURL = `p%3Aw%40rd%2F%3F%23%25x%20%27%22`

// A fault of an API is an error of Open, without its password.
func TestOpenErrors(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{`{}`, `sql: api shop: missing required property "url"`},
		{`{"ulr":"sqlite:a"}`, `ulr`},
		{`{"url":7}`, `url`},
		{`{"url":"shop.db"}`, `sql: api shop: url: expected sqlite:…, postgres://… or mysql://…`},
		{`{"url":"password=` + secretInURL + ` host=a:5432"}`, `sql: api shop: url: expected sqlite:…, postgres://… or mysql://…`},
		{`{"url":"oracle://a"}`, `sql: api shop: url: no driver for oracle: expected sqlite:…, postgres://… or mysql://…`},
		{`{"url":"jdbc:h2:mem:test"}`, `sql: api shop: url: H2 runs only in Java: expected sqlite:…, postgres://… or mysql://…`},
		{`{"url":"sqlite:a.db?mode=rw"}`, `sql: api shop: url: parameters are not supported for SQLite: expected sqlite:file`},
		{`{"url":"sqlite:a.db","maxOpen":-1}`, `sql: api shop: maxOpen: expected a number above 0, got -1`},
		{`{"url":"sqlite:a.db","idleTimeout":"soon"}`, `sql: api shop: idleTimeout: expected a duration such as "30s" or a number of seconds, got "soon"`},
		{`{"url":"postgres://u:` + secret + `@h/d"}`, `sql: api shop: url: expected postgres://user:password@host:port/database; in a password, @ : / ? # and % are written %40 %3A %2F %3F %23 %25; the key password needs no escapes`},
		{`{"url":"postgres://u:` + secretInURL + `@h/d?sslmode=odd"}`, `sslmode`},
		{`{"url":"postgres://u@h/d?password=` + secretInURL + `&connect_timeout=x"}`, `connect_timeout`},
		{`{"url":"jdbc:postgresql://h/d?user=u&password=` + secretInURL + `&foo=1"}`, `sql: api shop: url: unknown JDBC parameter foo; without jdbc: the URL takes the parameters of the driver`},
		{`{"url":"mysql://u:` + secretInURL + `@h/d?time_zone=1"}`, `sql: api shop: url: time_zone: always UTC`},
		{`{"url":"mysql://u:` + secretInURL + `@h/d?tls=odd"}`, `sql: api shop: url: invalid value / unknown config name: odd`},
		{`{"url":"mysql://u:` + secretInURL + `@h/d?parseTime=` + secretInURL + `"}`, `xxxxx`},
		{`{"url":"jdbc:mysql://u:` + secretInURL + `@h/d?allowMultiQueries=true"}`, `unknown JDBC parameter allowMultiQueries`},
	} {
		_, err := Kind.Open(bridge.BackendConfig{Name: "shop", Config: json.RawMessage(strings.ReplaceAll(c.config, secret, `p:w@rd/?#%x '\"`)), Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.config, err, c.want)
		} else {
			noSecret(t, err.Error())
		}
	}
}

func noSecret(t testing.TB, text string) {
	t.Helper()
	for _, s := range []string{secret, secretInURL, "w@rd", "w%40rd"} {
		if strings.Contains(text, s) {
			t.Errorf("the password stands in %s", text)
		}
	}
}

// An unreachable database is an error for the caller. Its cause, for the log, does not show the
// password either.
func TestUnreachable(t *testing.T) {
	for _, config := range []string{
		`{"url":"sqlite:absent/shop.db"}`,
		`{"url":"postgres://u:` + secretInURL + `@127.0.0.1:1/d"}`,
		`{"url":"postgres://127.0.0.1:1/d","username":"u","password":"p:w@rd/?#%x '\""}`,
		`{"url":"jdbc:postgresql://127.0.0.1:1/d?user=u&password=` + secretInURL + `&ssl=true"}`,
		`{"url":"mysql://u:` + secretInURL + `@127.0.0.1:1/d"}`,
		`{"url":"jdbc:mariadb://127.0.0.1:1/d?useSSL=false&serverTimezone=UTC","username":"u","password":"p:w@rd/?#%x '\""}`,
	} {
		s := openShop(t, dialectOf(config), t.TempDir(), config)
		_, err := s.tool(`SELECT 1`).Call(t.Context(), json.RawMessage(`{}`))
		e := toolformat.AsError(err)
		if e.Code != toolformat.Unavailable || e.Message != "the database shop cannot be reached or does not answer" || e.Cause == nil {
			t.Errorf("%s: %v, cause %v", config, err, e.Cause)
			continue
		}
		noSecret(t, e.Cause.Error())
		t.Log(e.Cause)
	}
}

func dialectOf(config string) dialect {
	switch {
	case strings.Contains(config, "postgres"):
		return postgresDialect
	case strings.Contains(config, "sqlite"):
		return sqliteDialect
	}
	return mysqlDialect
}

// The parameters of a URL reach the driver as they are meant.
func TestParameters(t *testing.T) {
	u, err := (&backend{}).address("postgres", "//u@h/d?application_name=a%20b%2Bc%25&options=-c%20work_mem=1MB", jdbcDriver{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ParseConfig(u.String())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "a name", c.RuntimeParams["application_name"], "a b+c%")
	want(t, "options", c.RuntimeParams["options"], "-c work_mem=1MB")
}

// A plus in a parameter of a PostgreSQL URL is one, as for libpq. For the drivers of Java and of MySQL it is a space.
func TestPlus(t *testing.T) {
	const rest = "//h/d?user=u&password=a+b%20c%2Bd"
	for _, c := range []struct {
		scheme   string
		jdbc     bool
		password string
	}{{"postgres", false, "a+b c+d"}, {"postgres", true, "a b c+d"}, {"mysql", false, "a b c+d"}} {
		u, err := (&backend{jdbc: c.jdbc}).address(c.scheme, rest, jdbcDriver{map[string]string{}, func(url.Values) {}})
		if err != nil {
			t.Fatal(err)
		}
		password, _ := u.User.Password()
		want(t, c.scheme, password, c.password)
	}
}

// Only a setting of the time zone is one, not one of another name.
func TestZone(t *testing.T) {
	for options, is := range map[string]bool{
		"-c TimeZone=Asia/Tokyo": true, "-ctimezone=UTC": true, "--timezone=UTC": true, "-c log_timezone=UTC -c timezone=UTC": true,
		"-c log_timezone=UTC": false, "-clog_timezone=UTC": false, "--log-timezone=UTC": false, "-c search_path=timezone": false, "": false,
	} {
		if hasZone(map[string]string{"options": options}) != is {
			t.Errorf("%s: %v", options, !is)
		}
	}
}

// If the server refuses the connection, its message goes to the log only.
func TestRefusedConnection(t *testing.T) {
	for _, d := range []dialect{postgresDialect, mysqlDialect} {
		t.Run(d.String(), func(t *testing.T) {
			variable := map[dialect]string{postgresDialect: postgresVariable, mysqlDialect: mysqlVariable}[d]
			config := fmt.Sprintf(`{"url":%q,"password":"p:w@rd/?#%%x '\""}`, fromEnvironment(t, variable))
			s := openShop(t, d, "", config)
			_, err := s.tool(`SELECT 1`).Call(t.Context(), json.RawMessage(`{}`))
			e := toolformat.AsError(err)
			if e.Code != toolformat.Unavailable || !strings.Contains(e.Cause.Error(), "bridge") {
				t.Fatalf("%v, cause %v", err, e.Cause)
			}
			noSecret(t, err.Error()+e.Cause.Error())
		})
	}
}

// JDBC's URLs lead to the same databases.
func TestJDBC(t *testing.T) {
	for _, d := range []dialect{sqliteDialect, postgresDialect, mysqlDialect} {
		t.Run(d.String(), func(t *testing.T) {
			config := `{"type":"jdbc","url":"jdbc:sqlite::memory:","driverClass":"org.sqlite.JDBC"}`
			if d != sqliteDialect {
				_, server, _ := strings.Cut(fromEnvironment(t, map[dialect]string{postgresDialect: postgresVariable, mysqlDialect: mysqlVariable}[d]), "@")
				server, _, _ = strings.Cut(server, "?")
				scheme := map[dialect]string{postgresDialect: "postgresql", mysqlDialect: "mariadb"}[d]
				config = fmt.Sprintf(`{"type":"jdbc","url":"jdbc:%s://%s","username":"bridge","password":"pass:w@rd/?#%%x","driverClass":"org.Driver"}`, scheme, server)
			}
			s := openShop(t, d, "", config)
			want(t, "a query", s.query(`SELECT 1 AS a`, `{}`), `[{"a":1}]`)
			if !strings.Contains(s.log.String(), "driverClass is not needed") {
				t.Errorf("the log: %s", s.log)
			}
		})
	}
}

// JDBC's parameters about TLS are converted to the drivers'.
func TestJDBCEncryption(t *testing.T) {
	for _, c := range []struct{ from, want string }{
		{"mysql?useSSL=true", "tls=skip-verify"}, {"mysql?useSSL=false", "tls=false"}, {"mysql?useSSL=true&sslMode=VERIFY_IDENTITY", "tls=true"}, {"mysql?sslMode=disabled", "tls=false"}, {"mysql?sslMode=PREFERRED", ""},
		{"postgres?ssl=true", "sslmode=verify-full"}, {"postgres?ssl=false", "sslmode=disable"}, {"postgres?sslmode=require", "sslmode=require"}, {"postgres?ssl", "sslmode=verify-full"}, {"postgres?currentSchema=a", "search_path=a"},
	} {
		u, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		jdbc := jdbcDriver{jdbcMySQL, encryptMySQL}
		if u.Path == "postgres" {
			jdbc = jdbcDriver{jdbcPostgres, encryptPostgres}
		}
		parameters, err := jdbc.convert(u.Query())
		if err != nil {
			t.Fatal(err)
		}
		want(t, c.from, parameters.Encode(), c.want)
	}
}

// The name of a file may have any character except ?, and is relative to the config's folder. A
// file that another program writes to in WAL mode can be read.
func TestSQLiteFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"shop.db", "a b#c%20&d=é'.db", "sub/../shop.db"} {
		db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, name))}).String())
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{`PRAGMA journal_mode = WAL`, `CREATE TABLE IF NOT EXISTS t (a)`, `DELETE FROM t`, `INSERT INTO t VALUES (1)`} {
			if _, err := db.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		for _, url := range []string{name, filepath.Join(dir, name), "//" + filepath.ToSlash(filepath.Join(dir, name))} {
			config, _ := json.Marshal(map[string]string{"url": "sqlite:" + url})
			s := openShop(t, sqliteDialect, dir, string(config))
			want(t, url, s.query(`SELECT a FROM t`, `{}`), `[{"a":1}]`)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A parameter of the URL turns prepared statements off, for proxies without support for them.
func TestPostgresUnprepared(t *testing.T) {
	config := fmt.Sprintf(`{"url":%q,"write":true}`, fromEnvironment(t, postgresVariable)+"&default_query_exec_mode=exec")
	s := openShop(t, postgresDialect, "", config).fill()
	want(t, "rows", s.query(`SELECT id, price FROM product WHERE id IN (:ids) AND name = :name`, `{"ids":[1,2],"name":"nut"}`), `[{"id":1,"price":1.5000000000}]`)
	if got := s.refused(`WITH d AS (DELETE FROM product RETURNING id) SELECT * FROM d`, `{}`); !strings.Contains(got, "read-only transaction") {
		t.Error(got)
	}
	want(t, "prepared", s.query(`SELECT count(*) AS n FROM pg_prepared_statements`, `{}`), `[{"n":0}]`)
}

// All connections share a database in memory, and readers cannot write to it.
func TestMemory(t *testing.T) {
	s := openShop(t, sqliteDialect, "", `{"url":"sqlite::memory:","write":true}`).fill()
	want(t, "rows", s.query(`SELECT count(*) AS n FROM product`, `{}`), `[{"n":3}]`)
	other := openShop(t, sqliteDialect, "", `{"url":"sqlite:"}`)
	if got := other.refused(`SELECT * FROM product`, `{}`); !strings.Contains(got, "no such table: product") {
		t.Errorf("another database: %s", got)
	}
	e := s.Backend.(*backend).engine
	for _, query := range []string{`DELETE FROM product`, `DROP TABLE product`} {
		st, err := parse(sqliteDialect, query)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.run(t.Context(), query1(st), newOutput(limits{10, 1000})); err == nil {
			t.Errorf("%s was not refused", query)
		}
	}
	want(t, "rows", s.query(`SELECT count(*) AS n FROM product`, `{}`), `[{"n":3}]`)
}

// A definition is checked when it is loaded.
func TestTool(t *testing.T) {
	b := openShop(t, sqliteDialect, "", `{"url":"sqlite:"}`)
	schema := `{"type":"object","properties":{"customerid":{"type":"integer"},"ids":{"type":"array"},"a~b/c":{}},"allOf":[{"properties":{"more":{}}},{"$ref":"#/$defs/x"}],"$defs":{"x":{"$ref":"#/$defs/x","properties":{"far":{}}}}}`
	for _, c := range []struct{ spec, err, notes string }{
		{`{"query":"SELECT :customerid, :ids, :{a~b/c}, :more, :far"}`, ``, ``},
		{`{"query":"SELECT :customerid, :{a~b/c}, :more"}`, ``, `t: /input_schema/$defs/x/properties/far: the query has no :far, so that this argument has no effect; t: /input_schema/properties/ids: the query has no :ids, so that this argument has no effect`},
		{`{"query":"SELECT :customerid, :more, :far WHERE 1 NOT IN (:ids)"}`, ``, `t: /input_schema/properties/a~0b~1c: the query has no :a~b/c, so that this argument has no effect; ` +
			`t: /input_schema/properties/ids: an empty list makes NOT IN (:ids) match nothing; "minItems": 1 refuses it`},
		{`{"query":"SELECT :CustomerID"}`, `sql: query: :CustomerID is not a property of the input schema (did you mean :customerid?)`, ``},
		{`{"query":"SELECT :nothing"}`, `sql: query: :nothing is not a property of the input schema`, ``},
		{`{"query":""}`, `sql: query: must not be empty`, ``},
		{`{}`, `query`, ``},
		{`{"query":"SELECT 1","qurey":""}`, `qurey`, ``},
		{`{"query":"SELECT 1","maxRows":-1}`, `sql: maxRows: expected a number above 0, got -1`, ``},
		{`{"query":"SELECT 1","maxBytes":-1}`, `sql: maxBytes: expected a size such as "64MiB" or a number of bytes, got -1`, ``},
		{`{"query":"SELECT 1","maxBytes":"1 mile"}`, `maxBytes`, ``},
	} {
		tool, notes, err := b.Tool(toolformat.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, json.RawMessage(c.spec))
		var texts []string
		for _, n := range notes {
			texts = append(texts, n.String())
		}
		if c.err == "" && (err != nil || tool.Name != "t") || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %s", c.spec, err, c.err)
		}
		want(t, "the notes of "+c.spec, strings.Join(texts, "; "), c.notes)
	}
}

// MySQL finds that 0 equals "x": a parameter without a type is warned of, unless it is hidden.
func TestUntyped(t *testing.T) {
	const schema = `{"properties":{"n":{},"typed":{"type":"string"},"listed":{"enum":["a"]},"who":{}}}`
	for url, want := range map[string]int{"mysql://127.0.0.1/shop": 1, "sqlite:": 0} {
		b := sourcetest.Open(t, Kind, bridge.BackendConfig{Name: "shop", Config: json.RawMessage(`{"url":"` + url + `"}`), Hidden: []string{"who"}})
		tool, notes, err := b.Tool(toolformat.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, json.RawMessage(`{"query":"SELECT :n, :typed, :listed, :who, :WHO"}`))
		if err != nil || len(notes) != want || want > 0 && !strings.Contains(notes[0].String(), `t: /input_schema/properties/n: n may be of any type`) {
			t.Errorf("%s: %v %v", url, notes, err)
		}
		if !slices.Equal(tool.Placeholders, []string{"n", "typed", "listed", "who", "WHO"}) {
			t.Errorf("placeholders %q", tool.Placeholders)
		}
	}
}

// Durations are texts or seconds; a tool's timeout overrides its API's.
func TestDurations(t *testing.T) {
	b := sourcetest.Open(t, Kind, bridge.BackendConfig{Name: "shop", Config: json.RawMessage(`{"url":"sqlite:a.db","timeout":"2m","idleTimeout":90,"maxLifetime":"1h"}`)})
	if c := b.(*backend).engine.(*sqliteEngine).readers.config; c.idle != 90*time.Second || c.lifetime != time.Hour {
		t.Errorf("%+v", c)
	}
	for spec, want := range map[string]time.Duration{`{"query":"SELECT 1"}`: 2 * time.Minute, `{"query":"SELECT 1","timeout":90}`: 90 * time.Second} {
		if got := sourcetest.Tool(t, b, spec).Timeout; got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}

// The log names a missing file, the caller's error does not.
func TestNoFile(t *testing.T) {
	b := sourcetest.Open(t, Kind, bridge.BackendConfig{Name: "shop", Dir: t.TempDir(), Config: json.RawMessage(`{"url":"sqlite:lost.db"}`)})
	_, err := sourcetest.Tool(t, b, `{"query":"SELECT 1"}`).Call(t.Context(), json.RawMessage(`{}`))
	e := toolformat.AsError(err)
	if e.Code != toolformat.Unavailable || strings.Contains(e.Message, "lost.db") || e.Cause == nil || !strings.Contains(e.Cause.Error(), "lost.db: unable to open database file") {
		t.Errorf("%v, because of %v", e, e.Cause)
	}
}
