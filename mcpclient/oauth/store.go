package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Store keeps secrets under keys, for several processes. Keys are hexadecimal.
type Store interface {
	Load(key string) ([]byte, error) // nil if there is none
	Save(key string, value []byte) error
	Delete(key string) error // no error if there is none
	All() (map[string][]byte, error)

	// Lock keeps other processes and callers from a key until unlock is called. It waits for them
	// while ctx lasts.
	Lock(ctx context.Context, key string) (unlock func(), err error)
}

// transient is a Store for as long as it is used, of one process.
type transient struct {
	mu  sync.Mutex // guards all
	all map[string][]byte

	key sync.Mutex // held by the one that has called Lock: each Client has few keys
}

func (t *transient) Load(key string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[key], nil
}

func (t *transient) All() (map[string][]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.all), nil
}

func (t *transient) Save(key string, value []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string][]byte{}
	}
	t.all[key] = value
	return nil
}

func (t *transient) Delete(key string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, key)
	return nil
}

func (t *transient) Lock(context.Context, string) (func(), error) {
	t.key.Lock()
	return t.key.Unlock, nil
}

// record is what is kept for a server and an identity.
type record struct {
	Server           string                  `json:"server"`
	Identity         string                  `json:"identity,omitempty"`
	ResourceMetadata string                  `json:"resourceMetadata,omitempty"` // its URL as the server has named it
	Clients          map[string]registration `json:"clients,omitempty"`          // by issuer
	Former           registration            `json:"former,omitzero"`            // that of Token, if Clients has it no more
	Token            *token                  `json:"token,omitempty"`
	Ended            bool                    `json:"ended,omitempty"` // there was a token, which can be used and renewed no more
}

// token is an access token with what is needed to renew it.
type token struct {
	Issuer    string    `json:"issuer"`
	Client    string    `json:"client"` // its id
	Resource  string    `json:"resource"`
	Access    string    `json:"access"`
	Refresh   string    `json:"refresh,omitempty"`
	Expiry    time.Time `json:"expiry,omitzero"`
	Renew     time.Time `json:"renew,omitzero"`      // from when on it is renewed
	Requested []string  `json:"requested,omitempty"` // scopes
	Granted   []string  `json:"granted,omitempty"`
	Subject   string    `json:"subject,omitempty"`   // who has logged in, if the authorization server says so
	Login     string    `json:"login,omitempty"`     // random; stays the same when the token is renewed
	Assertion string    `json:"assertion,omitempty"` // hash of the one for which it was given

	TokenEndpoint      string   `json:"tokenEndpoint"`
	RevocationEndpoint string   `json:"revocationEndpoint,omitempty"`
	AuthMethods        []string `json:"authMethods,omitempty"` // of the token endpoint
}

// header returns the value of the Authorization header; "" for no token.
func (t *token) header() string {
	if t == nil {
		return ""
	}
	return "Bearer " + t.Access
}

// load reads the record of the client, an empty one if there is none.
func (c *Client) load() (*record, error) {
	r := &record{Server: c.cfg.Server, Identity: c.cfg.Identity}
	raw, err := c.cfg.Store.Load(c.key)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, r)
	}
	if err != nil {
		return nil, fmt.Errorf("the stored credentials cannot be read: %w", err)
	}
	if r.Token != nil && !c.mayUse(r.Token) {
		r.Token = nil
	}
	return r, nil
}

// mayUse reports whether a token is not that of another config: what this one has is for nobody else.
func (c *Client) mayUse(t *token) bool {
	return t.Assertion == c.assertionHash() && (c.cfg.Issuer == "" || t.Issuer == c.cfg.Issuer)
}

// Identities returns the logins to the server of c of all identities but the operator.
func (c *Client) Identities() (map[string]*Status, error) {
	all, err := c.cfg.Store.All()
	logins := map[string]*Status{}
	for key, raw := range all {
		var r record
		if json.Unmarshal(raw, &r) == nil && r.Token != nil && r.Identity != "" && c.keyOf(r.Identity) == key {
			logins[r.Identity] = c.status(&r)
		}
	}
	return logins, err
}

// change changes the record under its lock. It is saved if f says so, also where f fails.
func (c *Client) change(ctx context.Context, f func(*record) (save bool, err error)) error {
	unlock, err := c.cfg.Store.Lock(ctx, c.key)
	if err != nil {
		return fmt.Errorf("the stored credentials are in use: %w", err)
	}
	defer unlock()
	r, err := c.load()
	if err != nil {
		return err
	}
	before := r.Token
	save, err := f(r)
	own := r.Token != before
	if own && r.Token != nil { // before it is saved, of which Changed is told
		c.obtained.Store(&obtained{r.Token, time.Now()})
	}
	if save {
		raw, bad := json.Marshal(r)
		if bad == nil {
			bad = c.cfg.Store.Save(c.key, raw)
		}
		if bad != nil {
			return fmt.Errorf("the credentials cannot be stored: %w", bad)
		}
	}
	if save || err == nil {
		c.adopt(r, c.turns.Add(1), own)
	}
	return err
}

// union returns the scopes of several lists, each once.
func union(lists ...[]string) []string {
	var all []string
	for _, scope := range slices.Concat(lists...) {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// covers reports whether all scopes are among those of a list.
func covers(list, scopes []string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(list, s) })
}

func joined(scopes []string) string { return strings.Join(scopes, " ") }
