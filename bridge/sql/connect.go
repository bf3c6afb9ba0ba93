package sql

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// connect sets the engine for the URL of the API, without connecting. Errors never show the URL,
// which may have a password in it.
func (b *backend) connect(dir string) error {
	pool, err := b.api.pool()
	if err != nil {
		return err
	}
	raw, jdbc := b.api.URL, hasPrefixFold(b.api.URL, "jdbc:")
	if jdbc {
		raw = raw[len("jdbc:"):]
	}
	scheme, rest, found := strings.Cut(raw, ":")
	if !found || !isScheme(scheme) {
		return errors.New("url: expected sqlite:…, postgres://… or mysql://…")
	}
	b.secrets.Add(b.api.Password)
	switch strings.ToLower(scheme) {
	case "sqlite", "sqlite3":
		b.dialect = sqliteDialect
		b.engine, err = newSQLite(rest, dir, pool)
	case "postgres", "postgresql":
		b.dialect = postgresDialect
		b.engine, err = b.newPostgres(rest, jdbc, pool)
	case "mysql", "mariadb":
		b.dialect = mysqlDialect
		b.engine, err = b.newMySQL(rest, jdbc, pool)
	case "h2":
		return errors.New("url: H2 runs only in Java: expected sqlite:…, postgres://… or mysql://…")
	default:
		return fmt.Errorf("url: no driver for %s: expected sqlite:…, postgres://… or mysql://…", native.Shorten(scheme))
	}
	if err != nil {
		return b.secrets.HideError(err)
	}
	return nil
}

// isScheme reports whether text can be the scheme of a URL (RFC 3986, section 3.1). Text that
// cannot may hold a password.
func isScheme(text string) bool {
	return text != "" && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// address parses the URL of a server, whose user and password the API's own override, and adds the
// password to the secrets. names, if not nil, are the parameters of JDBC: see rename.
func (b *backend) address(scheme, rest string, names map[string]string) (*url.URL, error) {
	if !strings.HasPrefix(rest, "//") { // jdbc:postgresql:shop
		rest = "///" + strings.TrimLeft(rest, "/")
	}
	u, err := url.Parse(scheme + ":" + rest)
	if err != nil { // it shows the URL
		return nil, fmt.Errorf(`url: expected %s://user:password@host:port/database; in a password, @ : / ? # and %% are written %%40 %%3A %%2F %%3F %%23 %%25; the key password needs no escapes`, scheme)
	}
	user, password := u.User.Username(), ""
	parameters := u.Query()
	if p, ok := u.User.Password(); ok {
		password = p
	}
	user = cmp.Or(b.api.Username, parameters.Get("user"), user)
	password = cmp.Or(b.api.Password, parameters.Get("password"), password)
	parameters.Del("user")
	parameters.Del("password")
	b.secrets.Add(password)
	u.RawQuery, u.User = parameters.Encode(), nil
	switch {
	case password != "":
		u.User = url.UserPassword(user, password)
	case user != "":
		u.User = url.User(user)
	}
	if names == nil {
		return u, nil
	}
	return u, rename(u, names)
}

// rename renames JDBC's parameters. names maps those that are understood to parameters of our
// drivers, or to "" if they have no effect here.
func rename(u *url.URL, names map[string]string) error {
	from, to := u.Query(), url.Values{}
	for key, values := range from {
		name, known := names[key]
		switch {
		case !known:
			return fmt.Errorf("url: unknown JDBC parameter %s; without jdbc: the URL takes the parameters of the driver", native.Shorten(key))
		case name != "":
			to[name] = values
		}
	}
	u.RawQuery = to.Encode()
	return nil
}
