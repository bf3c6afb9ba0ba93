package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Prompt is how a person is reached.
type Prompt struct {
	// Open shows a page in the browser. The URL is http or https.
	Open func(address string) error

	// Paste has what a person pasted who cannot be sent back by the browser: the address to which it
	// was to go, or the code. A wrong one is told to Complain. Both may be nil.
	Paste    <-chan string
	Complain func(error)
}

// Login lets a person log in, and keeps the token. scopes are asked for beside those that the server
// wants. ctx bounds the wait for the person. Where a token can be had without a person, it is.
func (c *Client) Login(ctx context.Context, scopes []string, prompt Prompt) error {
	if c.cfg.Grant != Code {
		return c.change(ctx, func(r *record) (save bool, err error) {
			r.Token, err = c.machine(ctx, r, scopes)
			return err == nil, err
		})
	}
	l, r, err := c.begin(ctx, scopes)
	if err != nil {
		return err
	}
	callback, err := l.prepare(ctx, r)
	if err != nil {
		return err
	}
	defer callback.close()
	answer, err := l.ask(ctx, callback, prompt)
	if err == nil {
		err = l.exchange(ctx, answer)
	}
	if err != nil {
		return err
	}
	return l.keep(ctx)
}

// begin finds out where a person logs in, and for what.
func (c *Client) begin(ctx context.Context, scopes []string) (*login, *record, error) {
	r, err := c.load()
	if err != nil {
		return nil, nil, err
	}
	found, a, err := c.discover(ctx, c.namedMetadata(r), r.issuer())
	if err != nil {
		return nil, nil, err
	}
	if a.AuthorizationEndpoint == "" {
		return nil, nil, fmt.Errorf("%s has no authorization_endpoint: it lets no person log in", a.Issuer)
	}
	if !a.guessed && !slices.Contains(a.Challenges, "S256") {
		return nil, nil, fmt.Errorf("%s does not say that it checks PKCE with S256 (code_challenge_methods_supported), without which a login is not safe", a.Issuer)
	}
	wanted := union(c.wantedScopes(r, found, a), scopes)
	if slices.Contains(a.Scopes, "offline_access") {
		wanted = union(wanted, []string{"offline_access"})
	}
	return &login{Client: c, registrar: c, authority: a, metadata: found.url, token: newToken(found, a, wanted), verifier: rand.Text() + rand.Text(), state: rand.Text()}, r, nil
}

// Ask lets the person behind a caller log in, where cause is an error of Refused that wants it. Of several
// callers one is asked. What another has done meanwhile is enough.
func (c *Client) Ask(ctx context.Context, caller bridge.Principal, cause error, show func(address string) error) error {
	var wanted *LoginError
	if !errors.As(cause, &wanted) || c.cfg.MayAsk == nil || !c.cfg.MayAsk(caller) {
		return cause
	}
	before := c.state.Load()
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now, err := c.current(true)
	if err != nil || now.header != "" && (before == nil || now.header != before.header) {
		return err
	}
	return c.Login(ctx, wanted.Scopes, Prompt{Open: show})
}

// keep keeps a client id. Of one in the config only the authorization server is kept. The one before stays that of the
// token: no other client can renew or revoke it, and the login for which there is another one may not be finished.
func (r *record) keep(issuer string, reg registration) {
	if reg.Redirect == "" {
		reg = registration{ID: reg.ID}
	}
	if r.Clients == nil {
		r.Clients = map[string]registration{}
	}
	if t := r.Token; t != nil && t.Issuer == issuer && t.Client == r.Clients[issuer].ID && t.Client != reg.ID {
		r.Former = r.Clients[issuer]
	}
	r.Clients[issuer] = reg
}

// forget forgets a client id, but for the token.
func (r *record) forget(issuer string) {
	r.keep(issuer, registration{})
	delete(r.Clients, issuer)
}

// login is a login under way.
type login struct {
	*Client
	registrar *Client // keeps the client's id
	authority *authority
	client    registration
	metadata  string // URL of the resource's
	redirect  string // where the browser returns to
	token     *token // what is known of it
	verifier  string
	state     string
}

// prepare opens the callback, and registers the client if it has no id.
func (l *login) prepare(ctx context.Context, r *record) (cb *callback, err error) {
	reg, ok, err := l.known(r, l.authority, "", l.token.Requested)
	if err != nil {
		return nil, err
	}
	port := l.cfg.CallbackPort
	if port == 0 && ok && reg.Redirect != "" { // the port that is registered, if it is free
		if u, err := url.Parse(reg.Redirect); err == nil {
			port, _ = strconv.Atoi(u.Port())
		}
	}
	if cb, err = listen(port, l.state); err != nil && l.cfg.CallbackPort == 0 {
		cb, err = listen(0, l.state)
	}
	if err != nil {
		return nil, err
	}
	l.redirect = cb.redirect
	if err = l.identify(ctx, r, r.Token); err != nil {
		cb.close()
	}
	return cb, err
}

// identify chooses the id of the client, and registers one if it has none. r has those that are known;
// ended is the token of a login that has ended, or nil.
func (l *login) identify(ctx context.Context, r *record, ended *token) (err error) {
	a, known := l.authority, false
	if l.client, known, err = l.known(r, a, l.redirect, l.token.Requested); err != nil || known && !l.isLost(ctx, ended) {
		return err
	}
	if l.client, err = l.register(ctx, a, l.redirect, l.token.Requested); err != nil {
		return err
	}
	return l.registrar.change(ctx, func(r *record) (bool, error) { // kept at once: the person may need several attempts
		r.keep(a.Issuer, l.client)
		return true, nil
	})
}

// exchange gets the token for the answer of the authorization server. A client that was registered there and is refused
// is forgotten, so that the next login registers another one.
func (l *login) exchange(ctx context.Context, answer url.Values) error {
	code, err := l.code(l.authority, answer)
	if err != nil {
		return err
	}
	t, err := l.grant(ctx, l.token, l.client, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {l.redirect}, "code_verifier": {l.verifier},
	})
	var refusal *grantError
	switch {
	case errors.As(err, &refusal) && refusal.Code == "invalid_grant":
		return fmt.Errorf("%s gives no token: %w: the code is not that of this login, or it was used before or came too late: log in again", l.authority.Issuer, err)
	case refusal.isOfClient() && l.client.Redirect != "":
		forgotten := l.registrar.change(ctx, func(r *record) (bool, error) {
			lost := r.Clients[l.authority.Issuer].ID == l.client.ID // else another login has registered one meanwhile
			if lost {
				r.forget(l.authority.Issuer)
			}
			return lost, nil
		})
		return errors.Join(fmt.Errorf("%s gives no token: %w", l.authority.Issuer, err), forgotten)
	case err != nil:
		return fmt.Errorf("%s gives no token: %w", l.authority.Issuer, err)
	}
	l.token = t
	return nil
}

// keep keeps the token.
func (l *login) keep(ctx context.Context) error {
	return l.change(ctx, func(r *record) (bool, error) {
		r.Token, r.Former, r.ResourceMetadata, r.Ended = l.token, registration{}, l.metadata, false
		r.keep(l.authority.Issuer, l.client)
		return true, nil
	})
}

// isLost reports whether the authorization server has forgotten the client that was registered there: the person
// would see an error of its page, and nothing would come back. It presents a code that was not given, and the
// client is looked at first (RFC 6749, section 5.2). Of a client with a token it asks only when that was refused, of
// one without only where the client serves all principals: nothing may follow a login that was not accepted.
func (l *login) isLost(ctx context.Context, ended *token) bool {
	ask := l.cfg.Identity != ""
	if ended != nil {
		ch := l.challenged.Load()
		ask = ch != nil && ch.fault != "insufficient_scope" && ended.Client == l.client.ID
	}
	if l.client.Redirect == "" || !ask {
		return false
	}
	err := l.post(ctx, l.authority.TokenEndpoint, l.authority.Issuer, l.client, url.Values{
		"grant_type": {"authorization_code"}, "code": {rand.Text()}, "redirect_uri": {l.client.Redirect},
		"code_verifier": {rand.Text() + rand.Text()}, "resource": {l.token.Resource},
	}, nil)
	var refusal *grantError
	return errors.As(err, &refusal) && refusal.isOfClient()
}

// address returns the URL of the page where the person logs in.
func (l *login) address() (string, error) {
	u, err := l.issuer.parse("authorization_endpoint", l.authority.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(l.verifier))
	q := u.Query()
	for key, value := range map[string]string{
		"response_type": "code", "client_id": l.client.ID, "redirect_uri": l.redirect, "state": l.state,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
		"resource": l.token.Resource,
	} {
		q.Set(key, value)
	}
	if l.cfg.Audience != "" {
		q.Set("audience", l.cfg.Audience)
	}
	if len(l.token.Requested) > 0 {
		q.Set("scope", joined(l.token.Requested))
	}
	if slices.Contains(l.token.Requested, "offline_access") {
		q.Set("prompt", "consent") // without which OpenID Connect grants no such access
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// ask sends the person to the authorization server and waits for its answer.
func (l *login) ask(ctx context.Context, callback *callback, prompt Prompt) (url.Values, error) {
	address, err := l.address()
	if err != nil {
		return nil, err
	}
	if err := prompt.Open(address); err != nil {
		return nil, err
	}
	paste := prompt.Paste
	for {
		select {
		case answer := <-callback.answers:
			return answer, nil
		case text, ok := <-paste:
			if !ok {
				paste = nil
				continue
			}
			answer, err := callback.parse(text, l.authority.NamesIssuer)
			if err == nil {
				return answer, nil
			}
			prompt.Complain(err)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, fmt.Errorf("nobody has logged in at %s in time", l.authority.Issuer)
			}
			return nil, ctx.Err()
		}
	}
}

// Logout removes what is kept, and asks the authorization server to forget the tokens (RFC 7009). The
// error of the latter does not keep them.
func (c *Client) Logout(ctx context.Context) error {
	unlock, err := c.cfg.Store.Lock(ctx, c.key)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := c.load()
	var revoked error
	if err == nil && r.Token != nil && r.Token.RevocationEndpoint != "" {
		revoked = c.revoke(ctx, r)
	}
	if err := c.cfg.Store.Delete(c.key); err != nil {
		return err
	}
	c.adopt(&record{}, c.turns.Add(1), false)
	return revoked
}

// revoke asks the authorization server to forget the tokens of a record.
func (c *Client) revoke(ctx context.Context, r *record) error {
	t := r.Token
	for hint, value := range map[string]string{"refresh_token": t.Refresh, "access_token": t.Access} {
		if value == "" {
			continue
		}
		form := url.Values{"token": {value}, "token_type_hint": {hint}}
		err := c.post(ctx, t.RevocationEndpoint, t.Issuer, c.registered(r), form, nil)
		var refusal *grantError
		if errors.As(err, &refusal) && refusal.Code == "unsupported_token_type" {
			continue // a JWT, which is checked without asking, and soon ends
		}
		if err != nil {
			return fmt.Errorf("%s has not revoked the token, which may stay valid until it expires: %w", t.Issuer, err)
		}
	}
	return nil
}
