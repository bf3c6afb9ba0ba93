package bridge

import (
	"errors"
	"net/url"
	"strings"
)

// Secrets are texts of a config that a backend's errors must not show, such as a password that a
// server repeats. The zero value is empty. Add must not be called once it is shared.
type Secrets struct{ texts []string }

// Add adds a secret, as it is and as it stands in a URL, unless it is "".
func (s *Secrets) Add(secret string) {
	if secret == "" {
		return
	}
	s.texts = append(s.texts, secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:])
}

// Hide returns a text with xxxxx in place of each secret.
func (s *Secrets) Hide(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	return text
}

// HideError returns an error with the text of err without secrets. It does not wrap err.
func (s *Secrets) HideError(err error) error { return errors.New(s.Hide(err.Error())) }
