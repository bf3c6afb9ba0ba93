package sql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// BenchmarkCall is a call of a tool through a source, and of the tool alone, against
// database/sql alone with the same query, encoding and result. The ratios to that are the
// metrics, of medians, as other work may run here; 1.3 is what the first may be.
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
	session, arguments, bare := native(b, tool), fmt.Sprintf(`{"n":%d}`, rows), s.bare(b)
	runs := []func() []byte{
		func() []byte { return callNative(b.Context(), session, "t", arguments).Result },
		func() []byte {
			r, err := tool.Call(b.Context(), []byte(arguments))
			if err != nil {
				b.Fatal(describe(err))
			}
			return r.JSON
		},
		func() []byte { return bare(int64(rows)) },
	}
	for _, run := range runs {
		want(b, "the result", string(run()), string(bare(int64(rows))))
	}
	times := make([][]time.Duration, len(runs))
	for b.Loop() { // in turn, so that what else runs here slows all
		for i, run := range runs {
			begun := time.Now()
			run()
			times[i] = append(times[i], time.Since(begun))
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2])
	}
	b.ReportMetric(median(0)/median(2), "ratio")
	b.ReportMetric(median(1)/median(2), "tool-ratio")
	b.ReportMetric(median(2), "bare-ns")
	b.ReportMetric(0, "ns/op")
}

// bare makes the result of the query with database/sql alone.
func (s *shop) bare(b *testing.B) func(n int64) []byte {
	b.Helper()
	var c driver.Connector
	query := `SELECT id, name, price, customerid FROM item WHERE id < ? ORDER BY id`
	switch e := s.Backend.(*backend).engine.(type) {
	case *sqliteEngine:
		c = e.readers.connector.(connector).Connector
	case *postgresEngine:
		query = `SELECT id, name, price, customerid FROM item WHERE id < $1 ORDER BY id`
		c = e.pool.connector.(marking).Connector
	case *mysqlEngine:
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
