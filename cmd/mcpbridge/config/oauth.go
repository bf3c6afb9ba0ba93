package config

import (
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// OAuth is how a server's access tokens are come by, "oauth" of its entry. The zero value lets a person
// log in when the server asks for that.
type OAuth struct {
	Off bool // "oauth" is false: no token is obtained, whatever the server asks

	Grant          string // of RFC 6749 and its extensions; "" is a person's login
	Issuer         string // of the authorization server; "" means the first that the server names
	ClientID       string // "" means that one is obtained
	ClientSecret   string
	PrivateKey     string // in place of a secret: PEM or JWK
	ClientMetadata string // URL of a client id metadata document
	Scopes         []string
	CallbackPort   int    // of http://localhost:PORT/callback; 0 means a free one
	Assertion      string // that a grant exchanges for a token
}

// grants has the words for the grants that need no person.
var grants = map[string]string{
	"authorization_code": "",
	"client_credentials": "client_credentials",
	"jwt-bearer":         "urn:ietf:params:oauth:grant-type:jwt-bearer",
	"token-exchange":     "urn:ietf:params:oauth:grant-type:token-exchange",
}

func (o *OAuth) keys() keySet {
	return keySet{
		"grant":          {take: into(&o.Grant, oneOf(grants))},
		"issuer":         {take: into(&o.Issuer, readBaseURL)},
		"clientId":       {take: into(&o.ClientID, readText)},
		"clientSecret":   {take: into(&o.ClientSecret, readKey)},
		"privateKey":     {take: into(&o.PrivateKey, readKey)},
		"clientMetadata": {take: into(&o.ClientMetadata, readBaseURL)},
		"scopes":         {take: into(&o.Scopes, readScopes)},
		"callbackPort":   {take: into(&o.CallbackPort, readPort)},
		"assertion":      {take: into(&o.Assertion, readKey)},

		"scope":         {take: into(&o.Scopes, readScopes), same: "scopes"},
		"client_id":     {take: into(&o.ClientID, readText), same: "clientId"},
		"client_secret": {take: into(&o.ClientSecret, readKey), same: "clientSecret"},
		"CLIENT_ID":     {take: into(&o.ClientID, readText), same: "clientId"},
		"CLIENT_SECRET": {take: into(&o.ClientSecret, readKey), same: "clientSecret"},
		"enabled":       {take: func(d *decoder, n node) { on, ok := readBool(d, n); o.Off = ok && !on }},

		"authorizationUrl": {note: noEndpoints}, "tokenUrl": {note: noEndpoints}, "registrationUrl": {note: noEndpoints},
		"authServerMetadataUrl": {note: noEndpoints}, "redirectUri": {note: `use "callbackPort"`},
		"audiences": {}, "tokenParamName": {},
	}
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
	d.object(n, o.keys())
	if len(d.problems) > before {
		return o, false
	}
	switch {
	case o.Grant != "" && o.ClientID == "":
		d.errorf(n, `needs "clientId" for its "grant"`)
	case o.Grant == "client_credentials" && o.ClientSecret == "" && o.PrivateKey == "":
		d.errorf(n, `needs "clientSecret" or "privateKey" for its "grant"`)
	case o.Grant != "" && o.Grant != "client_credentials" && o.Assertion == "":
		d.errorf(n, `needs "assertion", the token to be exchanged, for its "grant"`)
	}
	return o, true
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
	if text, isText := n.value.(hujson.Literal); isText && text.Kind() == '"' { // as a variable is
		whole, err := strconv.Atoi(text.String())
		port, ok = float64(whole), err == nil
	}
	if !ok || port != float64(int(port)) || port < 1 || port > 65535 {
		d.expected(n, "a port from 1 to 65535")
		return 0, false
	}
	return int(port), true
}
