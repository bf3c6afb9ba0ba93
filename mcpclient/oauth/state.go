package oauth

import (
	"encoding/json"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// state is a record as it is in use.
type state struct {
	*record
	header  string
	secrets *bridge.Secrets
	turn    int64 // as in adopt
}

// obtained is a token that a Client has got.
type obtained struct {
	*token
	at time.Time
}

// is reports whether a token, which may be nil, is that of o, which may be nil, too.
func (o *obtained) is(t *token) bool {
	return o != nil && t != nil && t.Access == o.Access && t.Login == o.Login
}

// adopt makes a record the one in use, unless a later one is, and returns the state in use then. turn is that of Client.turns
// before the record was read, or once it was changed. own says that its token is one that this Client has got.
func (c *Client) adopt(r *record, turn int64, own bool) *state {
	s := c.using(r)
	s.turn = turn
	for {
		before := c.state.Load()
		if before != nil && before.turn > turn {
			return before
		}
		if c.state.CompareAndSwap(before, s) {
			c.adopted(before, s, own)
			return s
		}
	}
}

// using returns the state of a record that is in use.
func (c *Client) using(r *record) *state {
	s := &state{record: r, header: r.Token.header(), secrets: &bridge.Secrets{}}
	for _, secret := range []string{c.cfg.ClientSecret, c.cfg.Assertion, r.Clients[r.issuer()].Secret, r.Former.Secret} {
		s.secrets.Add(secret)
	}
	if r.Token != nil {
		s.secrets.Add(r.Token.Access)
		s.secrets.Add(r.Token.Refresh)
	}
	return s
}

// adopted notes that a state is in use in place of the one before, nil for none.
func (c *Client) adopted(before, s *state, own bool) {
	if before == nil {
		return
	}
	if s.Token != nil && s.header != before.header {
		c.wanted.Store(nil)
	}
	if !own && !c.obtained.Load().is(s.Token) && c.isAnother(before.Token, s.Token) { // a look may find one before it is adopted
		now := time.Now()
		c.switched.Store(&now)
	}
}

// isAnother reports whether the login of a token is not that of the one before, or there is none in place of one.
func (c *Client) isAnother(was, is *token) bool {
	switch {
	case was == nil || is == nil:
		return was != is
	case c.cfg.Grant != Code: // nobody has logged in
		return false
	}
	return was.Login != is.Login || was.Issuer != is.Issuer || was.Subject != is.Subject
}

// current returns the state, which is read from the store at first, and again if fresh is true.
func (c *Client) current(fresh bool) (*state, error) {
	if s := c.state.Load(); s != nil && !fresh && !c.outdated.Load() {
		return s, nil
	}
	c.outdated.Store(false)
	turn := c.turns.Add(1)
	r, err := c.load()
	if err != nil {
		return nil, err
	}
	return c.adopt(r, turn, false), nil
}

// Reset makes the Client look into the store at its next use: another process may have changed that.
func (c *Client) Reset() { c.outdated.Store(true) }

// Changed is Reset for a record of the store that has changed, if it is the Client's own. It returns when the credentials
// came, be it by this Client, and when the login became another one, or none, unless by this Client; zero means never.
// Connections that failed before the former may succeed now, and not those that have failed with these credentials.
// Connections that were made before the latter are still those of who had logged in. A record of the same key that is
// for another config changes nothing: two configs would take turns to get tokens.
func (c *Client) Changed(key string, value []byte) (came, switched time.Time) {
	if key != c.key {
		return time.Time{}, time.Time{}
	}
	now, s := time.Now(), c.state.Load()
	if s == nil { // its first use looks into the store
		return now, time.Time{}
	}
	var r record
	_ = json.Unmarshal(value, &r) // what is no record has no token
	is := r.Token
	if is != nil && !c.mayUse(is) {
		return time.Time{}, time.Time{}
	}
	c.Reset()
	if at := c.switched.Load(); at != nil {
		switched = *at
	}
	switch own := c.obtained.Load(); {
	case own.is(is):
		return own.at, switched
	case c.isAnother(s.Token, is):
		return now, now
	}
	return now, switched
}
