package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// OAuth is how the access tokens of a server or an API are come by, "oauth" of a server or in "auth" of an API.
// The zero value lets a person log in when a server asks for that.
type OAuth struct {
	Off bool // "oauth" is false: no token is obtained, whatever the server asks

	Grant          string // of RFC 6749 and its extensions; "" is a person's login
	Issuer         string // of the authorization server; "" means the first that the server names, or of OfCaller Auth.Issuer
	TokenURL       string // of an API: the token endpoint, where the issuer has no metadata
	ClientID       string // "" means that one is obtained
	ClientSecret   string
	PrivateKey     string // in place of a secret: PEM or JWK
	AuthMethod     string // how the secret is sent: client_secret_basic or client_secret_post; "" means as the issuer says
	ClientMetadata string // URL of a client id metadata document
	Scopes         []string
	Resource       string // of an API: what a token is for; "" means that this is not said
	Audience       string // the same for authorization servers that know no resources
	CallbackPort   int    // of http://localhost:PORT/callback; 0 means a free one
	Assertion      string // that a grant exchanges for a token
	OfCaller       bool   // it exchanges the access token of each caller
}

// grants has the words for the grants that need no person.
var grants = map[string]string{
	"authorization_code": "",
	"client_credentials": "client_credentials",
	"jwt-bearer":         "urn:ietf:params:oauth:grant-type:jwt-bearer",
	"token-exchange":     "urn:ietf:params:oauth:grant-type:token-exchange",
}

// grantKeys are those that need no person.
func (o *OAuth) grantKeys() keySet {
	return keySet{
		"grant":        {take: into(&o.Grant, oneOf(grants))},
		"issuer":       {take: into(&o.Issuer, readBaseURL)},
		"clientId":     {take: into(&o.ClientID, readText)},
		"clientSecret": {take: into(&o.ClientSecret, readKey)},
		"privateKey":   {take: into(&o.PrivateKey, readKey)},
		"authMethod":   {take: into(&o.AuthMethod, oneOf(words("client_secret_basic", "client_secret_post")))},
		"scopes":       {take: into(&o.Scopes, readScopes)},
		"audience":     {take: into(&o.Audience, readText)},
		"assertion":    {take: into(&o.Assertion, readKey)},
	}
}

// serverKeys are those of a server, with those of other clients.
func (o *OAuth) serverKeys() keySet {
	keys := o.grantKeys()
	maps.Copy(keys, keySet{
		"clientMetadata": {take: into(&o.ClientMetadata, readBaseURL)},
		"callbackPort":   {take: into(&o.CallbackPort, readPort)},

		"scope":         {take: into(&o.Scopes, readScopes), same: "scopes"},
		"client_id":     {take: into(&o.ClientID, readText), same: "clientId"},
		"client_secret": {take: into(&o.ClientSecret, readKey), same: "clientSecret"},
		"CLIENT_ID":     {take: into(&o.ClientID, readText), same: "clientId"},
		"CLIENT_SECRET": {take: into(&o.ClientSecret, readKey), same: "clientSecret"},
		"enabled":       {take: func(d *decoder, n node) { on, ok := readBool(d, n); o.Off = ok && !on }},

		"authorizationUrl": {note: noEndpoints}, "tokenUrl": {note: noEndpoints}, "registrationUrl": {note: noEndpoints},
		"authServerMetadataUrl": {note: noEndpoints}, "redirectUri": {note: `use "callbackPort"`},
		"audiences": {}, "tokenParamName": {},
	})
	return keys
}

// apiKeys are those of an API, which names no authorization server itself.
func (o *OAuth) apiKeys() keySet {
	keys := o.grantKeys()
	maps.Copy(keys, keySet{
		"tokenUrl": {take: into(&o.TokenURL, readBaseURL)},
		"resource": {take: into(&o.Resource, readText)},
	})
	return keys
}

const noEndpoints = "the server names its authorization server itself"

// readOAuth reads "oauth": true and an object let it work, false turns it off.
func readOAuth(d *decoder, n node) (OAuth, bool) {
	if on, ok := n.boolean(); ok {
		return OAuth{Off: !on}, true
	}
	var o OAuth
	before := len(d.problems)
	if _, ok := d.members(n, "an object, or false"); !ok {
		return o, false
	}
	d.object(n, o.serverKeys())
	if len(d.problems) > before {
		return o, false
	}
	o.check(d, n)
	return o, true
}

// takeOAuth reads "oauth" in the "auth" of an API, and returns its other members.
func (a *API) takeOAuth(d *decoder, members []node) []node {
	i := slices.IndexFunc(members, func(m node) bool { return m.name == "auth" && hasAny("oauth")(membersIn(m)) })
	if i < 0 || !slices.Contains([]string{"rest", "graphql", "openapi"}, a.Type) {
		return members
	}
	for _, m := range membersIn(members[i]) {
		if m.name != "oauth" {
			d.errorf(m.key(), `"oauth" and %q are mutually exclusive: keep one`, m.name)
			continue
		}
		o, before := OAuth{Grant: grants["client_credentials"]}, len(d.problems)
		d.object(m, o.apiKeys())
		switch {
		case len(d.problems) > before:
		case o.Grant == "":
			d.errorf(m, `"grant" is authorization_code, for which a person would have to log in: expected client_credentials, jwt-bearer or token-exchange`)
		default:
			o.check(d, m)
			if o.Issuer+o.TokenURL == "" && !o.OfCaller {
				d.errorf(m, `needs "issuer", the URL of the authorization server, or "tokenUrl", that of its token endpoint`)
			}
		}
		a.OAuth = &o
	}
	others := slices.Delete(slices.Clone(members), i, i+1)
	for _, m := range others {
		if m.name == "headers" && slices.ContainsFunc(membersIn(m), func(h node) bool { return strings.EqualFold(h.name, "Authorization") }) {
			d.errorf(m.key(), `has an Authorization header, and "auth" another one: keep one`)
		}
	}
	return others
}

// check checks that the grant has what it needs.
func (o *OAuth) check(d *decoder, n node) {
	if o.Grant == grants["token-exchange"] && !hasAny("assertion")(membersIn(n)) {
		o.OfCaller = true
		d.exchanges = append(d.exchanges, n)
	}
	switch {
	case o.Grant != "" && o.ClientID == "":
		d.errorf(n, `needs "clientId" for a grant other than authorization_code`)
	case o.ClientSecret != "" && !hasAny("clientId", "client_id", "CLIENT_ID")(membersIn(n)):
		d.errorf(n, `needs "clientId", the client whose secret "clientSecret" is`)
	case o.Grant == "client_credentials" && o.ClientSecret == "" && o.PrivateKey == "":
		d.errorf(n, `needs "clientSecret" or "privateKey" for the grant client_credentials`)
	case o.Grant == grants["jwt-bearer"] && o.Assertion == "":
		d.errorf(n, `needs "assertion", the JWT to be exchanged, for the grant jwt-bearer`)
	}
}

// checkExchanges checks that callers have tokens where these are exchanged.
func (c *Config) checkExchanges(d *decoder) {
	for _, n := range d.exchanges {
		if c.Auth.Issuer == "" {
			d.errorf(n, `exchanges the access tokens of callers, who have none: it needs "auth" at the top of the config, or an "assertion", the token to be exchanged`)
		}
	}
}

// readAuth reads "auth" of Cursor, an object as "oauth" is. In other clients it is the name of a way.
func readAuth(d *decoder, n node) (OAuth, bool) {
	if n.value.Kind() == '{' {
		return readOAuth(d, n)
	}
	if way, ok := n.value.(hujson.Literal); !ok || way.String() != "oauth" {
		d.warnf(n, "ignored: %s", noOAuth)
	}
	return OAuth{}, false
}

// readScopes reads an array, or a text with spaces between the scopes.
func readScopes(d *decoder, n node) ([]string, bool) {
	if n.value.Kind() != '"' {
		return listOf(readText)(d, n)
	}
	text, ok := readText(d, n)
	return strings.Fields(text), ok
}

func readPort(d *decoder, n node) (int, bool) {
	port, ok := n.number()
	if n.value.Kind() == '"' { // as a variable is
		text, filled := readText(d, n)
		if !filled {
			return 0, false
		}
		whole, err := strconv.Atoi(text)
		port, ok = float64(whole), err == nil
	}
	ok = ok && port == float64(int(port)) && port >= 1 && port <= 65535
	return int(port), d.fits(n, ok, `"`, "a port from 1 to 65535")
}
