package sql

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// expression is an SQL expression and the JSON of its value.
type expression struct{ sql, json string }

// Values of each system's types become JSON.
var expressions = map[dialect][]expression{
	sqliteDialect: {
		{`NULL`, `null`}, {`9223372036854775807`, `9223372036854775807`}, {`-5`, `-5`}, {`1.0`, `1`}, {`0.1`, `0.1`}, {`1e300`, `1e+300`}, {`9e999`, `"Infinity"`}, {`-9e999`, `"-Infinity"`},
		{`'a"b\é'`, `"a\"b\\é"`}, {`x'00ff'`, `"AP8="`}, {`x''`, `""`}, {`CAST(x'ff41' AS TEXT)`, `"/0E="`}, {`1 = 1`, `1`}, {`'2024-01-02'`, `"2024-01-02"`}, {`char(0)`, `"\u0000"`},
		{`json('{"a": [1, 2.50]}')`, `"{\"a\":[1,2.50]}"`},
	},
	postgresDialect: {
		{`NULL`, `null`}, {`1::smallint`, `1`}, {`9223372036854775807`, `9223372036854775807`}, {`12345678901234567890.120`, `12345678901234567890.120`}, {`'NaN'::numeric`, `"NaN"`}, {`1e-7::numeric`, `0.0000001`},
		{`0.1::float8`, `0.1`}, {`0.1::real`, `0.1`}, {`1e300::float8`, `1e+300`}, {`'-Infinity'::float8`, `"-Infinity"`}, {`true`, `true`}, {`false`, `false`}, {`1::oid`, `1`}, {`'$1.50'::money`, `"$1.50"`},
		{`'a"b\é'`, `"a\"b\\é"`}, {`'\x00ff'::bytea`, `"AP8="`}, {`''::bytea`, `""`}, {`'x'::"char"`, `"x"`}, {`B'101'`, `"101"`},
		{`date '2024-01-02'`, `"2024-01-02"`}, {`'infinity'::date`, `"infinity"`}, {`timestamp '2024-01-02 03:04:05.120'`, `"2024-01-02T03:04:05.12Z"`}, {`'infinity'::timestamp`, `"infinity"`}, {`timestamp '0044-03-15 01:02:03 BC'`, `"0044-03-15 01:02:03 BC"`},
		{`timestamptz '2024-01-02 03:04:05+00'`, `"2024-01-02T03:04:05Z"`}, {`timestamptz '12024-01-02 03:04:05+00'`, `"12024-01-02 03:04:05+00"`}, {`time '03:04:05'`, `"03:04:05"`}, {`interval '1 day 2 hours'`, `"1 day 02:00:00"`},
		{`'{"b": 1.50, "a": [null, 12345678901234567890]}'::json`, `{"b": 1.50, "a": [null, 12345678901234567890]}`}, {`'{"b": 1.50, "a": []}'::jsonb`, `{"a": [], "b": 1.50}`}, {"'{\"a\":\n1}'::json", `{"a": 1}`}, {`'null'::json`, `null`},
		{`('` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `')::jsonb::text::jsonb`, `"` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `"`},
		{`'f47ac10b-58cc-4372-a567-0e02b2c3d479'::uuid`, `"f47ac10b-58cc-4372-a567-0e02b2c3d479"`}, {`'10.0.0.0/8'::cidr`, `"10.0.0.0/8"`}, {`point(1,2)`, `"(1,2)"`}, {`row(1,'a')`, `"(1,a)"`}, {`int4range(1,5)`, `"[1,5)"`},
		{`ARRAY[1,2,NULL]`, `[1,2,null]`}, {`'{}'::int[]`, `[]`}, {`ARRAY[[1,2],[3,4]]`, `[[1,2],[3,4]]`}, {`'[0:1]={5,6}'::int[]`, `[5,6]`}, {`ARRAY['a','b c','d"e\f','NULL',NULL,'','{},']`, `["a","b c","d\"e\\f","NULL",null,"","{},"]`},
		{`ARRAY[true,false]`, `[true,false]`}, {`ARRAY[1.50,2]::numeric[]`, `[1.50,2]`}, {`ARRAY['{"a":1}'::jsonb]`, `[{"a": 1}]`}, {`ARRAY[timestamp '2024-01-02 03:04:05']`, `["2024-01-02T03:04:05Z"]`}, {`ARRAY['\x00ff'::bytea]`, `["AP8="]`},
		{`ARRAY[box '((1,1),(0,0))', box '((3,3),(2,2))']`, `["(1,1),(0,0)","(3,3),(2,2)"]`}, {`ARRAY[date '2024-01-02']`, `["2024-01-02"]`}, {`'{NaN,1}'::float8[]`, `["NaN",1]`}, {`'1 2'::int2vector`, `"1 2"`}, {`ARRAY[int4range(1,3)]`, `["[1,3)"]`}, {`ARRAY[time with time zone '01:02:03+04']`, `["01:02:03+04"]`},
	},
	mysqlDialect: {
		{`NULL`, `null`}, {`9223372036854775807`, `9223372036854775807`}, {`CAST(18446744073709551615 AS UNSIGNED)`, `18446744073709551615`}, {`12345678901234567890.120`, `12345678901234567890.120`}, {`-0.50`, `-0.50`},
		{`1e300`, `1e+300`}, {`CAST(0.1 AS DOUBLE)`, `0.1`}, {`CAST(0.1 AS FLOAT)`, `0.1`}, {`TRUE`, `1`}, {`b'101'`, `"BQ=="`}, {`'a"b\\é'`, `"a\"b\\é"`}, {`x'00ff'`, `"AP8="`}, {`CAST('' AS BINARY)`, `""`},
		{`DATE '2024-01-02'`, `"2024-01-02"`}, {`TIMESTAMP '2024-01-02 03:04:05'`, `"2024-01-02T03:04:05Z"`}, {`TIMESTAMP '2024-01-02 03:04:05.120000'`, `"2024-01-02T03:04:05.120000Z"`}, {`TIME '103:04:05'`, `"103:04:05"`},
		{`CAST('a' AS CHAR)`, `"a"`}, {`UNIX_TIMESTAMP('1970-01-02 00:00:00')`, `86400`}, {`FROM_UNIXTIME(0)`, `"1970-01-01T00:00:00Z"`}, {`JSON_OBJECT('a', 1)`, `"{\"a\": 1}"`},
	},
}

func TestTypes(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		for _, e := range expressions[s.dialect] {
			want(t, e.sql, s.query(`SELECT `+e.sql+` AS v`, `{}`), `[{"v":`+e.json+`}]`)
		}
	})
}

// In SQLite, a value has a type only if the table declares it.
func TestSQLiteDeclaredTypes(t *testing.T) {
	s := newShop(t, sqliteDialect, "")
	s.write(`CREATE TABLE t (b BOOLEAN, d DATE, dt DATETIME, ts TIMESTAMP, j JSON, n DECIMAL(10,2))`)
	insert := s.tool(`INSERT INTO t VALUES (:b, :d, :dt, :ts, :j, :n)`, `"write":true`)
	s.must(insert, `{"b":true,"d":"2024-01-02","dt":"2024-01-02 03:04:05","ts":"2024-01-02T03:04:05.5+02:00","j":{"a":1.50},"n":1.5}`)
	s.must(insert, `{"b":7,"d":"2024-01-02 03:04:05","dt":"2024-01-02","ts":1700000000,"j":"not JSON","n":"x"}`)
	s.must(insert, `{"b":"yes","d":"someday","dt":"","j":"1],[2"}`)
	want(t, "rows", s.query(`SELECT * FROM t`, `{}`), `[{"b":true,"d":"2024-01-02","dt":"2024-01-02T03:04:05Z","ts":"2024-01-02T03:04:05.5+02:00","j":{"a":1.50},"n":1.5},`+
		`{"b":7,"d":"2024-01-02T03:04:05Z","dt":"2024-01-02T00:00:00Z","ts":1700000000,"j":"not JSON","n":"x"},{"b":"yes","d":"someday","dt":"","ts":null,"j":"1],[2","n":null}]`)
	want(t, "by day", s.query(`SELECT b FROM t WHERE d = :d`, `{"d":"2024-01-02"}`), `[{"b":true}]`)
	want(t, "a list as JSON", s.query(`SELECT value AS v FROM json_each(:list)`, `{"list":[1,"a",2.5]}`), `[{"v":1},{"v":"a"},{"v":2.5}]`)
	want(t, "the schema", s.query(`SELECT name FROM pragma_table_info('t') LIMIT 1`, `{}`), `[{"name":"b"}]`)
}

// In PostgreSQL, an array parameter takes a list, a JSON parameter takes it as JSON.
func TestPostgresArrays(t *testing.T) {
	s := newShop(t, postgresDialect, "")
	for _, c := range []struct{ query, arguments, want string }{
		{`SELECT v FROM unnest(ARRAY[1,2,3]) v WHERE v = ANY(:ids)`, `{"ids":[3,1]}`, `[{"v":1},{"v":3}]`},
		{`SELECT :a::text[] AS a`, `{"a":["a","b\"c\\d","","NULL",null,"{,}"]}`, `[{"a":["a","b\"c\\d","","NULL",null,"{,}"]}]`},
		{`SELECT :a::numeric[] AS a`, `{"a":[[1.50,12345678901234567890],[3,4]]}`, `[{"a":[[1.50,12345678901234567890],[3,4]]}]`},
		{`SELECT :a::bool[] AS a`, `{"a":[true,false]}`, `[{"a":[true,false]}]`},
		{`SELECT :a::jsonb[] AS a`, `{"a":[{"b":"c"}]}`, `[{"a":[{"b": "c"}]}]`},
		{`SELECT :a::int[] AS a`, `{"a":[]}`, `[{"a":[]}]`},
		{`SELECT :a::jsonb AS a`, `{"a":[1,{"b":2.50}]}`, `[{"a":[1, {"b": 2.50}]}]`},
		{`SELECT :a::jsonb -> 'b' AS a`, `{"a":{"b":12345678901234567890}}`, `[{"a":12345678901234567890}]`},
		{`SELECT :d::date + :n::int AS d`, `{"d":"2024-02-28","n":2}`, `[{"d":"2024-03-01"}]`},
	} {
		want(t, c.query+" "+c.arguments, s.query(c.query, c.arguments), c.want)
	}
}

// Text is UTF-8 both ways, also in a database that stores it otherwise.
func TestPostgresEncoding(t *testing.T) {
	s := newShop(t, postgresDialect, "")
	s.write(`DROP DATABASE IF EXISTS latin`)
	s.write(`CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
	u, err := url.Parse(os.Getenv(postgresVariable))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/latin"
	latin := openShop(t, postgresDialect, "", fmt.Sprintf(`{"type":"sql","url":%q}`, u))
	want(t, "text", latin.query(`SELECT chr(233) AS c, :v AS v, length(:v) AS n`, `{"v":"café"}`), `[{"c":"é","v":"café","n":4}]`)
}

// The text of bytes has one of two forms, as bytea_output says.
func TestBytea(t *testing.T) {
	for text, wanted := range map[string]string{
		`\x00ff41`: "AP9B", ``: "", `A\000\377\\x`: "QQD/XHg=", `\\x41`: "XHg0MQ==", `\`: "XA==", `\9`: "OQ==",
	} {
		want(t, text, string(postgresFormat(pgtype.NewMap(), pgtype.ByteaOID).append(nil, []byte(text))), `"`+wanted+`"`)
	}
}

// In PostgreSQL, arrays of types that the database defines are lists, too.
func TestPostgresOwnTypes(t *testing.T) {
	s := newShop(t, postgresDialect, "")
	s.write(`DROP TYPE IF EXISTS mood, pair`)
	s.write(`DROP DOMAIN IF EXISTS positive`)
	s.write(`CREATE TYPE mood AS ENUM ('ok', 'so, so', 'sad')`)
	s.write(`CREATE TYPE pair AS (a int, b text)`)
	s.write(`CREATE DOMAIN positive AS int CHECK (VALUE > 0)`)
	for _, c := range []struct{ query, arguments, want string }{
		{`SELECT ARRAY['ok','so, so',NULL]::mood[] AS m, 'sad'::mood AS one`, `{}`, `[{"m":["ok","so, so",null],"one":"sad"}]`},
		{`SELECT ARRAY[1,2]::positive[] AS p, 3::positive AS one`, `{}`, `[{"p":[1,2],"one":3}]`},
		{`SELECT ARRAY[ROW(1,'x')::pair] AS p, ROW(1,'x')::pair AS one`, `{}`, `[{"p":["(1,x)"],"one":"(1,x)"}]`},
		{`SELECT v FROM unnest(enum_range(NULL::mood)) v WHERE v = ANY(:moods)`, `{"moods":["sad","ok"]}`, `[{"v":"ok"},{"v":"sad"}]`},
	} {
		for range 2 { // learned, and known
			want(t, c.query, s.query(c.query, c.arguments), c.want)
		}
	}
}

// Times of MySQL are in UTC, whatever the zone of the server.
func TestMySQLTimes(t *testing.T) {
	s := newShop(t, mysqlDialect, "")
	s.write(`DROP TABLE IF EXISTS t`)
	s.write(`CREATE TABLE t (ts TIMESTAMP(3) NULL, dt DATETIME, y YEAR, j JSON, b BLOB, vb VARBINARY(3), f FLOAT, e ENUM('a','b'), z INT(5) ZEROFILL, bt BIT(12))`)
	s.write(`INSERT INTO t VALUES ('2024-01-02 03:04:05.5', '2024-01-02 03:04:05', 2024, '{"a":1.50}', x'00ff', x'41', 0.1, 'b', 42, b'101000000001')`)
	want(t, "rows", s.query(`SELECT * FROM t`, `{}`), `[{"ts":"2024-01-02T03:04:05.500Z","dt":"2024-01-02T03:04:05Z","y":2024,"j":"{\"a\":1.50}","b":"AP8=","vb":"QQ==","f":0.1,"e":"b","z":42,"bt":2561}]`)
	want(t, "zone", s.query(`SELECT @@session.time_zone AS z`, `{}`), `[{"z":"+00:00"}]`)
}

// So are those of PostgreSQL, unless the URL names another zone.
func TestPostgresTimes(t *testing.T) {
	s := newShop(t, postgresDialect, "")
	s.write(`ALTER ROLE CURRENT_USER SET timezone = 'America/New_York'`)
	defer s.write(`ALTER ROLE CURRENT_USER RESET timezone`)
	for parameter, wanted := range map[string]string{
		"": "2024-01-02T03:04:05Z", "TimeZone=Asia/Tokyo": "2024-01-02T12:04:05+09:00", "options=-c TimeZone=Asia/Tokyo": "2024-01-02T12:04:05+09:00",
	} {
		u, err := url.Parse(os.Getenv(postgresVariable))
		if err != nil {
			t.Fatal(err)
		}
		if name, value, ok := strings.Cut(parameter, "="); ok {
			all := u.Query()
			all.Set(name, value)
			u.RawQuery = strings.ReplaceAll(all.Encode(), "+", "%20") // a plus is one in a URL of PostgreSQL
		}
		zoned := openShop(t, postgresDialect, "", fmt.Sprintf(`{"type":"sql","url":%q}`, u))
		want(t, parameter, zoned.query(`SELECT timestamptz '2024-01-02 03:04:05+00' AS v`, `{}`), `[{"v":"`+wanted+`"}]`)
	}
}

func TestInstant(t *testing.T) {
	for text, wanted := range map[string]string{
		"2024-01-02 03:04:05": "2024-01-02T03:04:05Z", "2024-01-02 03:04:05.123456": "2024-01-02T03:04:05.123456Z", "2024-01-02 03:04:05+00": "2024-01-02T03:04:05Z",
		"2024-01-02 03:04:05+02": "2024-01-02T03:04:05+02:00", "2024-01-02 03:04:05.5-03:30": "2024-01-02T03:04:05.5-03:30", "1880-01-02 00:00:00+00:53:28": "1880-01-01T23:06:32Z",
		"0000-00-00 00:00:00": "0000-00-00 00:00:00", "0000-00-00 00:00:00.000000": "0000-00-00 00:00:00.000000", "2024-00-01 00:00:00": "2024-00-01 00:00:00", "infinity": "infinity", "": "",
		"2024-01-02 03:04:05 BC": "2024-01-02 03:04:05 BC", "12024-01-02 03:04:05": "12024-01-02 03:04:05", "2024-01-02": "2024-01-02", "2024-01-02T03:04:05": "2024-01-02T03:04:05", "2024-01-02 03:04:05x": "2024-01-02 03:04:05x", "2024-01-02 03:04:05.": "2024-01-02 03:04:05.",
	} {
		want(t, text, string(appendInstant(nil, text)), `"`+wanted+`"`)
	}
}

// FuzzArray: any text of an array becomes JSON, and a list that is sent to PostgreSQL comes back
// unchanged.
func FuzzArray(f *testing.F) {
	for _, text := range []string{`{1,2,NULL}`, `{{a,"b\"c"},{"",d}}`, `[0:1]={5,6}`, `{,}`, `{`, `}{`, `{"`, `{"\`, ``, `["a","b\u0000\"\\",["c"],null]`, `[1,true,{"a":[]}]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, oid := range []uint32{pgtype.TextArrayOID, pgtype.NumericArrayOID, pgtype.JSONBArrayOID, pgtype.ByteaArrayOID, pgtype.BoxArrayOID} {
			if got := postgresFormat(pgtype.NewMap(), oid).append(nil, []byte(text)); !json.Valid(got) {
				t.Fatalf("%q became %s", text, got)
			}
		}
		var list []string
		if json.Unmarshal([]byte(text), &list) != nil || len(list) == 0 || strings.Contains(text, "null") {
			return
		}
		raw, _ := json.Marshal(list)
		got := postgresFormat(pgtype.NewMap(), pgtype.TextArrayOID).append(nil, appendArray(nil, raw))
		var back []string
		if err := json.Unmarshal(got, &back); err != nil || !slices.Equal(back, list) {
			t.Fatalf("%s came back as %s", raw, got)
		}
	})
}
