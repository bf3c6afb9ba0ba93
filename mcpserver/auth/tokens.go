package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A Token is a bearer token that is known beforehand.
type Token struct {
	Name     string            // of its principal
	Sum      [sha256.Size]byte // the SHA-256 of its text
	Profiles []string          // the only ones that its principal may have; nil means those that are for it
	Expires  time.Time         // zero means never
}

// Tokens accepts bearer tokens that are known beforehand.
type Tokens struct {
	bySum    map[[sha256.Size]byte]*Identity
	admitted map[string]time.Time // when they expire, by Identity.Credential
	several  bool
}

// NewTokens returns an Authenticator of tokens.
func NewTokens(tokens []Token) *Tokens {
	t := &Tokens{bySum: map[[sha256.Size]byte]*Identity{}, admitted: map[string]time.Time{}}
	for _, token := range tokens {
		t.several = t.several || token.Name != tokens[0].Name
		id := &Identity{
			Principal: bridge.Principal{Name: token.Name}, Profiles: token.Profiles, Expires: token.Expires,
			Credential: fmt.Sprintf("token %s %x %s", token.Name, token.Sum, strings.Join(token.Profiles, ",")),
		}
		t.bySum[token.Sum] = id
		t.admitted[id.Credential] = token.Expires
	}
	return t
}

// Authenticate implements Authenticator. How long it takes tells nothing of a token: what is compared
// are hashes.
func (t *Tokens) Authenticate(_ context.Context, c *Credentials) (*Identity, error) {
	if c.Token == "" {
		return nil, nil
	}
	id := t.bySum[sha256.Sum256([]byte(c.Token))]
	if id != nil && expired(id.Expires) {
		return nil, &Refusal{Reason: "the token of " + id.Principal.Name + " has expired"}
	}
	return id, nil
}

// Admits implements Authenticator.
func (t *Tokens) Admits(credential string) bool {
	until, ok := t.admitted[credential]
	return ok && !expired(until)
}

// Several implements Authenticator.
func (t *Tokens) Several() bool { return t.several }

func expired(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }
