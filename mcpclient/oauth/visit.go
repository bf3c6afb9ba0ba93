package oauth

import (
	"context"
	"errors"
	"net/url"
)

// A Visit is a login with a browser that cannot return to this computer by itself: it returns to an
// address that is served for it.
type Visit struct {
	login
	address string
	asked   *token // what is known of it before an answer
}

// Visit begins a login. redirect is where the browser returns to. id is shown behind a dot at the end of the
// State. cause is what needs it, an error of this Client or of another one of the server, or nil.
func (c *Client) Visit(ctx context.Context, redirect, id string, cause error) (*Visit, error) {
	var scopes []string
	if wanted := (*LoginError)(nil); errors.As(cause, &wanted) {
		scopes = wanted.Scopes
		c.challenged.CompareAndSwap(nil, wanted.of)
	}
	l, own, err := c.begin(ctx, scopes)
	if err != nil {
		return nil, err
	}
	l.redirect, l.state = redirect, l.state+"."+id
	// One registration does for all identities.
	l.registrar = c.beside(c.cfg)
	l.registrar.key = c.keyOf("\x00clients")
	r, err := l.registrar.load()
	if err == nil {
		err = l.identify(ctx, r, own.Token)
	}
	if err != nil {
		return nil, err
	}
	v := &Visit{login: *l, asked: l.token}
	v.address, err = l.address()
	return v, err
}

// Address returns the URL of the page where the person logs in. It names the State of the Visit.
func (v *Visit) Address() string { return v.address }

// State returns what the answer of the authorization server must repeat, a secret of the browser.
func (v *Visit) State() string { return v.state }

// Answer takes the answer of the authorization server, and returns who has logged in, "" if it does not
// say. Nothing is kept before [Visit.Keep]. A later answer takes the place of the one before, if it gives a token.
func (v *Visit) Answer(ctx context.Context, answer url.Values) (who string, err error) {
	if answer.Get("state") != v.state {
		return "", errors.New("the answer is that of another login")
	}
	l := v.login
	l.token = v.asked
	err = l.exchange(ctx, answer)
	if err == nil && v.client.ID == v.cfg.ClientID { // which stays bound to the authorization server, for all identities
		err = v.registrar.change(ctx, func(r *record) (bool, error) {
			_, known := r.Clients[v.authority.Issuer]
			r.keep(v.authority.Issuer, v.client)
			return !known, nil
		})
	}
	if err != nil {
		return "", err
	}
	v.token = l.token // and nothing else: State may be read meanwhile
	return v.token.Subject, nil
}

// Keep keeps the login that Answer has completed.
func (v *Visit) Keep(ctx context.Context) error { return v.keep(ctx) }
