package sql

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// attempts lists statements that a read-only tool must not run. Those for all systems come first.
var attempts = map[string][]string{
	"all": {
		`INSERT INTO product (id) VALUES (9)`, `UPDATE product SET name = 'x'`, `DELETE FROM product`, `DROP TABLE product`, `CREATE TABLE p2 (a int)`,
		`CREATE TEMPORARY TABLE p3 (a int)`, `ALTER TABLE product ADD COLUMN x int`, `insert into product (id) values (9) returning id`, ` /* SELECT */ DELETE FROM product`,
		`SELECT 1; DELETE FROM product`, "SELECT 1;\n--\nDELETE FROM product", `BEGIN`, `COMMIT`, `ROLLBACK`, `CREATE VIEW w AS SELECT 1`,
		`WITH p AS (SELECT 1) DELETE FROM product`, `WITH p AS (SELECT 1) INSERT INTO product (id) SELECT 9`, `GRANT ALL ON product TO x`, `VACUUM`, `ANALYZE product`,
	},
	"SQLite": {
		`REPLACE INTO product (id) VALUES (1)`, `PRAGMA query_only = 0`, `PRAGMA writable_schema = 1`, `PRAGMA journal_mode = OFF`, `PRAGMA user_version = 7`, `ATTACH 'other.db' AS o`, `DETACH main`,
		`VACUUM INTO 'copy.db'`, `REINDEX`, `SELECT load_extension('x')`, `SELECT fts3_tokenizer('x', x'00')`, `SELECT * FROM pragma_query_only(0)`, `SELECT * FROM pragma_user_version(7)`,
		`SELECT * FROM pragma_journal_mode('off')`, `SELECT writefile('x', 'y')`, `SELECT edit('x')`, `WITH d AS (DELETE FROM product RETURNING id) SELECT * FROM d`, `SAVEPOINT s`, `SELECT randomblob(100000000)`,
	},
	"PostgreSQL": {
		`WITH d AS (DELETE FROM product RETURNING id) SELECT * FROM d`, `WITH i AS (INSERT INTO product (id) VALUES (9) RETURNING id) SELECT id FROM i`, `SELECT 1 INTO p4`,
		`SELECT nextval('seq')`, `SELECT setval('seq', 7)`, `EXPLAIN ANALYZE DELETE FROM product`, `EXPLAIN (ANALYZE) INSERT INTO product (id) VALUES (9)`, `COPY product TO '/tmp/x'`, `COPY (SELECT 1) TO PROGRAM 'id'`,
		`DO $$ BEGIN DELETE FROM product; END $$`, `SELECT writes()`, `SET TRANSACTION READ WRITE`, `SET default_transaction_read_only = off`, `SELECT set_config('transaction_read_only', 'off', false)`,
		`SELECT query_to_xml('delete from product', true, true, '')`, `SELECT query_to_xml('begin; delete from product', true, true, '')`, `TRUNCATE product`, `LOCK product`, `SELECT * FROM product FOR UPDATE`,
		`PREPARE p AS DELETE FROM product`, `CALL p()`, `MERGE INTO product USING product p ON false WHEN NOT MATCHED THEN INSERT VALUES (9)`,
	},
	"MySQL": {
		`REPLACE INTO product (id) VALUES (1)`, `SET SESSION TRANSACTION READ WRITE`, `SET autocommit = 0`, `START TRANSACTION READ WRITE`, `TRUNCATE product`, `LOCK TABLES product WRITE`,
		`SELECT 1 INTO OUTFILE '/tmp/mcpbridge-outfile'`, `SELECT 1 INTO DUMPFILE '/tmp/mcpbridge-outfile'`, `SELECT 1 /*! INTO OUTFILE '/tmp/mcpbridge-outfile' */`, `LOAD DATA INFILE '/etc/passwd' INTO TABLE product`,
		`SELECT writes()`, `CALL p()`, `EXPLAIN FORMAT=JSON DELETE FROM product; DELETE FROM product`, `HANDLER product OPEN`, `PREPARE p FROM 'DELETE FROM product'`, `FLUSH TABLES`, `KILL 1`, `ANALYZE TABLE product`,
	},
}

// A read-only tool cannot write, however it tries. Most attempts are refused when it is loaded; all
// run once more without that check, to show that the database refuses them as well.
func TestReadOnly(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s.fill()
		b := s.Backend.(*backend)
		switch e := b.engine.(type) {
		case *postgresEngine:
			s.write(`DROP SEQUENCE IF EXISTS seq`)
			s.write(`CREATE SEQUENCE seq`)
			s.write(`CREATE OR REPLACE FUNCTION writes() RETURNS int LANGUAGE sql AS 'DELETE FROM product RETURNING 1'`)
		case *pools:
			s.write(`DROP FUNCTION IF EXISTS writes`)
			db, err := e.writers.open()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(`CREATE FUNCTION writes() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM product; RETURN 1; END`); err != nil {
				t.Fatal(err)
			}
		}
		const rows = `SELECT * FROM product ORDER BY id`
		before := s.query(rows, `{}`)
		for _, query := range append(attempts["all"], attempts[s.dialect.String()]...) {
			s.refused(query, `{}`)
			want(t, "the table after "+query, s.query(rows, `{}`), before)
			st, err := parse(s.dialect, query)
			if err != nil || st.files || slices.Contains([]string{"COPY", "FLUSH", "KILL"}, st.verb) || s.dialect == mysqlDialect && st.verb == "SET" {
				continue // only the check at loading protects files and the session's read-only mode
			}
			err = b.engine.run(t.Context(), query1(st), newOutput(limits{10, 1000}))
			t.Logf("%-70.70s %v", query, err)
			want(t, "the table after running "+query, s.query(rows, `{}`), before)
		}
		if _, err := os.Stat("/tmp/mcpbridge-outfile"); err == nil {
			t.Error("a file has been written")
		}
	})
}

// query1 returns the query of a statement without parameters that must not write.
func query1(st *statement) query { return query{statement: st, text: st.plain} }

// Settings that a function of PostgreSQL changes are reset with the transaction.
func TestPostgresRollsBack(t *testing.T) {
	s := newShop(t, postgresDialect, `,"maxOpen":1`)
	for _, query := range []string{`SELECT set_config('default_transaction_read_only', 'off', false)`, `SELECT set_config('search_path', 'nowhere', false)`, `SELECT lo_create(0) > 0 AS set_config`} {
		s.query(query, `{}`)
	}
	want(t, "settings", s.query(`SELECT current_setting('search_path') <> 'nowhere' AS path, current_setting('transaction_read_only') AS ro, (SELECT count(*) FROM pg_largeobject_metadata) AS objects`, `{}`),
		`[{"path":true,"ro":"on","objects":0}]`)
}

// A tool may write only if its API allows it.
func TestWriteNeedsAPI(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openShop(t, sqliteDialect, dir, `{"url":"sqlite:shop.db"}`)
	_, _, err := s.make(`DELETE FROM product`, `"write":true`)
	want(t, "the error", err.Error(), `sql: write: the api shop does not allow it: set "write": true there as well`)
	_, _, err = s.make(`DELETE FROM product`)
	want(t, "the error", err.Error(), `sql: query: DELETE writes: to allow it, set "write": true in the tool and in its api; otherwise expected SELECT, VALUES, EXPLAIN`)
	if _, err := os.Stat(filepath.Join(dir, "other.db")); err == nil {
		t.Error("another file has been made")
	}
}

// A tool that may write cannot change settings either.
func TestWriteIsNoSession(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		for _, query := range []string{`PRAGMA foreign_keys = 0`, `ATTACH 'x' AS x`, `BEGIN`, `SET x = 1`, `LOCK TABLES a WRITE`, `USE mysql`, `COPY a FROM STDIN`, `LISTEN a`, `VACUUM INTO 'x'`, `LOAD DATA LOCAL INFILE 'x' INTO TABLE a`} {
			if got := s.refused(query, `{}`, `"write":true`); !strings.Contains(got, "a tool cannot run ") || !strings.Contains(got, ": expected SELECT, ") {
				t.Errorf("%s: %s", query, got)
			}
		}
		want(t, "read", s.query(`SELECT 1 AS a`, `{}`, `"write":true`), `[{"a":1}]`)
	})
}

// The result of a statement that writes has its effect.
func TestWrite(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s.write(`DROP TABLE IF EXISTS w`)
		key := map[dialect]string{sqliteDialect: "INTEGER PRIMARY KEY", postgresDialect: "SERIAL PRIMARY KEY", mysqlDialect: "INT AUTO_INCREMENT PRIMARY KEY"}[s.dialect]
		s.write(`CREATE TABLE w (id ` + key + `, a INT UNIQUE)`)
		insert := s.tool(`INSERT INTO w (a) VALUES (:a)`, `"write":true`)
		id := func(n string) string {
			if s.dialect == postgresDialect {
				return ""
			}
			return `,"last_id":` + n
		}
		want(t, "insert", s.must(insert, `{"a":5}`), `{"affected":1`+id("1")+`}`)
		want(t, "insert", s.must(insert, `{"a":6}`), `{"affected":1`+id("2")+`}`)
		want(t, "update", s.query(`UPDATE w SET a = a + 10`, `{}`, `"write":true`), `{"affected":2}`)
		want(t, "insert returning", s.query(`INSERT INTO w (a) VALUES (:a), (8) RETURNING id, a`, `{"a":7}`, `"write":true`), `[{"id":3,"a":7},{"id":4,"a":8}]`)
		r, err := s.tool(`DELETE FROM w WHERE a IN (:a) RETURNING a`, `"write":true`, `"maxRows":1`).Call(t.Context(), []byte(`{"a":[7,8]}`))
		if err != nil {
			t.Fatal(describe(err))
		}
		want(t, "delete returning", string(r.Structured()), `{"rows":[{"a":7}],"truncated":true,"affected":2}`)
		want(t, "what is left", s.query(`SELECT a FROM w ORDER BY a`, `{}`), `[{"a":15},{"a":16}]`)
		if got := s.refused(`INSERT INTO w (a) VALUES (15)`, `{}`, `"write":true`); !strings.HasPrefix(got, "the query failed: ") || !strings.Contains(strings.ToLower(got), "uni") && !strings.Contains(got, "Duplicate entry '15'") {
			t.Errorf("a constraint: %s", got)
		}
	})
}

// In SQLite, an effect is that of the statement, not of one before it.
func TestSQLiteEffect(t *testing.T) {
	s := newShop(t, sqliteDialect, "")
	s.write(`CREATE TABLE k (id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INT)`)
	s.write(`CREATE TABLE named (name TEXT PRIMARY KEY) WITHOUT ROWID`)
	upsert := s.tool(`INSERT INTO k (name, n) VALUES (:name, 1) ON CONFLICT (name) DO UPDATE SET n = n + 1`, `"write":true`)
	want(t, "insert", s.must(upsert, `{"name":"a"}`), `{"affected":1,"last_id":1}`)
	want(t, "update", s.must(upsert, `{"name":"a"}`), `{"affected":1}`)
	want(t, "insert", s.must(upsert, `{"name":"b"}`), `{"affected":1,"last_id":2}`)
	want(t, "without an id", s.write(`INSERT INTO named VALUES ('a'), ('b')`), `{"affected":2}`)
	want(t, "no rows", s.write(`CREATE INDEX i ON k (n)`), `{"affected":0}`)
	want(t, "no rows", s.write(`DROP INDEX i`), `{"affected":0}`)
}

// A tool is listed as read-only if its database enforces that.
func TestSaysReadOnly(t *testing.T) {
	s := newShop(t, sqliteDialect, "")
	for _, c := range []struct {
		query string
		more  []string
		want  bool
	}{
		{`SELECT 1`, nil, true},
		{`SELECT 1`, []string{`"write":false`}, true},
		{`SELECT 1`, []string{`"write":true`}, false},
		{`DELETE FROM product`, []string{`"write":true`}, false},
	} {
		if got := s.tool(c.query, c.more...); got.ReadOnly != c.want || got.Idempotent {
			t.Errorf("%s %s: read-only %v, want %v; idempotent %v", c.query, c.more, got.ReadOnly, c.want, got.Idempotent)
		}
	}
}
