package httpapi

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// minSecret is how long a secret is at least, in bytes: a shorter one would be found in
// what has nothing to do with it.
const minSecret = 6

// secrets are the credentials in a config.
func (c *Config) secrets(at *url.URL) (all bridge.Secrets) {
	add := func(text string) {
		if len(text) >= minSecret {
			all.Add(text)
		}
	}
	values := []string{c.Auth.value}
	for name, value := range c.Headers {
		if isCredential(name) {
			values = append(values, value)
		}
	}
	for _, value := range values {
		add(value)
		if _, credentials, ok := strings.Cut(value, " "); ok { // behind the scheme
			add(credentials)
			_, password, _ := strings.Cut(decodeBasic(credentials), ":")
			add(password)
		}
	}
	password, _ := at.User.Password()
	add(password)
	for name, values := range at.Query() {
		if isCredential(name) {
			add(values[0])
		}
	}
	return all
}

// decodeBasic is the user and the password of basic authentication; "" when it is another.
func decodeBasic(credentials string) string {
	pair, err := base64.StdEncoding.DecodeString(credentials)
	if err != nil {
		return ""
	}
	return string(pair)
}

// isCredential reports whether a header or a part of a query has a secret, by its name.
func isCredential(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "key", "secret", "token"}, func(word string) bool { return strings.Contains(name, word) })
}
