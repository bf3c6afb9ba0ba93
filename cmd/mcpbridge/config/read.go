package config

import (
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A reader returns the value of a node, or reports the reason and returns false.
type reader[T any] func(*decoder, node) (T, bool)

// into returns the take of a key whose value is stored in field.
func into[T any](field *T, read reader[T]) func(*decoder, node) {
	return func(d *decoder, n node) {
		if v, ok := read(d, n); ok {
			*field = v
		}
	}
}

// inside returns the take of a key whose value is an object with these keys.
func inside(keys func() keySet) func(*decoder, node) {
	return func(d *decoder, n node) { d.object(n, keys()) }
}

func listOf(read reader[string]) reader[[]string] {
	return func(d *decoder, n node) ([]string, bool) {
		all, ok := elementsOf(d, n, "strings")
		if !ok {
			return nil, false
		}
		var list []string
		for _, element := range all {
			if v, ok := read(d, element); ok {
				list = append(list, v)
			}
		}
		return list, true
	}
}

// elementsOf returns the elements of an array of things that what names.
func elementsOf(d *decoder, n node, what string) (all []node, ok bool) {
	arr, ok := n.value.(*hujson.Array)
	if !ok {
		d.expected(n, "an array of "+what)
		return nil, false
	}
	for i, e := range arr.Elements {
		all = append(all, n.element(i, e))
	}
	return all, true
}

// mapOf reads an object of strings. check returns the fault of a key, or "".
func mapOf(check func(key string) string, read reader[string]) reader[map[string]string] {
	return func(d *decoder, n node) (map[string]string, bool) {
		members, ok := d.members(n, "an object of strings")
		values := make(map[string]string, len(members))
		for _, m := range members {
			if check != nil && check(m.name) != "" {
				d.errorf(m.key(), "%s", check(m.name))
			}
			if v, ok := read(d, m); ok {
				values[m.name] = v
			}
		}
		return values, ok
	}
}

func readBool(d *decoder, n node) (bool, bool) {
	value, ok := n.boolean()
	if !ok {
		d.expected(n, "true or false")
	}
	return value, ok
}

// number returns n's number; false means that it is not a number, or too large.
func (n node) number() (float64, bool) {
	if n.value.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(n.value.(hujson.Literal)), 64)
	return f, err == nil
}

func readCount(d *decoder, n node) (int, bool) {
	count, ok := 0, false
	if n.value.Kind() == '0' {
		count, ok = wire.ParseSize(string(n.value.(hujson.Literal)))
	}
	return count, d.fits(n, ok, "0", "a positive integer (omit the key for the default)")
}

func readSize(d *decoder, n node) (int, bool) {
	const want = `a positive size: a number of bytes, or "64MiB", "10MB", "512KiB"`
	size, ok := 0, false
	switch n.value.Kind() {
	case '0':
		size, ok = wire.ParseSize(string(n.value.(hujson.Literal)))
	case '"':
		text, filled := readText(d, n)
		if !filled {
			return 0, false
		}
		size, ok = wire.ParseSize(text)
	}
	return size, d.fits(n, ok, `0"`, want)
}

// fits reports what was wanted unless ok. Other values of the given kinds could fit.
func (d *decoder) fits(n node, ok bool, kinds, want string) bool {
	switch {
	case ok:
	case strings.ContainsRune(kinds, rune(n.value.Kind())):
		d.wrongf(n, "expected %s", want)
	default:
		d.expected(n, want)
	}
	return ok
}

func readDuration(d *decoder, n node) (time.Duration, bool) {
	const want = `a positive duration: "30s", "5m", or a number of seconds`
	f, ok := n.number()
	dur := time.Duration(0)
	if ok && f < math.MaxInt64/1e9 {
		dur = time.Duration(f * 1e9)
	}
	if n.value.Kind() == '"' {
		text, filled := readText(d, n)
		if !filled {
			return 0, false
		}
		dur, _ = time.ParseDuration(text)
	}
	return dur, d.fits(n, dur > 0, `0"`, want)
}

// maxSettle bounds "settle": clients give up on a list that takes longer.
const maxSettle = 5 * time.Minute

func readSettle(d *decoder, n node) (time.Duration, bool) {
	dur, ok := readDuration(d, n)
	return dur, ok && d.fits(n, dur <= maxSettle, `0"`, "a duration up to 5m")
}

// readTimeout reads a duration. Some clients write seconds (60), others milliseconds (60000).
func readTimeout(d *decoder, n node) (time.Duration, bool) {
	dur, ok := readDuration(d, n)
	f, isNumber := n.number()
	if !ok || !isNumber {
		return dur, ok
	}
	unit, small := time.Duration(0), f < 1000
	if d.inside != nil {
		unit = d.inside.unit
	}
	switch {
	case unit == time.Millisecond, !small && (unit == 0 || f > maxSeconds):
		dur /= 1000
		d.warnf(n, `%s is taken as milliseconds; write a unit, as in "%v", to be explicit`, strconv.FormatFloat(f, 'f', -1, 64), dur)
	case !small:
		d.warnf(n, `%s is taken as seconds; write a unit, as in "%v", to be explicit`, strconv.FormatFloat(f, 'f', -1, 64), dur)
	}
	return dur, ok
}

// maxSeconds bounds the timeouts that Cline and Roo Code write, in seconds.
const maxSeconds = 3600

func (d *decoder) unknownKey(parent, m node, keys keySet) {
	var ours, taken []string
	for name, k := range keys {
		if k.take != nil {
			taken = append(taken, name)
			if k.same == "" {
				ours = append(ours, name)
			}
		}
	}
	slices.Sort(ours)
	parent.offset = m.at
	switch near := toolformat.Closest(m.name, taken); {
	case d.inServer() && near != "":
		d.misspelled(parent, fmt.Sprintf("unknown key %s (did you mean %q?)", hint.Quote(m.name), near))
	case d.inServer():
		d.warnf(m.key(), "ignored: unknown key")
	case near != "":
		d.errorf(parent, "unknown key %s (did you mean %q?)", hint.Quote(m.name), near)
	case parent.path == "" && looksLikeServer(m):
		d.errorf(parent, `unknown key %s: a server belongs in "mcpServers"`, hint.Quote(m.name))
	default:
		d.errorf(parent, "unknown key %s (known: %s)", hint.Quote(m.name), strings.Join(ours, ", "))
	}
}

// looksLikeServer reports whether n may be a server that was pasted without "mcpServers".
func looksLikeServer(n node) bool {
	return slices.ContainsFunc(membersIn(n), func(m node) bool { return m.name == "command" || m.name == "url" })
}

// oneOf reads one of a closed set of words and returns its meaning.
func oneOf(meanings map[string]string) reader[string] {
	return func(d *decoder, n node) (string, bool) {
		word, ok := readText(d, n)
		if !ok {
			return "", false
		}
		meaning, known := meanings[word]
		if known {
			return meaning, true
		}
		spellings := slices.Sorted(maps.Keys(meanings))
		what := "unknown value"
		if !n.filled() { // the value may be a misplaced secret
			what += " " + hint.Quote(word)
		}
		if near := toolformat.Closest(word, spellings); near != "" {
			d.wrongf(n, "%s (did you mean %q?)", what, near)
		} else {
			d.wrongf(n, "%s (known: %s)", what, strings.Join(spellings, ", "))
		}
		return "", false
	}
}

// words returns a closed set whose words mean themselves.
func words(list ...string) map[string]string {
	set := make(map[string]string, len(list))
	for _, w := range list {
		set[w] = w
	}
	return set
}

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
	d.secret(n, false)
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

// readTokens reads "auto", or tokens.
func (c *Config) readTokens(d *decoder, n node) {
	switch {
	case n.value.Kind() != '"':
		into(&c.Tokens, readTokens)(d, n)
	case n.value.(hujson.Literal).String() == "auto":
		c.AutoToken = true
	default:
		d.errorf(n, `expected tokens by the names of their owners, or "auto"`)
	}
}

// readTokens reads tokens by the names of their owners, which equal tokens could not tell apart.
func readTokens(d *decoder, n node) (map[string]string, bool) {
	owners := map[string]string{}
	return mapOf(checkHolder, func(d *decoder, m node) (string, bool) {
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
		d.secret(m, true)
		return token, true
	})(d, n)
}

// checkHolder refuses names of other principals: identities of an issuer, certificates, clients on stdio.
func checkHolder(name string) string {
	if strings.Contains(name, "#") {
		return `a name without "#" is needed`
	}
	if name == "local" {
		return `"local" is the name of all clients on stdio: another name is needed`
	}
	return checkName(name)
}

func checkName(name string) string {
	if name == "" {
		return "expected a name"
	}
	return ""
}

func readHeaders(d *decoder, n node) (map[string]string, bool) {
	seen := map[string]string{} // by lower-case name
	return mapOf(checkHeaderName, withBare(func(d *decoder, m node) (string, bool) {
		fold := strings.ToLower(m.name)
		if other, twice := seen[fold]; twice && other != m.name {
			d.errorf(m.key(), "is the same header as %s: keep one", hint.Quote(other))
		}
		seen[fold] = m.name
		d.secret(m, false)
		return d.textIf(m, "a header's value is one line without control characters", func(value string) bool {
			return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' })
		})
	}))(d, n)
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
