package sql

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// An API describes a database in the config.
type API struct {
	Type string `json:"type,omitempty"` // sql or jdbc

	// URL is the address of the database:
	//
	//	sqlite:shop.db                            relative to the config's folder
	//	sqlite:///var/lib/shop.db
	//	sqlite::memory:                           empty, and lost at the end
	//	postgres://user:password@host:5432/shop   with the parameters of libpq
	//	mysql://user:password@host:3306/shop      also MariaDB; with the parameters of go-sql-driver/mysql
	//
	// The same after "jdbc:", with the parameters of JDBC that matter here.
	URL string `json:"url"`

	Username    string `json:"username,omitempty"`    // overrides the one in the URL
	Password    string `json:"password,omitempty"`    // overrides the one in the URL; needs no escapes
	DriverClass string `json:"driverClass,omitempty"` // JDBC's; has no effect

	Write    bool        `json:"write,omitempty"`    // tools with "write": true may write
	MaxRows  int         `json:"maxRows,omitempty"`  // default of the tools' maxRows; 0 means 1,000
	MaxBytes bridge.Size `json:"maxBytes,omitempty"` // default of the tools' maxBytes; 0 means 1 MiB

	Timeout bridge.Duration `json:"timeout,omitempty"` // default of the tools' timeout; default 30 s

	MaxOpen     int             `json:"maxOpen,omitempty"`     // concurrent connections, further calls wait; 0 means 8. For tools that write, MySQL has as many more and SQLite one
	IdleTimeout bridge.Duration `json:"idleTimeout,omitempty"` // time after which an idle connection is closed; default 5 min
	MaxLifetime bridge.Duration `json:"maxLifetime,omitempty"` // time after which a connection is closed; default 30 min
}

// A Spec describes the statement of a tool.
//
// The result of a call is text and structured content. The text is the JSON array of the rows, the
// structured content is {"rows": [...], "truncated": false}. For a statement that writes and
// returns no rows, both are {"affected": 1, "last_id": 7}, with last_id where MySQL or SQLite has
// generated an id; with RETURNING, affected comes beside rows.
//
// Numbers are JSON numbers with all their digits, whatever their size; NaN and the infinities are
// strings. A date is "2006-01-02". A date with a time is RFC 3339 in UTC, which is assumed if the
// database stores no zone. Bytes are base64. JSON columns and PostgreSQL's arrays are JSON.
// Anything else is a string as the database writes it. A second column named name is name_2.
type Spec struct {
	// Query is one SQL statement. :name stands for the argument of that name, :{any name} for
	// one whose name is not an identifier. An absent argument is NULL. In IN (:ids), a list stands
	// for its values, and an empty one for NULL, which matches nothing, also in NOT IN. Elsewhere,
	// lists and objects are JSON text; PostgreSQL's array parameters take a list.
	Query string `json:"query"`

	Write    bool        `json:"write,omitempty"`    // the statement may write; its API must allow it too
	MaxRows  int         `json:"maxRows,omitempty"`  // bounds the rows of a result, which says when there were more; 0 means the API's
	MaxBytes bridge.Size `json:"maxBytes,omitempty"` // bounds the rows as JSON in the same way

	Timeout bridge.Duration `json:"timeout,omitempty"` // bounds a call; default the API's
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

// A poolConfig bounds the connections of a pool.
type poolConfig struct {
	open           int // connections at a time
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

// check refuses a statement that its tool or its API may not run.
func (b *backend) check(st *statement, spec Spec) error {
	switch {
	case spec.MaxRows < 0:
		return fmt.Errorf("maxRows: expected a number above 0, got %d", spec.MaxRows)
	case spec.Write && !b.api.Write:
		return fmt.Errorf(`write: the api %s does not allow it: set "write": true there as well`, b.name)
	}
	return st.mayRun(spec.Write)
}
