package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// Auth is whose access tokens serve accepts.
type Auth struct {
	Issuer    string   // of the tokens; "" means that none are accepted
	Audience  []string // of which a token needs one; empty means PublicURL and what is below it
	Scopes    []string // that a token needs
	Principal string   // the claim that names the principal; default sub
}

func (a *Auth) keys() keySet {
	return keySet{
		"issuer":    {take: into(&a.Issuer, readIssuer)},
		"audience":  {take: into(&a.Audience, oneOrMore(readAudience))},
		"scopes":    {take: into(&a.Scopes, oneOrMore(readScope))},
		"principal": {take: into(&a.Principal, readText)},
	}
}

// readAuth reads the object of keys, which need each other.
func (c *Config) readAuth(d *decoder, n node) {
	d.object(n, c.Auth.keys())
	d.atEnd = append(d.atEnd, func() {
		switch {
		case !hasAny("issuer")(membersIn(n)):
			d.errorf(n, `"issuer" is needed: the URL of the authorization server, as it stands in its tokens`)
		case len(c.Auth.Audience) == 0 && c.PublicURL == "":
			d.errorf(n, `whom tokens are for is needed: "publicUrl" beside "auth", or "audience" in it`)
		}
	})
}

// checkClaims warns where claims are used while no caller can have some.
func (c *Config) checkClaims(d *decoder) {
	if c.Auth.Issuer != "" || c.TLS.ClientCA != "" {
		return
	}
	for _, n := range d.claims {
		d.warnf(n.key(), `no caller has claims: only access tokens ("auth") and client certificates ("clientCA" in "tls") do`)
	}
}

// oneOrMore reads a string, or an array of strings.
func oneOrMore(read reader[string]) reader[[]string] {
	return func(d *decoder, n node) ([]string, bool) {
		if n.value.Kind() == '"' {
			text, ok := read(d, n)
			return []string{text}, ok
		}
		return listOf(read)(d, n)
	}
}

func readIssuer(d *decoder, n node) (string, bool) {
	return d.textIf(n, "expected a URL that begins with https:// (or http:// on this computer)", func(text string) bool {
		u, err := url.Parse(text)
		local := err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
		return isURL(text, "https") && u.User == nil && u.RawQuery == "" && u.Fragment == "" || local && isURL(text, "http")
	})
}

func readAudience(d *decoder, n node) (string, bool) {
	return d.textIf(n, `expected an audience, as it stands in "aud" of the tokens`, func(text string) bool { return text != "" })
}

func readScope(d *decoder, n node) (string, bool) {
	return d.textIf(n, "expected a scope: printable ASCII characters without spaces and quotation marks", func(text string) bool {
		return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
	})
}

func readPublicURL(d *decoder, n node) (string, bool) {
	return d.textIf(n, `expected the URL at which clients reach serve, without user name, query and fragment, as in "https://bridge.example.com" or "https://example.com/bridge"`, func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && u.User == nil && IsBaseURL(text) && !strings.ContainsAny(text, "?#\"\\ ")
	})
}

// readProxies reads addresses and networks.
func readProxies(d *decoder, n node) (all []netip.Prefix, ok bool) {
	texts, ok := listOf(func(d *decoder, n node) (string, bool) {
		text, ok := d.textIf(n, `expected the address of a proxy, or its network, as in "10.0.0.0/8"`, func(text string) bool {
			_, err := parseNetwork(text)
			return err == nil
		})
		if network, err := parseNetwork(text); ok && err == nil && network.Bits() == 0 {
			d.wrongf(n, "%s would let every client choose its address: name the proxies", hint.Quote(text))
			return "", false
		}
		return text, ok
	})(d, n)
	for _, text := range texts {
		network, _ := parseNetwork(text) // the zero Prefix of a mistake contains nothing
		all = append(all, network)
	}
	return all, ok
}

// parseNetwork parses a network, or an address as the network that has only it.
func parseNetwork(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		ip = ip.Unmap().WithZone("")
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// TLS is how serve speaks to clients; empty paths mean without TLS. All are absolute.
type TLS struct {
	Cert, Key string // PEM files of the server
	ClientCA  string // a PEM file: whose certificates let clients in; "" means none

	Places map[string]string // where the file has each key, as in mcpbridge.json:7:12: tls.cert
}

func (c *Config) readTLS(d *decoder, n node) {
	d.object(n, keySet{
		"ca":       {take: into(&c.CA, readPath)},
		"cert":     {take: into(&c.TLS.Cert, readPath)},
		"key":      {take: into(&c.TLS.Key, readSecretPath)},
		"clientCA": {take: into(&c.TLS.ClientCA, readPath)},
	})
	c.TLS.Places = map[string]string{}
	for _, m := range membersIn(n) {
		c.TLS.Places[m.name] = fmt.Sprintf("%s:%d:%d: %s", d.file, d.line(m.offset), d.column(m.offset), m.path)
	}
	if t := c.TLS; (t.Cert == "") != (t.Key == "") || t.ClientCA != "" && t.Cert == "" {
		d.errorf(n, `"cert" and "key" belong together, and "clientCA" needs both`)
	}
}

// files returns the files of t that there are.
func (t *TLS) files() []string {
	return slices.DeleteFunc([]string{t.Cert, t.Key, t.ClientCA}, func(path string) bool { return path == "" })
}
