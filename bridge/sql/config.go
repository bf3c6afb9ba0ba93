package sql

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
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
	// The same after "jdbc:", with the parameters of JDBC that matter here. A certificate is verified
	// with sslmode=verify-full or verify-ca, and with tls=true of MySQL: by BackendConfig.Roots,
	// unless sslrootcert names a file.
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
// strings. A date is "2006-01-02". A date with a time is RFC 3339; UTC is assumed if the database
// stores no zone. It is the time zone of the connections to servers, too, unless the URL of a
// PostgreSQL server names another one, as in "?timezone=Europe/Berlin". Bytes are base64. JSON
// columns and PostgreSQL's arrays are JSON; MariaDB's JSON columns are text, as it does not tell
// them apart. Anything else is a string as the database writes it. A second column named name is name_2.
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

// A poolConfig bounds the connections of a pool.
type poolConfig struct {
	open           int // connections at a time
	idle, lifetime time.Duration
}

func (a *API) pool() poolConfig {
	return poolConfig{
		open:     cmp.Or(a.MaxOpen, defaultOpen),
		idle:     cmp.Or(time.Duration(a.IdleTimeout), defaultIdleTimeout),
		lifetime: cmp.Or(time.Duration(a.MaxLifetime), defaultMaxLifetime),
	}
}

// connect sets the engine for the URL of the API, without connecting. Errors never show the URL,
// which may have a password in it.
func (b *backend) connect(dir string) (err error) {
	switch {
	case b.api.MaxOpen < 0:
		return fmt.Errorf("maxOpen: expected a number above 0, got %d", b.api.MaxOpen)
	case b.api.MaxRows < 0:
		return fmt.Errorf("maxRows: expected a number above 0, got %d", b.api.MaxRows)
	}
	scheme, rest, found := strings.Cut(b.api.URL, ":")
	if b.jdbc = strings.EqualFold(scheme, "jdbc"); b.jdbc {
		scheme, rest, found = strings.Cut(rest, ":")
	}
	if !found || !isScheme(scheme) {
		return errors.New("url: expected sqlite:…, postgres://… or mysql://…")
	}
	b.secrets.Add(b.api.Password)
	switch strings.ToLower(scheme) {
	case "sqlite", "sqlite3":
		b.dialect = sqliteDialect
		b.engine, err = newSQLite(rest, dir, b.api.pool())
	case "postgres", "postgresql":
		b.dialect = postgresDialect
		b.engine, err = b.newPostgres(rest)
	case "mysql", "mariadb":
		b.dialect = mysqlDialect
		b.engine, err = b.newMySQL(rest)
	case "h2":
		return errors.New("url: H2 runs only in Java: expected sqlite:…, postgres://… or mysql://…")
	default:
		return fmt.Errorf("url: no driver for %s: expected sqlite:…, postgres://… or mysql://…", native.Shorten(scheme))
	}
	if err != nil {
		return errors.New(b.secrets.Hide(err.Error()))
	}
	return nil
}

// isScheme reports whether text can be the scheme of a URL (RFC 3986, section 3.1). Text that
// cannot may hold a password.
func isScheme(text string) bool {
	return text != "" && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// A jdbcDriver is the JDBC driver of a server, as far as URLs go.
type jdbcDriver struct {
	// names maps the parameters that are understood to parameters of our driver, or to "" if they
	// have no effect here.
	names map[string]string

	encrypt func(url.Values) // converts the parameters about TLS, which names has renamed
}

// convert returns the parameters of a JDBC driver as those of ours.
func (d jdbcDriver) convert(from url.Values) (url.Values, error) {
	to := url.Values{}
	for key, values := range from {
		name, known := d.names[key]
		switch {
		case !known:
			return nil, fmt.Errorf("url: unknown JDBC parameter %s; without jdbc: the URL takes the parameters of the driver", native.Shorten(key))
		case name != "":
			to[name] = values
		}
	}
	d.encrypt(to)
	return to, nil
}

// address parses the URL of a server, whose user and password the API's own override, and adds the
// password to the secrets.
func (b *backend) address(scheme, rest string, jdbc jdbcDriver) (*url.URL, error) {
	if !strings.HasPrefix(rest, "//") { // jdbc:postgresql:shop
		rest = "///" + strings.TrimLeft(rest, "/")
	}
	u, err := url.Parse(scheme + ":" + rest)
	if err != nil { // it shows the URL
		return nil, fmt.Errorf(`url: expected %s://user:password@host:port/database; in a password, @ : / ? # and %% are written %%40 %%3A %%2F %%3F %%23 %%25; the key password needs no escapes`, scheme)
	}
	if scheme == "postgres" && !b.jdbc { // libpq takes a plus for one
		u.RawQuery = strings.ReplaceAll(u.RawQuery, "+", "%2B")
	}
	parameters := u.Query()
	password, _ := u.User.Password()
	user := cmp.Or(b.api.Username, parameters.Get("user"), u.User.Username())
	password = cmp.Or(b.api.Password, parameters.Get("password"), password)
	parameters.Del("user")
	parameters.Del("password")
	b.secrets.Add(password)
	if b.jdbc {
		if parameters, err = jdbc.convert(parameters); err != nil {
			return nil, err
		}
	}
	u.RawQuery, u.User = strings.ReplaceAll(parameters.Encode(), "+", "%20"), nil // pgx does, too
	switch {
	case password != "":
		u.User = url.UserPassword(user, password)
	case user != "":
		u.User = url.User(user)
	}
	return u, nil
}
