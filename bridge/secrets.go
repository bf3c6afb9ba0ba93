package bridge

import (
	"errors"
	"net/url"
	"strings"
)

// Secrets are texts of a config that nothing a backend says of a failure may show, such as
// a password that a server repeats. The zero value has none. It is added to before it is
// shared.
type Secrets struct{ texts []string }

// Add keeps a secret, as it is and as it stands in a URL. The empty one is none.
func (s *Secrets) Add(secret string) {
	if secret == "" {
		return
	}
	s.texts = append(s.texts, secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:])
}

// Hide is a text with xxxxx in the place of each secret.
func (s *Secrets) Hide(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	return text
}

// HideError is an error whose text has no secrets. What it wraps is gone.
func (s *Secrets) HideError(err error) error { return errors.New(s.Hide(err.Error())) }
