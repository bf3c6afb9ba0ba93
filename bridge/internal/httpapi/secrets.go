package httpapi

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// minSecret is the least length of a secret, in bytes: shorter texts occur by chance.
const minSecret = 6

// secrets returns the credentials in a config.
func (c *Config) secrets(at *url.URL) (all bridge.Secrets) {
	add := func(text string) {
		if len(text) >= minSecret {
			all.Add(text)
		}
	}
	headers := []string{c.Auth.value}
	for name, value := range c.Headers {
		if isCredential(name) {
			headers = append(headers, value)
		}
	}
	for _, value := range headers {
		add(value)
		if _, credentials, ok := strings.Cut(value, " "); ok { // after the scheme
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

// decodeBasic returns the user and the password of basic credentials, or "" for any other scheme.
func decodeBasic(credentials string) string {
	pair, err := base64.StdEncoding.DecodeString(credentials)
	if err != nil {
		return ""
	}
	return string(pair)
}

// isCredential reports whether a header or query parameter holds a secret, judged by its name.
func isCredential(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "key", "secret", "token"}, func(word string) bool { return strings.Contains(name, word) })
}
