package sql

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Text in quotes and comments, and text that only looks like a parameter, stays unchanged.
func TestParse(t *testing.T) {
	const all = "SQLite PostgreSQL MySQL"
	for _, c := range []struct{ dialects, query, want, names string }{
		{all, `SELECT 1`, `SELECT 1`, ``},
		{all, `SELECT :a`, `SELECT ?`, `a`},
		{all, `SELECT :a, :b, :a`, `SELECT ?, ?, ?1`, `a b`},
		{all, `SELECT :b+:a`, `SELECT ?+?`, `b a`},
		{all, `SELECT(:a)`, `SELECT(?)`, `a`},
		{all, `SELECT :größe, :_a1$`, `SELECT ?, ?`, `größe _a1$`},
		{all, `SELECT :{customer-id}, :{ a b }`, `SELECT ?, ?`, `customer-id|a b`},
		{all, `SELECT ':a', 'it'':a', '' , ':' , :a`, `SELECT ':a', 'it'':a', '' , ':' , ?`, `a`},
		{all, `SELECT ":a" "" ":b""c", :a`, `SELECT ":a" "" ":b""c", ?`, `a`},
		{"SQLite MySQL", "SELECT `:a`, `b``:c`, :a", "SELECT `:a`, `b``:c`, ?", `a`},
		{"SQLite", `SELECT [:a], [b'c:d], :a`, `SELECT [:a], [b'c:d], ?`, `a`},
		{"PostgreSQL", `SELECT x[1], x[:a], x[1:2], x[1 : 2]`, `SELECT x[1], x[?], x[1:2], x[1 : 2]`, `a`},
		{all, "SELECT 1 -- :a ' \" ;\n, :b", "SELECT 1 -- :a ' \" ;\n, ?", `b`},
		{all, `SELECT 1 -- :a`, `SELECT 1 -- :a`, ``},
		{all, `SELECT /* :a ' ; */ :b /**/ /***/`, `SELECT /* :a ' ; */ ? /**/ /***/`, `b`},
		{"PostgreSQL", `SELECT /* /* :a */ :b */ :c`, `SELECT /* /* :a */ :b */ ?`, `c`},
		{"SQLite MySQL", `SELECT /* /* :a */ :b`, `SELECT /* /* :a */ ?`, `b`},
		{"MySQL", "SELECT 1 # :a '\n, :b", "SELECT 1 # :a '\n, ?", `b`},
		{"PostgreSQL", `SELECT 5 # :a`, `SELECT 5 # ?`, `a`},
		{"MySQL", `SELECT 5--:a`, `SELECT 5--?`, `a`},
		{"SQLite PostgreSQL", `SELECT 5--:a`, `SELECT 5--:a`, ``},
		{"MySQL", `SELECT 'a\':b', "c\":d", '\\', :a`, `SELECT 'a\':b', "c\":d", '\\', ?`, `a`},
		{"SQLite PostgreSQL", `SELECT 'a\', :a`, `SELECT 'a\', ?`, `a`},
		{"PostgreSQL", `SELECT E'a\':b', e'\\', :a`, `SELECT E'a\':b', e'\\', ?`, `a`},
		{"PostgreSQL", "SELECT E'a\\''\n-- '\n ':b\\'', :a", "SELECT E'a\\''\n-- '\n ':b\\'', ?", `a`},
		{"PostgreSQL", `SELECT E'a' , 'b\', :a`, `SELECT E'a' , 'b\', ?`, `a`},
		{"PostgreSQL", `SELECT type'a\', :a`, `SELECT type'a\', ?`, `a`},
		{"PostgreSQL", `SELECT $$ :a ' ; $$, $t$ $$ :b $tt$ $t$, :c`, `SELECT $$ :a ' ; $$, $t$ $$ :b $tt$ $t$, ?`, `c`},
		{"PostgreSQL", `SELECT a$b$ :c, a$b$`, `SELECT a$b$ ?, a$b$`, `c`},
		{"PostgreSQL", `SELECT $ :a`, `SELECT $ ?`, `a`},
		{"PostgreSQL", `SELECT :a::int, b::text, :c::numeric(1)::text`, `SELECT ?::int, b::text, ?::numeric(1)::text`, `a c`},
		{"PostgreSQL", `SELECT f(x := :a), j ? 'k', j ?| :b, j @> :c`, `SELECT f(x := ?), j ? 'k', j ?| ?, j @> ?`, `a b c`},
		{"PostgreSQL", `SELECT j #>> '{a:b}', j->'$.a:b', U&'\0041:c', B'1'`, `SELECT j #>> '{a:b}', j->'$.a:b', U&'\0041:c', B'1'`, ``},
		{"MySQL", `SELECT @x := :a, @@version, c->'$.a:b', @'q', $a`, `SELECT @x := ?, @@version, c->'$.a:b', @'q', $a`, `a`},
		{"SQLite", `SELECT c->>'$.a:b', x'00', 1.5e3, .5, 0xff`, `SELECT c->>'$.a:b', x'00', 1.5e3, .5, 0xff`, ``},
		{all, `SELECT 1; ; -- end`, `SELECT 1`, ``},
		{all, ` SELECT :a ;`, ` SELECT ? `, `a`},
		{all, `SELECT 1 WHERE 2 IN (:a)`, `SELECT 1 WHERE 2 IN (?)`, `a`},
		{"PostgreSQL", `SELECT 1 WHERE :a IS NULL OR x = :a OR :a IS NOT NULL OR y = :a`, `SELECT 1 WHERE ?::text IS NULL OR x = ?2 OR ?::text IS NOT NULL OR y = ?2`, `a`},
		{"PostgreSQL", `SELECT 1 WHERE :a IS TRUE`, `SELECT 1 WHERE ? IS TRUE`, `a`},
	} {
		for _, d := range []dialect{sqliteDialect, postgresDialect, mysqlDialect} {
			if !strings.Contains(c.dialects, d.String()) {
				continue
			}
			st, err := parse(d, c.query)
			if err != nil {
				t.Errorf("%s: %s: %v", d, c.query, err)
				continue
			}
			separator := " "
			if strings.Contains(c.names, "|") {
				separator = "|"
			}
			want(t, d.String()+": "+c.query, st.plain, placeholders(d, c.want))
			want(t, d.String()+": the names of "+c.query, strings.Join(st.names, separator), c.names)
		}
	}
}

// placeholders converts a test's placeholders to those of a dialect: ? is a new one, ?1 repeats the
// first.
func placeholders(d dialect, text string) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(text); i++ {
		again := i+1 < len(text) && isDigit(text[i+1])
		switch {
		case text[i] != '?' || d == postgresDialect && (strings.HasPrefix(text[i:], "? 'k'") || strings.HasPrefix(text[i:], "?| ")):
			b.WriteByte(text[i])
		case d == postgresDialect && again:
			b.WriteByte('$')
			n = max(n, int(text[i+1]-'0'))
		case d == postgresDialect:
			n++
			b.WriteString("$" + string(rune('0'+n)))
		default:
			b.WriteByte('?')
			if again {
				i++
			}
		}
	}
	return b.String()
}

func TestParseErrors(t *testing.T) {
	const all = "SQLite PostgreSQL MySQL"
	for _, c := range []struct{ dialects, query, want string }{
		{all, ``, `query: must not be empty`},
		{all, " -- nothing\n ; ", `query: must not be empty`},
		{all, `SELECT 1; DELETE FROM t`, `query: line 1: a second statement: a tool runs only one; remove it, or make it another tool`},
		{all, "SELECT 1;\n:a", `query: line 2: a second statement`},
		{all, "SELECT 1\n, 'a", `query: line 2: unterminated quoted text: expected '`},
		{all, `SELECT "a`, `query: line 1: unterminated quoted text: expected "`},
		{"SQLite", `SELECT [a`, `query: line 1: unterminated quoted text: expected ]`},
		{"PostgreSQL", `SELECT $a$ $$`, `query: line 1: unterminated quoted text: expected $a$`},
		{"PostgreSQL", `SELECT E'\'`, `query: line 1: unterminated quoted text: expected '`},
		{"MySQL", `SELECT '\'`, `query: line 1: unterminated quoted text: expected '`},
		{all, `SELECT /* a`, `query: line 1: unterminated comment: expected */`},
		{all, `SELECT /*/`, `query: line 1: unterminated comment: expected */`},
		{"PostgreSQL", `SELECT /* /* */`, `query: line 1: unterminated comment: expected */`},
		{"MySQL", `SELECT 1 /*!50000 INTO OUTFILE '/tmp/a' */`, `query: line 1: /*! begins a comment that MySQL executes: write its SQL without the comment`},
		{"MySQL", `SELECT 1 /*M! INTO OUTFILE '/tmp/a' */`, `query: line 1: /*M begins a comment that MySQL executes`},
		{"SQLite MySQL", `SELECT ?`, `query: line 1: parameters are written :name, not ?`},
		{"SQLite", `SELECT ?12`, `not ?12`},
		{"SQLite", `SELECT @a`, `not @a`},
		{"SQLite PostgreSQL", `SELECT $1`, `not $1`},
		{"SQLite", `SELECT :1`, `a name does not begin with a digit`},
		{all, `SELECT :{`, `query: line 1: unterminated parameter: expected }`},
		{all, `SELECT :{ }`, `query: line 1: parameter without a name: expected :{name}`},
		{all, `SELECT x:a`, `query: line 1: :a touches another word: add a space around it, or after the colon if this is not a parameter`},
		{all, `SELECT :{a}1`, `query: line 1: :{a} touches another word`},
		{all, `SELECT :{a b}:c`, `query: line 1: :c touches another word`},
		{"PostgreSQL", `SELECT x[1:n]`, `query: line 1: :n touches another word`},
		{all, `SELECT 1 WHERE 1 IN :ids`, `query: line 1: IN :ids needs parentheses: IN (:ids)`},
		{all, "SELECT '\x00'", `query: not valid UTF-8 text`},
		{all, "SELECT '\xff'", `query: not valid UTF-8 text`},
		{all, "SELECT '" + strings.Repeat("a", maxQuery) + "'", `query: longer than 1048576 bytes`},
	} {
		for _, d := range []dialect{sqliteDialect, postgresDialect, mysqlDialect} {
			if !strings.Contains(c.dialects, d.String()) {
				continue
			}
			if _, err := parse(d, c.query); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %.60s: %v, want %s", d, c.query, err, c.want)
			}
		}
	}
}

// The kind of a statement is known before it runs.
func TestVerb(t *testing.T) {
	for _, c := range []struct {
		query, verb string
		rows        bool
	}{
		{`select 1`, "SELECT", true},
		{`(SELECT 1) UNION (SELECT 2)`, "SELECT", true},
		{`/* c */ Insert INTO t SELECT 1`, "INSERT", false},
		{`INSERT INTO t VALUES (1) RETURNING id`, "INSERT", true},
		{`WITH a AS (SELECT 1), b(x) AS (DELETE FROM t RETURNING id) INSERT INTO c SELECT 1`, "INSERT", false},
		{`WITH RECURSIVE a(x) AS (VALUES(1) UNION ALL SELECT x FROM a) SELECT (SELECT 1)`, "SELECT", true},
		{`WITH a AS (INSERT INTO t VALUES (1) RETURNING id) UPDATE t SET a = 1`, "UPDATE", false},
		{`EXPLAIN DELETE FROM t`, "EXPLAIN", true},
		{`PRAGMA writable_schema = 1`, "PRAGMA", true},
		{`CREATE TABLE t (a int)`, "CREATE", false},
		{`SELECT 'RETURNING'`, "SELECT", true},
	} {
		st, err := parse(postgresDialect, c.query)
		if err != nil || st.verb != c.verb || st.givesRows() != c.rows {
			t.Errorf("%s: %+v, %v; want %s, rows %t", c.query, st, err, c.verb, c.rows)
		}
	}
}

// FuzzNamed: the parts of a statement add up to its text, so that only parameters change; there are
// as many placeholders as values; and the result is parsed again without parameters.
func FuzzNamed(f *testing.F) {
	for _, query := range []string{
		`SELECT :a FROM t WHERE b IN (:c) AND d = ':e' -- :f`, `SELECT E'\':a' || $x$ :b $x$::text`, "SELECT `a:b`, [c:d] /* /* :e */ */",
		`SELECT :{a b}, x := :c, y::int; ;`, `SELECT 1 WHERE :a IS NOT NULL OR :a = 1`, "SELECT 'a'\n':b' # :c\n", `SELECT "a""b:c\":d"`, `SELECT : IS NULL, NULL IS NOT NULL`,
	} {
		for d := range 3 {
			f.Add(uint8(d), query, `{"a":1,"c":[1,2,3]}`)
		}
	}
	f.Fuzz(func(t *testing.T, of uint8, query, arguments string) {
		d := dialect(of % 3)
		st, err := parse(d, query)
		if err != nil || !json.Valid([]byte(arguments)) {
			return
		}
		if rest, ok := around(st, query); !ok || rest != "" && rest[0] != ';' {
			t.Fatalf("%s: %q has the parts %+v", d, query, st.parts)
		}
		text, values, err := st.bind([]byte(arguments))
		if err != nil {
			return
		}
		if n := countPlaceholders(t, d, text, st); n != len(values) {
			t.Fatalf("%s: %q became %q: %d placeholders, %d values", d, query, text, n, len(values))
		}
	})
}

// around matches a query with the parts of its statement and returns the rest.
func around(st *statement, query string) (rest string, ok bool) {
	for _, p := range st.parts {
		if query, ok = strings.CutPrefix(query, p.text); !ok {
			return query, false
		}
		if p.param < 0 {
			break
		}
		name, braces := st.names[p.param], ""
		if braces, rest, ok = strings.Cut(query, "}"); ok && strings.HasPrefix(braces, ":{") && strings.TrimSpace(braces[2:]) == name {
			query = rest
		} else if query, ok = strings.CutPrefix(query, ":"+name); !ok {
			return query, false
		}
	}
	return query, true
}

// countPlaceholders counts the different placeholders in SQL for a driver with the scanner, which
// reads them as foreign parameters.
func countPlaceholders(t *testing.T, d dialect, text string, st *statement) int {
	var seen []string
	s := scanner{dialect: d, text: text}
	for s.at < len(s.text) {
		at := s.at
		c, next := s.text[at], s.peek(1)
		if d == postgresDialect && c == '$' && isDigit(next) || d != postgresDialect && c == '?' {
			s.at = s.span(at+1, isName)
			name := s.text[at:s.at]
			if d != postgresDialect || !slices.Contains(seen, name) {
				seen = append(seen, name)
			}
			continue
		}
		tok, err := s.next()
		if err != nil {
			t.Fatalf("%s: %q is not understood any more: %v", d, text, err)
		}
		if tok.kind == param {
			t.Fatalf("%s: %q still has the parameter :%s", d, text, tok.name)
		}
	}
	return len(seen)
}
