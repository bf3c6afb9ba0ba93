package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// A mysqlEngine runs statements on a MySQL or MariaDB server. Those that read have
// connections of their own, whose transactions are read-only, as each statement is one.
type mysqlEngine struct{ readers, writers pool }

// jdbcMySQL are the parameters of MySQL's and MariaDB's JDBC drivers.
var jdbcMySQL = map[string]string{
	"useSSL": "useSSL", "useSsl": "useSSL", "sslMode": "sslMode",
	"allowPublicKeyRetrieval": "", "autoReconnect": "", "characterEncoding": "", "connectionTimeZone": "",
	"serverTimezone": "", "useUnicode": "", "zeroDateTimeBehavior": "",
}

// newMySQL makes an engine. rest is the URL behind mysql:.
func (b *backend) newMySQL(rest string, jdbc bool, config poolConfig) (*mysqlEngine, error) {
	u, err := b.address("mysql", rest)
	if err != nil {
		return nil, err
	}
	if jdbc {
		if err := rename(u, jdbcMySQL); err != nil {
			return nil, err
		}
		encryption(u)
	}
	c, err := mysqlConfig(u)
	if err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	e := &mysqlEngine{
		readers: pool{config: config, connector: connector{inner, setupMySQL(inner, "SET SESSION TRANSACTION READ ONLY")}, formatOf: mysqlFormat, drains: true},
		writers: pool{config: config, connector: connector{inner, setupMySQL(inner, "")}, formatOf: mysqlFormat, drains: true},
	}
	return e, nil
}

// encryption makes what JDBC says about TLS a parameter of the driver.
func encryption(u *url.URL) {
	p := u.Query()
	switch use, mode := p.Get("useSSL"), strings.ToUpper(p.Get("sslMode")); {
	case strings.HasPrefix(mode, "VERIFY"):
		p.Set("tls", "true")
	case mode == "REQUIRED", mode == "TRUST", use == "true" && mode == "":
		p.Set("tls", "skip-verify")
	case mode == "DISABLED", mode == "DISABLE", use == "false" && mode == "":
		p.Set("tls", "false")
	}
	p.Del("useSSL")
	p.Del("sslMode")
	u.RawQuery = p.Encode()
}

// mysqlConfig is the driver's configuration of a URL. Several statements, parameters as
// text and files of this machine are off, whatever the URL says.
func mysqlConfig(u *url.URL) (*mysql.Config, error) {
	parameters := u.Query()
	socket := parameters.Get("socket")
	parameters.Del("socket")
	if parameters.Has("time_zone") {
		return nil, errors.New("url: time_zone: it is always UTC here, so that times are RFC 3339: convert them in the query, with CONVERT_TZ")
	}
	c, err := mysql.ParseDSN("/?" + parameters.Encode())
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	c.TLS = nil // it is made of TLSConfig anew, for the address that follows
	c.Net, c.Addr = "tcp", u.Host
	if socket != "" {
		c.Net, c.Addr = "unix", socket
	}
	c.User, c.DBName = u.User.Username(), strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	if c.TLSConfig == "" && c.Net == "tcp" {
		c.TLSConfig = "preferred"
	}
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	c.Params["time_zone"] = "'+00:00'"
	c.Logger = &mysql.NopLogger{}
	c.AllowAllFiles, c.InterpolateParams, c.MultiStatements, c.ParseTime = false, false, false, false
	return c, nil
}

// killTimeout bounds how long it takes to end a statement on the server.
const killTimeout = 5 * time.Second

// setupMySQL prepares connections with a statement, and stops what runs on them with a
// KILL on another one.
func setupMySQL(other driver.Connector, statement string) func(context.Context, driver.Conn) (stopper, error) {
	return func(ctx context.Context, c driver.Conn) (stopper, error) {
		if statement != "" {
			if _, err := c.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
				return nil, err
			}
		}
		id, err := connectionID(ctx, c)
		if err != nil {
			return nil, err
		}
		return func(<-chan struct{}) { // the driver has closed the connection, of which the server knows nothing yet
			ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
			defer cancel()
			c, err := other.Connect(ctx)
			if err != nil {
				return // then the server will notice when it writes
			}
			defer c.Close()
			_, _ = c.(driver.ExecerContext).ExecContext(ctx, fmt.Sprintf("KILL %d", id), nil)
		}, nil
	}
}

// connectionID is how the server calls a connection.
func connectionID(ctx context.Context, c driver.Conn) (id uint64, err error) {
	r, err := c.(driver.QueryerContext).QueryContext(ctx, "SELECT CONNECTION_ID()", nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	row := make([]driver.Value, 1)
	if err := r.Next(row); err != nil && err != io.EOF {
		return 0, err
	}
	switch v := row[0].(type) {
	case int64:
		return uint64(v), nil
	case uint64:
		return v, nil
	case []byte:
		_, err = fmt.Sscan(string(v), &id)
		return id, err
	}
	return 0, errors.New("the server does not say the id of the connection")
}

func (e *mysqlEngine) run(ctx context.Context, q query, out *output) error {
	if q.write {
		return e.writers.run(ctx, q, out)
	}
	return e.readers.run(ctx, q, out)
}

func (e *mysqlEngine) close() error { return errors.Join(e.readers.close(), e.writers.close()) }

// mysqlFormat is how the values of a column become JSON, by its type as the driver calls
// it.
func mysqlFormat(name string) format {
	switch name {
	case "DECIMAL", "UNSIGNED BIGINT", "YEAR":
		return numeric
	case "DATETIME", "TIMESTAMP":
		return instant
	case "JSON":
		return object
	case "BIT":
		return bits
	case "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "GEOMETRY", "VECTOR":
		return binary
	}
	return asText
}
