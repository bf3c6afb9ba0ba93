package auth

import (
	"context"
	"crypto/x509"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Credentials are what the sender of a request presents.
type Credentials struct {
	Token string              // a bearer token; "" without one
	Chain []*x509.Certificate // verified, from that of the TLS client to an authority's; nil without one
}

// An Identity is whom credentials admit. It must not be changed.
type Identity struct {
	Principal bridge.Principal
	Claims    string    // what the credentials say of the principal, a JSON object; "" means nothing
	Profiles  []string  // the only ones that the principal may have; nil means those that are for it
	Expires   time.Time // from when on the credentials admit no longer; zero means never

	// Credential stands for what admits, and for what that allows: tokens that are refreshed have the
	// same one.
	Credential string
}

// An Authenticator tells whose credentials are presented. It may be used from many goroutines.
type Authenticator interface {
	// Authenticate returns the identity that credentials admit. An error, in general a Refusal, says why
	// they admit none. Both are nil for credentials that are none of this Authenticator's.
	Authenticate(ctx context.Context, c *Credentials) (*Identity, error)

	// Admits reports whether an Identity with this Credential may stay: what admitted it is not revoked.
	Admits(credential string) bool

	// Several reports whether there may be more than one principal.
	Several() bool
}

// A Refusal is why credentials are not accepted.
type Refusal struct {
	Reason string
	Scopes []string // that a token needs which is otherwise valid
	Later  bool     // the credentials cannot be verified at present
}

// Error implements error.
func (r *Refusal) Error() string { return r.Reason }

// Any accepts the credentials that one of several Authenticators accepts; the first that does not
// pass them on decides.
type Any []Authenticator

// Authenticate implements Authenticator.
func (a Any) Authenticate(ctx context.Context, c *Credentials) (*Identity, error) {
	for _, one := range a {
		if id, err := one.Authenticate(ctx, c); id != nil || err != nil {
			return id, err
		}
	}
	return nil, nil
}

// Admits implements Authenticator.
func (a Any) Admits(credential string) bool {
	for _, one := range a {
		if one.Admits(credential) {
			return true
		}
	}
	return false
}

// Several implements Authenticator.
func (a Any) Several() bool { return len(a) > 1 || len(a) == 1 && a[0].Several() }
