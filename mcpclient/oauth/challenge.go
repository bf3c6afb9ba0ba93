package oauth

import (
	"net/http"
	"slices"
	"strings"
)

// challenge is what a Bearer challenge of a WWW-Authenticate header says (RFC 6750, RFC 9728).
type challenge struct {
	found    bool     // there is one
	other    bool     // there are challenges of other schemes
	metadata string   // resource_metadata
	scopes   []string // scope
	fault    string   // error
}

// maxChallenge bounds the headers that are read, in bytes.
const maxChallenge = 8 << 10

// parseChallenge reads the challenges of a response. Of several with one scheme the first counts.
func parseChallenge(header http.Header) (c challenge) {
	text := strings.Join(header.Values("WWW-Authenticate"), ", ")
	text = text[:min(len(text), maxChallenge)]
	bearer := false
	for text != "" {
		text = strings.TrimLeft(text, " \t,")
		name := text[:tokenLength(text)]
		if name == "" {
			return c
		}
		text = text[len(name):]
		rest := strings.TrimLeft(text, " \t")
		if !strings.HasPrefix(rest, "=") { // a scheme
			bearer = strings.EqualFold(name, "Bearer") && !c.found
			c.found, c.other = c.found || bearer, c.other || !strings.EqualFold(name, "Bearer")
			text = rest
			continue
		}
		var value string
		value, text = parameterValue(strings.TrimLeft(rest[1:], " \t"))
		if bearer {
			c.set(strings.ToLower(name), value)
		}
	}
	return c
}

// WantsScopes reports whether a response says that its server wants more scopes than the token of the request has.
func WantsScopes(status int, header http.Header) bool {
	c := parseChallenge(header)
	return c.wantsScopes(status)
}

func (c *challenge) wantsScopes(status int) bool {
	return status == http.StatusForbidden && c.found && c.fault == "insufficient_scope"
}

func (c *challenge) set(name, value string) {
	switch name {
	case "resource_metadata":
		c.metadata = value
	case "scope":
		c.scopes = slices.DeleteFunc(strings.Fields(value), func(scope string) bool { return strings.ContainsFunc(scope, isNoScope) })
	case "error":
		c.fault = value
	}
}

// isNoScope reports whether a character may not be in the name of a scope (RFC 6749, section 3.3).
func isNoScope(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }

// tokenLength returns the length of the token (RFC 9110, section 5.6.2) at the start of a text.
func tokenLength(text string) int {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, text[i]) >= 0 {
			return i
		}
	}
	return len(text)
}

// parameterValue returns the value at the start of a text, a token or a quoted string, and what follows.
// Servers also leave out the quotes of a URL.
func parameterValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ", \t")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:]
		case '\\':
			i++
			if i == len(text) {
				return b.String(), ""
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), ""
}
