package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

// Grant is how a token is come by.
type Grant string

// The grants. All but that of a code need no person.
const (
	Code              Grant = ""                                                // a person logs in
	ClientCredentials Grant = "client_credentials"                              // the client's own
	JWTBearer         Grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"     // for an assertion (RFC 7523)
	TokenExchange     Grant = "urn:ietf:params:oauth:grant-type:token-exchange" // for another token (RFC 8693)
)

// Config describes the access to one server.
type Config struct {
	Server   string         // its URL: http, https, ws or wss
	API      bool           // it is an HTTP API that does not say where its tokens come from: Issuer or TokenURL does
	Identity string         // whose access it is; "" is the operator's
	Store    Store          // keeps what has been obtained; nil means that only the Client does
	Roots    *x509.CertPool // trusted certificate authorities; nil means the system's
	Command  string         // with which the operator logs in, for errors
	Tool     string         // with which others log in, each with an account of its own, for errors; "" means that none do

	// MayAsk reports whether the person behind a caller is the one to log in; nil means that none is.
	MayAsk func(caller bridge.Principal) bool

	Grant          Grant
	Issuer         string   // of the authorization server; "" means the first that the server names
	TokenURL       string   // of an API: the token endpoint, so that no metadata is needed
	ClientID       string   // "" means that one is obtained
	ClientSecret   string   // "" means a public client
	PrivateKey     string   // with which the client authenticates in place of a secret: PEM or JWK
	AuthMethod     string   // how the secret is sent, client_secret_basic or client_secret_post; "" means as the authorization server says
	ClientMetadata string   // URL of a client id metadata document, where the authorization server takes them
	Scopes         []string // in place of those that the server lists
	Resource       string   // of an API: what the token is for (RFC 8707); "" means that this is not said
	Audience       string   // that authorization servers want which know no resources; "" means none
	CallbackPort   int      // of http://localhost:PORT/callback; 0 means a free one
	Assertion      string   // of JWTBearer, and the subject token of TokenExchange
}

// Client has the credentials of an identity at a server. It may be used from many goroutines.
type Client struct {
	cfg        Config
	server     *url.URL                   // http or https
	key        string                     // in the store
	fetch      *fetcher                   // of what the server names
	issuer     *fetcher                   // of what the authorization server names
	discovered *atomic.Pointer[discovery] // that the Clients of an Exchange share; nil for others

	state      atomic.Pointer[state]     // nil before the first use
	turns      atomic.Int64              // of reading and changing the record: see adopt
	obtained   atomic.Pointer[obtained]  // the latest that this Client has got for itself; nil without one
	switched   atomic.Pointer[time.Time] // when the login became another one, other than by this Client; nil means never
	outdated   atomic.Bool               // the store may have another one
	challenged atomic.Pointer[challenge] // by the latest refusal
	wanted     atomic.Pointer[LoginError]

	asking chan struct{} // holds a token while a caller is asked to log in

	mu       sync.Mutex // guards the fields below
	renewal  *renewal   // under way, or the latest
	replaced time.Time  // up to when the replacements of refused tokens are paid for: see mayReplace
}

// New returns a Client. It fails if the server can have no access tokens.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.Server)
	if err != nil {
		return nil, errors.New("its URL is not one")
	}
	plain := url.URL{Scheme: map[string]string{"ws": "http", "wss": "https"}[u.Scheme], Host: u.Host, Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	plain.Scheme = cmp.Or(plain.Scheme, u.Scheme)
	if plain.Scheme != "https" && !(plain.Scheme == "http" && (cfg.API || outbound.IsLoopback(&plain))) {
		return nil, errors.New("OAuth needs a server with https")
	}
	if cfg.PrivateKey != "" {
		if _, err := parseKey(cfg.PrivateKey); err != nil {
			return nil, err
		}
	}
	if cfg.Store == nil {
		cfg.Store = &transient{}
	}
	c := &Client{cfg: cfg, server: &plain, asking: make(chan struct{}, 1), fetch: newFetcher(&plain, cfg.Roots)}
	c.issuer = c.fetch
	if chosen := cmp.Or(cfg.Issuer, cfg.TokenURL); chosen != "" { // by the operator, wherever the server is
		u, err := url.Parse(chosen)
		if err != nil {
			return nil, errors.New("the URL of its authorization server is not one")
		}
		c.issuer = newFetcher(u, cfg.Roots)
	}
	c.key = c.keyOf(cfg.Identity)
	return c, nil
}

// beside returns a Client with a Config that differs, at the same server and authorization server.
func (c *Client) beside(cfg Config) *Client {
	return &Client{cfg: cfg, server: c.server, fetch: c.fetch, issuer: c.issuer, discovered: c.discovered, asking: make(chan struct{}, 1)}
}

// keyOf returns the key in the store of an identity's record.
func (c *Client) keyOf(identity string) string {
	of := c.identifier() + "\x00" + identity
	if c.cfg.ClientID != "" || c.cfg.Grant != Code { // several clients of one server have each its own
		of += "\x00" + string(c.cfg.Grant) + "\x00" + c.cfg.ClientID
	}
	if c.cfg.API { // several of which may be at one URL
		of += fmt.Sprintf("\x00%q", []string{c.cfg.Issuer, c.cfg.TokenURL, joined(c.cfg.Scopes), c.cfg.Resource, c.cfg.Audience})
	}
	return hashed(of)
}

// hashed returns 32 hexadecimal digits that stand for a text.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// issuer returns the issuer of the token; "" without one.
func (r *record) issuer() string {
	if r.Token == nil {
		return ""
	}
	return r.Token.Issuer
}

// Key returns the key of the Client's record in the store.
func (c *Client) Key() string { return c.key }

func (c *Client) hide(text string) string {
	if s := c.state.Load(); s != nil {
		return s.secrets.Hide(text)
	}
	return text
}

// LoginError says that a person must log in.
type LoginError struct {
	Scopes []string // that are missing; nil means that there is no usable login
	client *Config
	cause  string
	of     *challenge // nil without one
}

func (e *LoginError) Error() string {
	text := fmt.Sprintf("%s: run %s", e.cause, e.client.Command)
	switch c := e.client; {
	case c.Identity != "":
		return fmt.Sprintf("%s: %s logs in with the tool %s", e.cause, c.Identity, c.Tool)
	case e.Scopes != nil:
		text = fmt.Sprintf("%s: mcpbridge may do this after %s --scope %s", e.cause, c.Command, word(joined(e.Scopes), runtime.GOOS))
	}
	if e.client.Tool != "" {
		text += " for an account of your own (callers log in with the tool " + e.client.Tool + ")"
	}
	return text
}

// word returns scopes, which a server has named, as a word for the shells of a system, which run nothing in it.
func word(scopes, system string) string {
	switch {
	case !strings.ContainsAny(scopes, "$`!%"):
		return `"` + scopes + `"`
	case system == "windows": // cmd.exe and PowerShell have no quotation marks in common for these
		return `"…"`
	}
	return "'" + strings.ReplaceAll(scopes, "'", `'\''`) + "'"
}

func (c *Client) loginError(cause string, scopes []string) error {
	e := &LoginError{Scopes: scopes, client: &c.cfg, cause: cause, of: c.challenged.Load()}
	c.wanted.Store(e)
	return e
}

// Wanted returns the latest error that says that a person must log in; nil if there was none, or another token since.
func (c *Client) Wanted() error {
	e := c.wanted.Load()
	if e == nil {
		return nil
	}
	s := c.state.Load()
	if r, err := c.load(); err == nil && r.Token != nil && (s == nil || r.Token.header() != s.header) { // another process has it
		return nil
	}
	return e
}

// Authorization returns the value of the Authorization header of a request; "" as long as the server has
// asked for none. It renews a token that is about to expire.
func (c *Client) Authorization(ctx context.Context) (string, error) {
	s, err := c.current(false)
	if err != nil {
		return "", err
	}
	if s.Token == nil && c.cfg.Grant == Code || s.Token != nil && (s.Token.Renew.IsZero() || time.Now().Before(s.Token.Renew) || !c.renewable(s.record)) {
		return s.header, nil
	}
	if err := c.renew(ctx, s.header, nil, false); err != nil {
		if s.Token != nil && time.Now().Before(s.Token.Expiry) && !errors.As(err, new(*LoginError)) {
			return s.header, nil
		}
		return "", err
	}
	return c.state.Load().header, nil
}

// renewable reports whether another token can be had without a person.
func (c *Client) renewable(r *record) bool {
	return c.cfg.Grant != Code || r.Token != nil && r.Token.Refresh != ""
}

// maxScopes bounds the scopes of a login, to which a server can add with each refusal. More that it lists
// count as none.
const maxScopes = 1000

// Refused is told of a response with the status 401 or 403 to a request with the value sent of the
// Authorization header. It reports whether the request is to be sent again, with another one. An error
// says what a person has to do; it is nil where the refusal has nothing to do with OAuth. The last
// refusal of a request leads to no other value.
func (c *Client) Refused(ctx context.Context, sent string, status int, header http.Header, last bool) (again bool, err error) {
	ch := parseChallenge(header)
	scope := ch.wantsScopes(status)
	if !scope && (status != http.StatusUnauthorized || ch.other && !ch.found) {
		return false, nil
	}
	c.challenged.Store(&ch)
	s, err := c.current(true)
	if err != nil {
		return false, err
	}
	if s.header != "" && s.header != sent && !last {
		return true, nil // another process has it
	}
	if s.header != "" && s.header != sent { // of which that says nothing
		defer c.wanted.Store(nil)
	}
	missing := []string(nil)
	if scope {
		missing = ch.scopes
		if s.Token != nil && len(union(s.Token.Requested, missing)) > maxScopes {
			return false, fmt.Errorf("it wants more and more scopes: %d are the most", maxScopes)
		}
		if s.Token != nil && covers(s.Token.Requested, missing) {
			return false, fmt.Errorf("it wants the scopes %q, which it has been asked for: this identity may not have them", c.visible(joined(missing)))
		}
	}
	if !last && (c.cfg.Grant != Code || !scope && c.renewable(s.record)) {
		if err := c.renew(ctx, s.header, missing, true); err != nil {
			return false, err
		}
		return true, nil
	}
	switch {
	case c.cfg.Grant != Code:
		return false, fmt.Errorf("it refuses the token that %s gives: HTTP %d", s.issuer(), status)
	case scope:
		return false, c.loginError("it wants more scopes", missing)
	case sent != "" || s.Ended:
		return false, c.loginError("its login has ended", nil)
	case ch.metadata == "" && ch.scopes == nil: // nor does it say that it uses OAuth
		return false, c.loginError("HTTP 401 Unauthorized: it wants an Authorization header in its config, or OAuth", nil)
	}
	return false, c.loginError("it wants a login", nil)
}

// Challenged reports whether the server has asked for a token, or another one, since this Client was made.
func (c *Client) Challenged() bool { return c.challenged.Load() != nil }

// renewal is an attempt to get another token, which several callers wait for.
type renewal struct {
	done chan struct{}
	err  error
	used string // the header that is to be replaced
	end  time.Time
}

const (
	renewTime = time.Minute     // bounds a renewal
	failTime  = 5 * time.Second // for which a failure answers further attempts
)

// renew replaces the token whose header is used, which another caller or process may have done. refused says
// that the server has refused it. A renewal that has begun goes on without its caller: its refresh token may
// be spent.
func (c *Client) renew(ctx context.Context, used string, scopes []string, refused bool) error {
	c.mu.Lock()
	n := c.renewal
	running := n != nil && n.end.IsZero()
	failed := n != nil && n.err != nil && n.used == used && time.Since(n.end) < failTime
	if !running && !(failed && scopes == nil) {
		n = &renewal{done: make(chan struct{}), used: used}
		c.renewal = n
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
			defer cancel()
			err := c.change(ctx, func(r *record) (bool, error) { return c.replace(ctx, r, used, scopes, refused) })
			c.mu.Lock()
			defer c.mu.Unlock()
			n.err, n.end = err, time.Now()
			close(n.done)
		}()
	}
	c.mu.Unlock()
	select {
	case <-n.done:
		return n.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replace gets another token than the one whose header is used, for a record that is locked.
func (c *Client) replace(ctx context.Context, r *record, used string, scopes []string, refused bool) (save bool, err error) {
	switch {
	case r.Token != nil && r.Token.header() != used:
		return false, nil
	case refused && !c.mayReplace():
		return false, fmt.Errorf("it refuses the tokens that %s gives, one after the other: another one is asked for within %s", r.issuer(), replaceEvery)
	case c.cfg.Grant != Code:
		r.Token, err = c.machine(ctx, r, scopes)
		return err == nil, err
	case r.Token == nil:
		return false, c.loginError("its login has ended", nil)
	}
	reg := c.registered(r)
	next, err := c.grant(ctx, r.Token, reg, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.Token.Refresh}})
	var refusal *grantError
	switch {
	case err == nil:
		r.Token = next
		return true, nil
	case errors.As(err, &refusal) && (refusal.Code == "invalid_grant" || refusal.isOfClient()):
		if refusal.isOfClient() && r.Clients[r.Token.Issuer].ID == reg.ID {
			delete(r.Clients, r.Token.Issuer)
		}
		r.Token, r.Former, r.Ended = nil, registration{}, true
		return true, c.loginError("its login has ended", nil)
	}
	return false, fmt.Errorf("its token cannot be renewed: %w", err)
}

// A server that refuses every token must not cost its authorization server one for each request: so many
// are replaced at once, and then one in a while.
const (
	replaceBurst = 5
	replaceEvery = time.Minute
)

// mayReplace reports whether a refused token may be replaced now, and counts it.
func (c *Client) mayReplace() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if earliest := now.Add(-replaceBurst * replaceEvery); c.replaced.Before(earliest) {
		c.replaced = earliest
	}
	next := c.replaced.Add(replaceEvery)
	if next.After(now) {
		return false
	}
	c.replaced = next
	return true
}

// registered returns the client id for which the token was issued.
func (c *Client) registered(r *record) registration {
	t := r.Token
	switch {
	case t.Client == c.cfg.ClientID:
		return registration{ID: c.cfg.ClientID, Secret: c.cfg.ClientSecret, Method: c.method(&authority{AuthMethods: t.AuthMethods})}
	case t.Client == c.cfg.ClientMetadata && c.cfg.PrivateKey != "":
		return registration{ID: t.Client, Method: methodJWT}
	case t.Client == c.cfg.ClientMetadata:
		return registration{ID: t.Client, Method: methodNone}
	case t.Client == r.Former.ID:
		return r.Former
	}
	return r.Clients[t.Issuer]
}

// machine gets a token without a person.
func (c *Client) machine(ctx context.Context, r *record, scopes []string) (*token, error) {
	found, a, err := c.discover(ctx, c.namedMetadata(r), r.issuer())
	if err != nil {
		return nil, err
	}
	reg, ok, err := c.configured(r, a)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("oauth in its config needs a clientId for the grant %s", c.cfg.Grant)
	}
	wanted := union(c.wantedScopes(r, found, a), scopes)
	form := url.Values{"grant_type": {string(c.cfg.Grant)}}
	if len(wanted) > 0 {
		form.Set("scope", joined(wanted))
	}
	switch c.cfg.Grant {
	case JWTBearer:
		form.Set("assertion", c.cfg.Assertion)
	case TokenExchange:
		form.Set("subject_token", c.cfg.Assertion)
		form.Set("subject_token_type", "urn:ietf:params:oauth:token-type:access_token")
		form.Set("requested_token_type", "urn:ietf:params:oauth:token-type:access_token")
	}
	t, err := c.grant(ctx, newToken(found, a, wanted), reg, form)
	if err != nil {
		if c.discovered != nil { // it may have moved
			c.discovered.Store(nil)
		}
		return nil, fmt.Errorf("%s gives no token: %w", a.Issuer, err)
	}
	t.Assertion = c.assertionHash()
	r.keep(a.Issuer, reg)
	return t, nil
}

// assertionHash stands for the Assertion of the config: a token for another one is another's.
func (c *Client) assertionHash() string {
	if c.cfg.Assertion == "" {
		return ""
	}
	return hashed(c.cfg.Assertion)
}

func newToken(r *resource, a *authority, scopes []string) *token {
	return &token{
		Issuer: a.Issuer, Resource: r.Resource, Requested: scopes, Login: rand.Text(),
		TokenEndpoint: a.TokenEndpoint, RevocationEndpoint: a.RevocationEndpoint, AuthMethods: a.AuthMethods,
	}
}

// namedMetadata returns where the server says that its metadata is; "" if it has not.
func (c *Client) namedMetadata(r *record) string {
	if ch := c.challenged.Load(); ch != nil {
		return ch.metadata
	}
	return r.ResourceMetadata
}

// wantedScopes returns the scopes to ask for: those of the challenge and of the config, else those that
// the resource lists, with what was asked for before.
func (c *Client) wantedScopes(r *record, found *resource, a *authority) []string {
	wanted := c.cfg.Scopes
	if ch := c.challenged.Load(); ch != nil {
		wanted = union(wanted, ch.scopes)
	}
	if len(wanted) == 0 {
		wanted = found.Scopes
	}
	if r.issuer() == a.Issuer {
		wanted = union(r.Token.Requested, wanted)
	}
	return wanted
}

// Status describes a login.
type Status struct {
	Issuer  string    `json:"issuer"`
	Subject string    `json:"subject,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"`
	Expiry  time.Time `json:"expiry,omitzero"` // of the access token
	Renews  bool      `json:"renews"`          // by itself
}

// Status returns what is known of the login; nil if there is none. It leaves the one in use alone, with which Changed
// compares.
func (c *Client) Status() (*Status, error) {
	if c.state.Load() == nil {
		if _, err := c.current(false); err != nil {
			return nil, err
		}
	}
	r, err := c.load()
	if err != nil || r.Token == nil {
		return nil, err
	}
	return c.status(r), nil
}

// status describes a login that there is.
func (c *Client) status(r *record) *Status {
	t := r.Token
	return &Status{Issuer: t.Issuer, Subject: t.Subject, Scopes: t.Granted, Expiry: t.Expiry, Renews: c.renewable(r)}
}

// Server returns the URL of the server.
func (c *Client) Server() string { return outbound.Bare(c.server) }
