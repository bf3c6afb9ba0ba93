package sql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strconv"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// BenchmarkCall compares a call of a tool with database/sql alone, with the same query, encoding
// and result. The ratio may be 1.3.
func BenchmarkCall(b *testing.B) {
	for _, d := range []dialect{sqliteDialect, postgresDialect, mysqlDialect} {
		for _, rows := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/rows=%d", d, rows), func(b *testing.B) { benchmark(b, d, rows) })
		}
	}
}

func benchmark(b *testing.B, d dialect, rows int) {
	s := newShop(b, d, "")
	s.write(`DROP TABLE IF EXISTS item`)
	s.write(`CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(100), price DOUBLE PRECISION, customerid BIGINT)`)
	insert := s.tool(`INSERT INTO item VALUES (:id, :name, :price, :customerid)`, `"write":true`)
	for i := range rows {
		s.must(insert, fmt.Sprintf(`{"id":%d,"name":"the name of number %d","price":%d.25,"customerid":%d}`, i, i, i, i%10))
	}
	tool := s.tool(`SELECT id, name, price, customerid FROM item WHERE id < :n ORDER BY id`)
	arguments, bare := fmt.Sprintf(`{"n":%d}`, rows), s.bare(b)
	want(b, "the result", string(sourcetest.Do(b, tool, arguments).JSON), string(bare(int64(rows))))
	sourcetest.Compare(b, tool, arguments, func() error {
		bare(int64(rows))
		return nil
	})
}

// bare returns a function that makes the result with database/sql alone.
func (s *shop) bare(b *testing.B) func(n int64) []byte {
	b.Helper()
	var c driver.Connector
	query := `SELECT id, name, price, customerid FROM item WHERE id < ? ORDER BY id`
	switch e := s.Backend.(*backend).engine.(type) {
	case *sqliteEngine:
		c = e.readers.connector.(connector).Connector
	case *postgresEngine:
		query = `SELECT id, name, price, customerid FROM item WHERE id < $1 ORDER BY id`
		c = e.pool.connector.(connector).Connector
	case *pools:
		c = e.readers.connector.(connector).Connector
	}
	db := sql.OpenDB(c)
	b.Cleanup(func() { db.Close() })
	return func(n int64) []byte {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		rows, err := db.QueryContext(ctx, query, n)
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			b.Fatal(err)
		}
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range into {
			into[i] = &values[i]
		}
		all := []byte("[")
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				b.Fatal(err)
			}
			if len(all) > 1 {
				all = append(all, ',')
			}
			all = append(all, '{')
			for i, name := range columns {
				if i > 0 {
					all = append(all, ',')
				}
				all = append(wire.AppendString(all, name), ':')
				switch v := values[i].(type) {
				case int64:
					all = strconv.AppendInt(all, v, 10)
				case float64:
					all = strconv.AppendFloat(all, v, 'f', -1, 64)
				case string:
					all = wire.AppendString(all, v)
				case []byte:
					all = wire.AppendString(all, string(v))
				}
			}
			all = append(all, '}')
		}
		if err := rows.Err(); err != nil {
			b.Fatal(err)
		}
		all = append(all, ']')
		result := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), string(all))
		result = append(append(result, `}],"structuredContent":{"rows":`...), all...)
		return append(result, `,"truncated":false}}`...)
	}
}
