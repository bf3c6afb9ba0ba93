package sql

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hostile lists arguments that would have an effect as SQL.
var hostile = []string{
	`' OR '1'='1`, `' OR 1=1 --`, `' OR 1=1 #`, `' OR 1=1/*`, `" OR ""="`, `') OR ('1'='1`, `1 OR 1=1`, `1; DROP TABLE product`,
	`'; DROP TABLE product; --`, `'; DROP TABLE product; #`, `x'; DELETE FROM product WHERE 'a'='a`, `'); DELETE FROM product; --`,
	`\'; DROP TABLE product; --`, `\\'; DROP TABLE product; --`, `\`, `\\`, `'`, `''`, `'''`, `"`, "`", "``", `[`, `]`, `[x]`, `;`, `--`, `-- `, `#`, `/*`, `*/`, `/*!50000 DROP TABLE product */`,
	`$$`, `$a$`, `$$; DROP TABLE product; $$`, `$1`, `?`, `:id`, `:{id}`, `::int`, `@x`, `@@version`, `%`, `%%`, `_`, `%s%n`,
	`' UNION SELECT name FROM product --`, `' UNION ALL SELECT NULL,NULL --`, `UNION SELECT sql FROM sqlite_master`, `' AND (SELECT pg_sleep(10)) IS NULL --`, `' AND SLEEP(10) --`, `1 AND 1=(SELECT COUNT(*) FROM product)`,
	`ATTACH DATABASE '/tmp/x' AS x`, `load_extension('x')`, `COPY product TO PROGRAM 'id'`, `' INTO OUTFILE '/tmp/x`, `E'\\'`, `x'00'`, `CHAR(39)`, `0x27`,
	"\x00", "a\x00b", "a\nb", "\r\n", "\t", "\x1a", "\u2028", "\ufeff", "\u02bc OR 1=1", "\uff07 OR 1=1", "\u00bf'", "\U0001f600'", "\u202e'", "é'", strings.Repeat("'", 1000), strings.Repeat("(", 1000), strings.Repeat("a", 100_000),
	`null`, `NULL`, `true`, `{}`, `[]`, `{"a":"'"}`, `["'"]`, ``, ` `, `'||(SELECT name FROM product LIMIT 1)||'`, `' || pg_read_file('/etc/passwd') || '`, `1e309`, `-1`, `0x1`, `١`,
}

// No argument becomes SQL: it is returned unchanged, matches nothing, and changes nothing.
func TestHostile(t *testing.T) {
	if len(hostile) < 90 {
		t.Fatalf("%d hostile arguments", len(hostile))
	}
	onEach(t, func(t *testing.T, s *shop) {
		s.fill()
		const rows = `SELECT id, name FROM product ORDER BY id`
		before := s.query(rows, `{}`)
		echo := s.tool(`SELECT :x AS x`)
		if s.dialect == mysqlDialect { // without it, the server chooses a character set
			echo = s.tool(`SELECT CAST(:x AS CHAR CHARACTER SET utf8mb4) AS x`)
		}
		find := s.tool(`SELECT id FROM product WHERE name = :x OR name IN (:x, :list) OR name = :x`)
		insert := s.tool(`INSERT INTO note (id, text) VALUES (:id, :x)`, `"write":true`)
		s.write(`DROP TABLE IF EXISTS note`)
		s.write(`CREATE TABLE note (id INTEGER PRIMARY KEY, text ` + map[dialect]string{mysqlDialect: "LONGTEXT"}[s.dialect] + map[dialect]string{sqliteDialect: "TEXT", postgresDialect: "TEXT"}[s.dialect] + `)`)
		type row struct {
			ID   int    `json:"id"`
			Text string `json:"text"`
		}
		var stored []row
		for i, x := range hostile {
			raw, _ := json.Marshal(x)
			arguments := json.RawMessage(`{"id":` + strconv.Itoa(i) + `,"x":` + string(raw) + `,"list":[` + string(raw) + `,` + string(raw) + `,"z"]}`)
			r, err := echo.Call(t.Context(), arguments)
			if err != nil && s.dialect == postgresDialect && strings.Contains(x, "\x00") && strings.Contains(err.Error(), "invalid byte sequence") {
				continue // PostgreSQL's text cannot contain it
			}
			if err != nil {
				t.Fatalf("%.60q: %s", x, describe(err))
			}
			var back []struct{ X string }
			if err := json.Unmarshal([]byte(textOf(t, r)), &back); err != nil || len(back) != 1 || back[0].X != x {
				t.Errorf("%.60q came back as %.60q, %v", x, back, err)
			}
			want(t, strconv.Quote(x), s.must(find, string(arguments)), `[]`)
			s.must(insert, string(arguments))
			stored = append(stored, row{i, x})
		}
		want(t, "the table", s.query(rows, `{}`), before)
		var notes []row
		if err := json.Unmarshal([]byte(s.query(`SELECT id, text FROM note ORDER BY id`, `{}`)), &notes); err != nil || !slices.Equal(notes, stored) {
			t.Errorf("%d notes, want %d as they were sent: %v", len(notes), len(stored), err)
		}
	})
}

// JSON values are bound with their types, and too many values are refused.
func TestArguments(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s.write(`DROP TABLE IF EXISTS v`)
		integer, decimal := "BIGINT", "NUMERIC(40,20)"
		s.write(`CREATE TABLE v (i ` + integer + `, d ` + decimal + `, f DOUBLE PRECISION, t TEXT, b BOOLEAN)`)
		insert := s.tool(`INSERT INTO v VALUES (:i, :d, :f, :t, :b)`, `"write":true`)
		want(t, "insert", s.must(insert, `{"i":9223372036854775807,"d":0.12345678901234567890,"f":1.5e-7,"t":{"a":[1,2.50]},"b":true}`),
			map[dialect]string{sqliteDialect: `{"affected":1,"last_id":1}`, postgresDialect: `{"affected":1}`, mysqlDialect: `{"affected":1}`}[s.dialect])
		s.must(insert, `{"i":-1.20e1,"d":12345678901234567890,"f":2,"t":[1,"a",null],"b":false}`)
		s.must(insert, `{"i":null}`)
		r := s.query(`SELECT i, d, f, t, b FROM v`, `{}`)
		want(t, "rows", r, map[dialect]string{
			sqliteDialect: `[{"i":9223372036854775807,"d":0.12345678901234568,"f":1.5e-07,"t":"{\"a\":[1,2.50]}","b":true},` +
				`{"i":-12,"d":12345678901234567000,"f":2,"t":"[1,\"a\",null]","b":false},{"i":null,"d":null,"f":null,"t":null,"b":null}]`,
			postgresDialect: `[{"i":9223372036854775807,"d":0.12345678901234567890,"f":1.5e-07,"t":"{\"a\":[1,2.50]}","b":true},` +
				`{"i":-12,"d":12345678901234567890.00000000000000000000,"f":2,"t":"[1,\"a\",null]","b":false},{"i":null,"d":null,"f":null,"t":null,"b":null}]`,
			mysqlDialect: `[{"i":9223372036854775807,"d":0.12345678901234567890,"f":1.5e-07,"t":"{\"a\":[1,2.50]}","b":1},` +
				`{"i":-12,"d":12345678901234567890.00000000000000000000,"f":2,"t":"[1,\"a\",null]","b":0},{"i":null,"d":null,"f":null,"t":null,"b":null}]`,
		}[s.dialect])
		find := s.tool(`SELECT count(*) AS n FROM v WHERE i IN (:ids)`)
		want(t, "many values", s.must(find, `{"ids":[-12`+strings.Repeat(",5", 9_999)+`]}`), `[{"n":1}]`)
		if _, err := find.Call(t.Context(), json.RawMessage(`{"ids":[1`+strings.Repeat(",5", 10_000)+`]}`)); err == nil || err.Error() != "ids: expected a list of at most 10000 values" {
			t.Errorf("too many values: %v", err)
		}
	})
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want any // for MySQL
		text string
	}{
		{`0`, int64(0), "0"}, {`-0`, int64(0), "0"}, {`-0.0e5`, int64(0), "0"}, {`12.0`, int64(12), "12"}, {`1e2`, int64(100), "100"}, {`120e-1`, int64(12), "12"},
		{`9223372036854775807`, int64(9223372036854775807), "9223372036854775807"}, {`-9223372036854775808`, int64(-9223372036854775808), "-9223372036854775808"},
		{`9223372036854775808`, "9223372036854775808", "9223372036854775808"}, {`-12345678901234567890.0`, "-12345678901234567890", "-12345678901234567890"},
		{`1.5`, 1.5, "1.5"}, {`-1.5e-3`, -0.0015, "-1.5e-3"}, {`0.123456789012345`, 0.123456789012345, "0.123456789012345"},
		{`0.1234567890123456`, "0.1234567890123456", "0.1234567890123456"}, {`1e400`, "1e400", "1e400"}, {`1e-400`, "1e-400", "1e-400"},
		{`1e99999999999999999999`, "1e99999999999999999999", "1e99999999999999999999"}, {`1E+30`, "1000000000000000000000000000000", "1000000000000000000000000000000"},
	} {
		f, _ := strconv.ParseFloat(c.raw, 64)
		if i, isInt := c.want.(int64); isInt {
			if got := (&statement{dialect: sqliteDialect}).number(c.raw); got != i {
				t.Errorf("SQLite: %s: %T %v", c.raw, got, got)
			}
		} else if got := (&statement{dialect: sqliteDialect}).number(c.raw); got != f {
			t.Errorf("SQLite: %s: %T %v, want %v", c.raw, got, got, f)
		}
		if got := (&statement{dialect: mysqlDialect}).number(c.raw); got != c.want {
			t.Errorf("%s: %T %v, want %T %v", c.raw, got, got, c.want, c.want)
		}
		want(t, c.raw, string(parameters([]any{(&statement{dialect: postgresDialect}).number(c.raw)}, nil, nil)[0]), c.text)
	}
}
