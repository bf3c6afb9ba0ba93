package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

// jdbcMySQL names the parameters of MySQL's and MariaDB's JDBC drivers: see jdbcDriver.
var jdbcMySQL = map[string]string{
	"useSSL": "useSSL", "useSsl": "useSSL", "sslMode": "sslMode",
	"allowPublicKeyRetrieval": "", "autoReconnect": "", "characterEncoding": "", "connectionTimeZone": "",
	"serverTimezone": "", "useUnicode": "", "zeroDateTimeBehavior": "",
}

func encryptMySQL(p url.Values) {
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
}

// newMySQL returns an engine for a MySQL or MariaDB server. rest is the URL after mysql:. The
// transactions of its readers are read-only, and each statement is a transaction.
func (b *backend) newMySQL(rest string) (*pools, error) {
	u, err := b.address("mysql", rest, jdbcDriver{jdbcMySQL, encryptMySQL})
	if err != nil {
		return nil, err
	}
	c, err := mysqlConfig(u)
	if err != nil {
		return nil, err
	}
	if c.TLSConfig == "true" { // the others verify nothing
		c.TLS = outbound.TLS(b.roots)
	}
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	return &pools{
		readers: pool{config: b.api.pool(), connector: connector{Connector: inner, setup: setupMySQL(inner, "SET SESSION TRANSACTION READ ONLY")}, formatOf: mysqlFormat, drains: true},
		writers: pool{config: b.api.pool(), connector: connector{Connector: inner, setup: setupMySQL(inner, "")}, formatOf: mysqlFormat, drains: true},
	}, nil
}

// mysqlConfig returns the driver's configuration for a URL. Multiple statements, interpolated
// parameters and local files are off, whatever the URL says.
func mysqlConfig(u *url.URL) (*mysql.Config, error) {
	parameters := u.Query()
	socket := parameters.Get("socket")
	parameters.Del("socket")
	if parameters.Has("time_zone") {
		return nil, errors.New("url: time_zone: always UTC, so that times are RFC 3339: convert them in the query with CONVERT_TZ")
	}
	c, err := mysql.ParseDSN("/?" + parameters.Encode())
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	c.TLS = nil // made anew from TLSConfig for the address below
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

// killTimeout bounds the attempt to end a statement on the server.
const killTimeout = 5 * time.Second

// setupMySQL returns a setup that runs statement on a new connection, unless it is "", and whose
// stopper sends a KILL over another connection.
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
		return func(<-chan struct{}) { // the driver has closed the connection, but the server does not know yet
			ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
			defer cancel()
			c, err := other.Connect(ctx)
			if err != nil {
				return // the server will notice when it writes
			}
			defer c.Close()
			_, _ = c.(driver.ExecerContext).ExecContext(ctx, "KILL "+id, nil)
		}, nil
	}
}

// connectionID returns the server's id of a connection.
func connectionID(ctx context.Context, c driver.Conn) (string, error) {
	r, err := c.(driver.QueryerContext).QueryContext(ctx, "SELECT CONNECTION_ID()", nil)
	if err != nil {
		return "", err
	}
	defer r.Close()
	row := make([]driver.Value, 1)
	err = r.Next(row)
	return fmt.Sprint(row[0]), err // an int64 or a uint64
}

// mysqlFormat returns the format of a column by the driver's name for its type.
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
