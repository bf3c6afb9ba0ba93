package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// auth is the header that holds the credential of an API. No error and no formatting shows it.
type auth struct{ name, value string }

// String hides the secret.
func (auth) String() string { return "(secret)" }

// UnmarshalJSON decodes the forms that Config.Auth lists. No error shows a value.
func (a *auth) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("{")) {
		return a.decode(raw)
	}
	var verbatim string
	if json.Unmarshal(raw, &verbatim) != nil {
		return errAuth
	}
	return a.set("Authorization", verbatim)
}

var errAuth = errors.New(`expected the value of the Authorization header, {"bearer": TOKEN}, {"basic": {"username": …, "password": …}}, {"header": {"name": …, "value": …}} or, in a config, {"oauth": {…}} alone`)

func (a *auth) decode(raw []byte) error {
	var form struct {
		Bearer *string
		Basic  *struct{ Username, Password string }
		Header *struct{ Name, Value string }
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(&form) != nil {
		return errAuth
	}
	switch {
	case form.Bearer != nil && form.Basic == nil && form.Header == nil:
		return a.set("Authorization", "Bearer "+*form.Bearer)
	case form.Basic != nil && form.Bearer == nil && form.Header == nil:
		if strings.Contains(form.Basic.Username, ":") {
			return errors.New("a username of basic must not have a colon in it (RFC 7617, section 2)")
		}
		return a.set("Authorization", basicOf(url.UserPassword(form.Basic.Username, form.Basic.Password)))
	case form.Header != nil && form.Bearer == nil && form.Basic == nil:
		return a.set(form.Header.Name, form.Header.Value)
	}
	return errAuth
}

// basicOf returns the value of the Authorization header for a user (RFC 7617).
func basicOf(user *url.Userinfo) string {
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

func (a *auth) set(name, value string) error {
	if err := CheckHeader(name, value); err != nil {
		return err
	}
	if value != "" {
		*a = auth{name, value}
	}
	return nil
}

// headers maps header names to values, which may be secret.
type headers map[string]string

// UnmarshalJSON decodes an object of strings. No error shows a value.
func (h *headers) UnmarshalJSON(raw []byte) error {
	var plain map[string]string
	if json.Unmarshal(raw, &plain) != nil {
		return errors.New(`expected an object of strings, such as {"X-Version": "2"}`)
	}
	*h = plain
	return nil
}

// CheckHeader refuses a malformed name or value, and the headers of the connection, which could
// send a request to another server or change where it ends. No error shows the value.
func CheckHeader(name, value string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isToken(r) }) {
		return fmt.Errorf("%q is not a header name", name)
	}
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Expect", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection":
		return fmt.Errorf("the header %s cannot be set: it belongs to the connection", name)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return isControl(r) && r != '\t' }) { // RFC 9110, section 5.5
		return fmt.Errorf("the value of %s has a line break or another control character in it", name)
	}
	return nil
}

// DropCoding removes an Accept-Encoding with which answers could come in a coding that is not decoded:
// the transport decodes only what it has asked for itself.
func DropCoding(h http.Header) {
	if !strings.EqualFold(h.Get("Accept-Encoding"), "identity") {
		h.Del("Accept-Encoding")
	}
}

// isToken reports whether r is a tchar (RFC 9110, section 5.6.2).
func isToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// minSecret is the least length of a secret, in bytes: shorter texts occur by chance.
const minSecret = 6

// secrets returns the credentials in a config, and others that it is known to have.
func (c *Config) secrets(at *url.URL, known []string) (all bridge.Secrets) {
	add := func(text string) {
		if len(text) >= minSecret {
			all.Add(text)
		}
	}
	for _, text := range known {
		add(text)
	}
	headers := []string{c.Auth.value}
	if at.User != nil {
		password, _ := at.User.Password()
		add(password)
		headers = append(headers, basicOf(at.User))
	}
	for name, value := range c.Headers {
		if isCredential(name) {
			headers = append(headers, value)
		}
	}
	for _, value := range headers {
		add(value)
		if _, credentials, ok := strings.Cut(value, " "); ok { // after the scheme
			add(credentials)
			if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil { // perhaps of basic
				_, password, _ := strings.Cut(string(pair), ":")
				add(password)
			}
		}
	}
	for name, values := range at.Query() {
		if isCredential(name) {
			add(values[0])
		}
	}
	return all
}

// isCredential reports whether a header or query parameter holds a secret, judged by its name.
func isCredential(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "key", "secret", "token"}, func(word string) bool { return strings.Contains(name, word) })
}
