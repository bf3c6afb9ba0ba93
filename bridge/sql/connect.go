package sql

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// connect makes the engine that the API's URL says, which connects later. Errors never
// have the URL in them: there may be a password in it.
func (b *backend) connect(dir string) error {
	pool, err := b.api.pool()
	if err != nil {
		return err
	}
	jdbc := hasPrefixFold(b.api.URL, "jdbc:")
	raw := b.api.URL
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
		return errors.New("url: H2 runs in Java only: expected sqlite:…, postgres://… or mysql://…")
	default:
		return fmt.Errorf("url: there is no driver for %.20s: expected sqlite:…, postgres://… or mysql://…", scheme)
	}
	if err != nil {
		return b.secrets.HideError(err)
	}
	return nil
}

// isScheme reports whether text can be the scheme of a URL (RFC 3986, 3.1). In what is
// none there may be a password.
func isScheme(text string) bool {
	return text != "" && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// address reads the URL of a server, with the user of the API in the place of its own,
// and keeps its password secret.
func (b *backend) address(scheme, rest string) (*url.URL, error) {
	if !strings.HasPrefix(rest, "//") { // jdbc:postgresql:shop
		rest = "///" + strings.TrimLeft(rest, "/")
	}
	u, err := url.Parse(scheme + ":" + rest)
	if err != nil { // which has the URL in it
		return nil, fmt.Errorf(`url: expected %s://user:password@host:port/database; in a password, @ : / ? # and %% are written %%40 %%3A %%2F %%3F %%23 %%25, or it stands in "password"`, scheme)
	}
	user, password := u.User.Username(), ""
	parameters := u.Query()
	if p, ok := u.User.Password(); ok {
		password = p
	}
	for _, it := range []struct {
		into *string
		from string
	}{{&user, parameters.Get("user")}, {&password, parameters.Get("password")}, {&user, b.api.Username}, {&password, b.api.Password}} {
		if it.from != "" {
			*it.into = it.from
		}
	}
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
	return u, nil
}

// rename replaces the names of JDBC's parameters. names maps those that are understood to
// those of our drivers, "" for one that has no effect here.
func rename(u *url.URL, names map[string]string) error {
	from, to := u.Query(), url.Values{}
	for key, values := range from {
		name, known := names[key]
		switch {
		case !known:
			return fmt.Errorf("url: the parameter %.20s of JDBC is not understood; write the URL without jdbc: to use the driver's own parameters", key)
		case name != "":
			to[name] = values
		}
	}
	u.RawQuery = to.Encode()
	return nil
}
