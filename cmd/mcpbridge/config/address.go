package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

const minTokenSize = 16 // bytes

func readListen(d *decoder, n node) (string, bool) {
	return d.textIf(n, `expected host:port, as in "127.0.0.1:7332"`, func(text string) bool {
		_, port, err := net.SplitHostPort(text)
		return err == nil && isPort(port)
	})
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func readURL(d *decoder, n node) (string, bool) {
	return d.textIf(n, "expected a URL that begins with http://, https://, ws:// or wss:// and has a host", IsServerURL)
}

func readBaseURL(d *decoder, n node) (string, bool) {
	return d.textIf(n, "expected a URL that begins with http:// or https:// and has a host", IsBaseURL)
}

// IsServerURL reports whether text can be the URL of a server.
func IsServerURL(text string) bool { return isURL(text, "http", "https", "ws", "wss") }

// IsBaseURL reports whether text can be the base URL of a provider.
func IsBaseURL(text string) bool { return isURL(text, "http", "https") }

func isURL(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme)
}

// readOrigin reads an origin and spells it as browsers do, as it is compared with theirs.
func readOrigin(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if !ok || text == "null" {
		return text, ok
	}
	if text == "*" {
		d.wrongf(n, `"*" would admit every page that the user visits: name the origins`)
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || !isHost(u.Host) || !strings.EqualFold(text, u.Scheme+"://"+u.Host) {
		d.wrongf(n, `expected an origin, scheme://host[:port] without a path, as in "https://app.example.com"`)
		return "", false
	}
	host := strings.ToLower(u.Host)
	if defaultPort := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; defaultPort != "" {
		host = strings.TrimSuffix(host, defaultPort)
	}
	return u.Scheme + "://" + host, true
}

func readPublicHost(d *decoder, n node) (string, bool) {
	text, ok := d.textIf(n, `expected a host name with or without port, as in "bridge.example.com"`, isHost)
	return strings.ToLower(text), ok
}

// isHost reports whether s can be the value of a Host header; a pattern cannot.
func isHost(s string) bool {
	u, err := url.Parse("//" + s)
	if err != nil || u.Host != s || u.Hostname() == "" || strings.ContainsAny(s, "*,%\"<> ") {
		return false
	}
	return !strings.HasSuffix(s, ":") && (u.Port() == "" || isPort(u.Port()))
}

// readTokens reads tokens by the names of their owners, which equal tokens could not tell apart.
func readTokens(d *decoder, n node) (map[string]string, bool) {
	owners := map[string]string{}
	return mapOf(checkName, func(d *decoder, m node) (string, bool) {
		token, ok := readText(d, m)
		other, taken := owners[token]
		switch {
		case !ok:
			return "", false
		case len(token) < minTokenSize:
			d.errorf(m, "a token needs at least %d characters", minTokenSize)
		case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
			d.errorf(m, "a token consists of printable ASCII characters without spaces")
		case taken:
			d.errorf(m, "the same token as %s: each needs its own", hint.Quote(other))
		}
		owners[token] = m.name
		return token, true
	})(d, n)
}

func checkName(name string) string {
	if name == "" {
		return "expected a name"
	}
	return ""
}

func readHeaders(d *decoder, n node) (map[string]string, bool) {
	seen := map[string]string{} // by lower-case name
	return mapOf(checkHeaderName, func(d *decoder, m node) (string, bool) {
		fold := strings.ToLower(m.name)
		if other, twice := seen[fold]; twice && other != m.name {
			d.errorf(m.key(), "is the same header as %s: keep one", hint.Quote(other))
		}
		seen[fold] = m.name
		return d.textIf(m, "a header's value is one line without control characters", func(value string) bool {
			return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' })
		})
	})(d, n)
}

func checkHeaderName(name string) string {
	const marks = "!#$%&'*+-.^_`|~"
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune(marks, r))
	}) {
		return "not a header name"
	}
	return ""
}
