package sql

import (
	"testing"
)

// One query, three systems: rows in order, exact numbers, lists, absent arguments.
func TestQuery(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s.fill()
		for _, c := range []struct{ query, arguments, want string }{
			{`SELECT id, name FROM product ORDER BY id`, `{}`, `[{"id":1,"name":"nut"},{"id":2,"name":"bolt"},{"id":3,"name":"it's"}]`},
			{`SELECT id FROM product WHERE customerid = :customerid ORDER BY id`, `{"customerid":7}`, `[{"id":1},{"id":2}]`},
			{`SELECT id FROM product WHERE customerid = :customerid`, `{"customerid":9007199254740993}`, `[{"id":3}]`},
			{`SELECT id FROM product WHERE customerid = :customerid`, `{"customerid":9007199254740992}`, `[]`},
			{`SELECT id FROM product WHERE id >= :id AND name = :name AND id = :id`, `{"name":"bolt","id":2}`, `[{"id":2}]`},
			{`SELECT id FROM product WHERE name = :name;`, `{"name":"it's"}`, `[{"id":3}]`},
			{`SELECT id FROM product WHERE id IN (:ids) ORDER BY id`, `{"ids":[3,1,99]}`, `[{"id":1},{"id":3}]`},
			{`SELECT id FROM product WHERE id IN (:ids)`, `{"ids":[]}`, `[]`},
			{`SELECT id FROM product WHERE id IN (:ids)`, `{"ids":2}`, `[{"id":2}]`},
			{`SELECT id FROM product WHERE id IN (:ids)`, `{}`, `[]`},
			{`SELECT id FROM product WHERE id NOT IN (:ids, :more) ORDER BY id`, `{"ids":[1],"more":[2]}`, `[{"id":3}]`},
			{`SELECT id FROM product WHERE name IN (:names) ORDER BY id`, `{"names":["nut","it's","a","b","c"]}`, `[{"id":1},{"id":3}]`},
			{`SELECT id FROM product WHERE (:name IS NULL OR name = :name) ORDER BY id`, `{}`, `[{"id":1},{"id":2},{"id":3}]`},
			{`SELECT id FROM product WHERE (:name IS NULL OR name = :name) ORDER BY id`, `{"name":"nut"}`, `[{"id":1}]`},
			{`SELECT id FROM product WHERE (:name IS NULL OR name = :name) ORDER BY id`, `{"name":null}`, `[{"id":1},{"id":2},{"id":3}]`},
			{`SELECT id FROM product ORDER BY id LIMIT :limit`, `{"limit":1}`, `[{"id":1}]`},
			{`SELECT id AS a, id AS a, name AS a, id AS a_2 FROM product WHERE id = 1`, `{}`, `[{"a":1,"a_3":1,"a_4":"nut","a_2":1}]`},
			{`SELECT id FROM product WHERE id = :{the id}`, `{"the id":2}`, `[{"id":2}]`},
			{`SELECT count(*) AS n FROM product WHERE 1 = 0`, `{}`, `[{"n":0}]`},
			{`WITH p AS (SELECT id FROM product) SELECT max(id) AS m FROM p`, `{}`, `[{"m":3}]`},
			{`SELECT price FROM product ORDER BY id`, `{}`, map[dialect]string{
				sqliteDialect: `[{"price":"1.5000000000"},{"price":"12345678901234567890.0123456789"},{"price":null}]`,
			}[s.dialect]},
		} {
			if c.want == "" {
				c.want = `[{"price":1.5000000000},{"price":12345678901234567890.0123456789},{"price":null}]`
			}
			want(t, c.query+" "+c.arguments, s.query(c.query, c.arguments), c.want)
		}
	})
}
