package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// series is a query for the numbers up to :n, each with a text of length :width.
func (s *shop) series() string {
	switch s.dialect {
	case postgresDialect:
		return `SELECT v AS i, repeat('x', :width) AS t FROM generate_series(1, :n) v`
	case mysqlDialect:
		return `SELECT seq AS i, repeat('x', :width) AS t FROM seq_1_to_10000000 WHERE seq <= :n LIMIT 10000000`
	}
	return `WITH RECURSIVE c(v) AS (SELECT 1 UNION ALL SELECT v+1 FROM c WHERE v < :n) SELECT v AS i, printf('%.*c', :width, 'x') AS t FROM c`
}

// Rows and bytes of a result are limited, and it says when there are more.
func TestLimits(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		for _, c := range []struct {
			more, arguments string
			rows            int
			cut             string
		}{
			{`"maxRows":3`, `{"n":3,"width":1}`, 3, ``},
			{`"maxRows":3`, `{"n":4,"width":1}`, 3, `truncated: only the first 3 rows are shown, and there are more. Narrow the query or ask for the next rows, if the tool can.`},
			{`"maxRows":3`, `{"n":5000000,"width":10}`, 3, `truncated: only the first 3 rows are shown, and`},
			{`"maxBytes":200`, `{"n":3,"width":80}`, 2, `truncated: only the first 2 rows are shown, as many as fit into 200 bytes, and there are more.`},
			{`"maxBytes":200`, `{"n":1,"width":300}`, 0, `truncated: only the first 0 rows are shown, as many as fit into 200 bytes`},
			{`"write":true`, `{"n":1000,"width":1}`, 1000, ``},
			{`"write":false`, `{"n":1001,"width":1}`, 1000, `truncated: only the first 1000 rows are shown`},
			{`"maxRows":2000`, `{"n":2000,"width":1000}`, 1031, `as many as fit into 1048576 bytes`},
		} {
			r, err := s.tool(s.series(), c.more).Call(t.Context(), json.RawMessage(c.arguments))
			if err != nil {
				t.Fatalf("%s: %s", c.arguments, describe(err))
			}
			var structured struct {
				Rows      []json.RawMessage
				Truncated bool
			}
			if err := json.Unmarshal(r.Structured(), &structured); err != nil || structured.Rows == nil {
				t.Fatalf("%v: %.100s", err, r.Structured())
			}
			content, err := r.Content()
			if err != nil {
				t.Fatal(err)
			}
			cut := ""
			if len(content) == 2 {
				cut = content[1].Text
			}
			if n := len(structured.Rows); n != c.rows || structured.Truncated != (c.cut != "") || !strings.Contains(cut, c.cut) || (cut == "") != (c.cut == "") {
				t.Errorf("%s %s: %d rows, truncated %t, %q; want %d, %q", c.more, c.arguments, n, structured.Truncated, cut, c.rows, c.cut)
			}
		}
		want(t, "the next query", s.query(s.series(), `{"n":1,"width":1}`), `[{"i":1,"t":"x"}]`)
	})
}

// endless lists queries that do not end: before the first row, after it, and while writing.
func (s *shop) endless() []string {
	switch s.dialect {
	case postgresDialect:
		return []string{`SELECT count(*) FROM generate_series(1, 1000000000000) v`, `SELECT v FROM generate_series(1, 1000000000000) v WHERE v = 1 OR v < 0`, `SELECT pg_sleep(3600)`}
	case mysqlDialect:
		return []string{`SELECT count(*) FROM seq_1_to_4000000000 a, seq_1_to_4000000000 b WHERE a.seq + b.seq < 0`, `SELECT SLEEP(3600)`, `SELECT a.seq FROM seq_1_to_2 a WHERE a.seq = 1 OR SLEEP(3600)`}
	}
	return []string{
		`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c`,
		`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c WHERE x = 1 OR x < 0`,
	}
}

// running returns the number of statements that run on the server, or -1 if it cannot be seen.
func (s *shop) running() string {
	switch s.dialect {
	case postgresDialect:
		return s.query(`SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%1000000000000%'`, `{}`)
	case mysqlDialect:
		return s.query(`SELECT count(*) AS n FROM information_schema.processlist WHERE command <> 'Sleep' AND id <> CONNECTION_ID() AND user = 'bridge'`, `{}`)
	}
	return `[{"n":0}]`
}

// A statement ends with its context, also on the server, and others can use its connection.
func TestCancel(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s = newShop(t, s.dialect, `,"maxOpen":1`)
		for _, query := range s.endless() {
			for _, more := range []string{`"write":false`, `"write":true`} {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				begun := time.Now()
				_, err := s.tool(query, more).Call(ctx, json.RawMessage(`{}`))
				cancel()
				if err == nil || err.Error() != context.DeadlineExceeded.Error() {
					t.Errorf("%s: %v", query, err)
				}
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("%s: it took %s", query, took)
				}
				want(t, "the next query", s.query(`SELECT 1 AS a`, `{}`), `[{"a":1}]`)
			}
		}
		for end := time.Now().Add(time.Minute); s.running() != `[{"n":0}]`; {
			if time.Now().After(end) {
				t.Fatalf("still running: %s", s.running())
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.tool(`SELECT 1`).Call(ctx, json.RawMessage(`{}`)); err != context.Canceled {
			t.Errorf("a context that has ended: %v", err)
		}
	})
}

// Concurrent calls share the connections.
func TestConcurrent(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s = newShop(t, s.dialect, `,"maxOpen":2,"idleTimeout":"1m","maxLifetime":"1h"`).fill()
		read := s.tool(`SELECT name FROM product WHERE id IN (:ids) ORDER BY id`)
		write := s.tool(`UPDATE product SET customerid = :n WHERE id = 3`, `"write":true`)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				want(t, "read", s.must(read, `{"ids":[1,2`+strings.Repeat(",2", i)+`]}`), `[{"name":"nut"},{"name":"bolt"}]`)
				if _, err := write.Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"n":%d}`, 100+i))); err != nil {
					t.Error(describe(err))
				}
			})
		}
		all.Wait()
	})
}

// The model gets the database's message; a statement works after its table has changed; nothing
// works after Close.
func TestFailures(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s.fill()
		if got := s.refused(`SELECT nothing FROM product`, `{}`); !strings.HasPrefix(got, "the query failed: ") || !strings.Contains(got, "nothing") {
			t.Errorf("a wrong column: %s", got)
		}
		if got := s.refused(`SELECT FROM WHERE`, `{}`); !strings.HasPrefix(got, "the query failed: ") {
			t.Errorf("wrong syntax: %s", got)
		}
		half := map[dialect]string{sqliteDialect: `SELECT abs(CASE id WHEN 3 THEN -9223372036854775807 - 1 ELSE id END) AS v FROM product ORDER BY id`, postgresDialect: `SELECT 1 / (3 - id) AS v FROM product`,
			mysqlDialect: `SELECT CASE id WHEN 3 THEN (SELECT 1 UNION SELECT 2) ELSE id END AS v FROM product`}[s.dialect]
		if got := s.refused(half, `{}`); !strings.HasPrefix(got, "the query failed: ") {
			t.Errorf("a failure behind the first rows: %s", got)
		}
		rows := s.tool(`SELECT * FROM product WHERE id = :id`)
		s.must(rows, `{"id":1}`)
		s.write(`ALTER TABLE product ADD COLUMN extra INT`)
		if got := s.must(rows, `{"id":1}`); !strings.Contains(got, `"extra":null`) {
			t.Errorf("after a change of the table: %s", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := rows.Call(t.Context(), json.RawMessage(`{"id":1}`)); toolformat.AsError(err).Code != toolformat.Unavailable {
			t.Errorf("after Close: %v", err)
		}
	})
}

// The statements that a connection keeps prepared are bounded.
func TestPrepared(t *testing.T) {
	s := newShop(t, postgresDialect, `,"maxOpen":1`)
	for i := range maxStmts + 50 {
		want(t, "a row", s.query(fmt.Sprintf(`SELECT %d AS a, :b AS b`, i), `{"b":"x"}`), fmt.Sprintf(`[{"a":%d,"b":"x"}]`, i))
	}
	want(t, "prepared", s.query(fmt.Sprintf(`SELECT count(*) BETWEEN 10 AND %d AS ok FROM pg_prepared_statements`, maxStmts), `{}`), `[{"ok":true}]`)
}
