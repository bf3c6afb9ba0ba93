package sql

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// An API is what the config says about a database.
type API struct {
	Type string `json:"type,omitempty"` // sql or jdbc

	// URL says which database it is:
	//
	//	sqlite:shop.db                            relative to the config's folder
	//	sqlite:///var/lib/shop.db
	//	sqlite::memory:                           empty, and gone at the end
	//	postgres://user:password@host:5432/shop   the parameters of libpq
	//	mysql://user:password@host:3306/shop      MariaDB too; the parameters of go-sql-driver/mysql
	//
	// The same behind "jdbc:", with the parameters of JDBC that matter here.
	URL string `json:"url"`

	Username    string `json:"username,omitempty"`    // in the place of the one in the URL
	Password    string `json:"password,omitempty"`    // likewise; here it may have any characters
	DriverClass string `json:"driverClass,omitempty"` // of JDBC: has no effect

	Write    bool        `json:"write,omitempty"`    // tools that say so may write
	MaxRows  int         `json:"maxRows,omitempty"`  // the default of the tools' maxRows; 0: 1,000
	MaxBytes bridge.Size `json:"maxBytes,omitempty"` // the default of the tools' maxBytes; 0: 1 MiB

	Timeout bridge.Duration `json:"timeout,omitempty"` // the default of the tools' timeout; default 30 s

	MaxOpen     int             `json:"maxOpen,omitempty"`     // connections at once, for which other calls wait; 0: 8. For tools that write MySQL has as many again, SQLite one
	IdleTimeout bridge.Duration `json:"idleTimeout,omitempty"` // a connection nobody uses is closed after this; default 5 min
	MaxLifetime bridge.Duration `json:"maxLifetime,omitempty"` // a connection is closed after this; default 30 min
}

// A Spec is what the definition of a tool says.
//
// A call's result is text and structured content. The text is the JSON array of the
// rows, the structured content {"rows": [...], "truncated": false}. A statement that
// writes and gives no rows has {"affected": 1, "last_id": 7} as both, the latter where
// MySQL or SQLite has given a row its id; one that gives rows, by RETURNING, has affected
// beside rows.
//
// Numbers are JSON numbers with all their digits, whatever their size; NaN and the
// infinities are strings. A date is "2006-01-02", a time with a date is RFC 3339: in UTC,
// which is also taken for what the database keeps without a zone. Bytes are base64. What
// the database has as JSON, and PostgreSQL's arrays, are JSON. All else is a string as
// the database writes it. A second column of the same name is name_2.
type Spec struct {
	// Query is one SQL statement. :name is the argument of that name, :{any name} one
	// whose name is no identifier. What is not given is NULL. In IN (:ids) a list is its
	// values, an empty one NULL, which matches nothing, also in NOT IN. Elsewhere lists
	// and objects are JSON text; PostgreSQL's array parameters take a list.
	Query string `json:"query"`

	Write    bool        `json:"write,omitempty"`    // it may write; its API must say so too
	MaxRows  int         `json:"maxRows,omitempty"`  // rows in a result, which says when there were more; 0: the API's
	MaxBytes bridge.Size `json:"maxBytes,omitempty"` // of the rows as JSON, likewise

	Timeout bridge.Duration `json:"timeout,omitempty"` // of a call; default the API's
}

// The defaults of an API and its tools.
const (
	defaultRows        = 1000
	defaultBytes       = 1 << 20
	defaultOpen        = 8
	defaultIdleTimeout = 5 * time.Minute
	defaultMaxLifetime = 30 * time.Minute
)

// limits bound the result of a call.
type limits struct{ rows, bytes int }

func limitsOf(s Spec, a API) limits {
	return limits{cmp.Or(s.MaxRows, a.MaxRows, defaultRows), int(cmp.Or(s.MaxBytes, a.MaxBytes, defaultBytes))}
}

// A poolConfig says how many connections there are and for how long.
type poolConfig struct {
	open           int
	idle, lifetime time.Duration
}

func (a *API) pool() (poolConfig, error) {
	c := poolConfig{
		open:     cmp.Or(a.MaxOpen, defaultOpen),
		idle:     cmp.Or(time.Duration(a.IdleTimeout), defaultIdleTimeout),
		lifetime: cmp.Or(time.Duration(a.MaxLifetime), defaultMaxLifetime),
	}
	for _, n := range []struct {
		key   string
		value int
	}{{"maxOpen", a.MaxOpen}, {"maxRows", a.MaxRows}} {
		if n.value < 0 {
			return c, fmt.Errorf("%s: expected a number above 0, got %d", n.key, n.value)
		}
	}
	return c, nil
}

// check holds a statement to what its tool and its API may do.
func (b *backend) check(st *statement, spec Spec) error {
	switch {
	case spec.MaxRows < 0:
		return fmt.Errorf("maxRows: expected a number above 0, got %d", spec.MaxRows)
	case spec.Write && !b.api.Write:
		return fmt.Errorf(`write: the api %s does not allow it: set "write": true there too`, b.name)
	}
	return st.mayRun(spec.Write)
}
