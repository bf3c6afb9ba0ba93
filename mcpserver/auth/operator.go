package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// OperatorName is the name of the principal that runs the bridge: it alone may use the console.
const OperatorName = "operator"

const (
	ticketLife = 15 * time.Minute
	visitIdle  = 12 * time.Hour // that a visit may be unused
	maxTickets = 20             // beyond them the oldest is no longer good
	maxVisits  = 100            // likewise
)

// Operator admits whoever runs the bridge, in a browser. A ticket in a URL is good for one browser: it begins a
// visit, which a cookie continues. Both are in memory alone, as hashes. The zero value is ready.
type Operator struct {
	mu      sync.Mutex // guards what follows
	tickets map[string]*ticket
	visits  map[string]*visit
	ended   int // visits, by End or Redeem
}

type ticket struct {
	made  time.Time
	visit string // that it has begun, as in Operator.visits; "" before that
}

// visit is what a cookie continues.
type visit struct {
	used time.Time
	by   *Identity // whose token began it, and ends it; nil after a ticket
}

// Ticket returns a new ticket.
func (o *Operator) Ticket() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.tickets == nil {
		o.tickets = map[string]*ticket{}
	}
	for len(o.tickets) >= maxTickets {
		deleteOldest(o.tickets, func(t *ticket) time.Time { return t.made })
	}
	text := rand.Text()
	o.tickets[sumOf(text)] = &ticket{made: now}
	return text
}

// Redeem begins a visit with a ticket, and returns its cookie; false means that the ticket is not good. held
// is the cookie that comes with it, "" without one: the same browser may use its ticket again. From
// anywhere else that ends the visit, since others may have read the address before the operator's
// browser used it (RFC 6749, section 4.1.2, says so of authorization codes).
func (o *Operator) Redeem(text, held string) (cookie string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := sumOf(text)
	t := o.tickets[key]
	switch {
	case t == nil || time.Since(t.made) >= ticketLife:
		delete(o.tickets, key)
		return "", false
	case t.visit == "":
		cookie = o.begin(nil)
		t.visit = sumOf(cookie)
		return cookie, true
	case t.visit == sumOf(held) && o.visits[t.visit] != nil:
		return held, true
	}
	o.end(t.visit)
	return "", false
}

// Begin begins a visit that ends with the credentials of id, and returns its cookie.
func (o *Operator) Begin(id *Identity) (cookie string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begin(id)
}

// begin begins a visit; o.mu is held.
func (o *Operator) begin(by *Identity) (cookie string) {
	if o.visits == nil {
		o.visits = map[string]*visit{}
	}
	for len(o.visits) >= maxVisits {
		deleteOldest(o.visits, func(v *visit) time.Time { return v.used })
	}
	cookie = rand.Text()
	o.visits[sumOf(cookie)] = &visit{used: time.Now(), by: by}
	return cookie
}

// End ends the visit of a cookie.
func (o *Operator) End(cookie string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(sumOf(cookie))
}

// end ends a visit, if there is one; o.mu is held.
func (o *Operator) end(key string) {
	if o.visits[key] != nil {
		delete(o.visits, key)
		o.ended++
	}
}

// Ended returns how many visits End and Redeem have ended so far. What such a visit has left open has to end, too.
func (o *Operator) Ended() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// Find returns the identity of a cookie, nil if it continues no visit. admits reports whether the credential
// that began one is still accepted.
func (o *Operator) Find(cookie string, admits func(credential string) bool) *Identity {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := sumOf(cookie)
	if !o.goesOn(key, admits) {
		return nil
	}
	v := o.visits[key]
	v.used = time.Now()
	id := &Identity{Principal: bridge.Principal{Name: OperatorName}, Credential: key}
	if v.by != nil {
		id.Expires = v.by.Expires
	}
	return id
}

// Admits is Authenticator.Admits for the identities that Find has returned.
func (o *Operator) Admits(credential string, admits func(credential string) bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.goesOn(credential, admits)
}

// goesOn reports whether there is a visit, which it removes if it is over; o.mu is held.
func (o *Operator) goesOn(key string, admits func(credential string) bool) bool {
	v := o.visits[key]
	if v == nil {
		return false
	}
	if time.Since(v.used) >= visitIdle || v.by != nil && (expired(v.by.Expires) || !admits(v.by.Credential)) {
		delete(o.visits, key)
		return false
	}
	return true
}

// sumOf stands for a ticket or a cookie, which is not kept. How long it takes to look for one tells nothing
// of it.
func sumOf(text string) string { return fmt.Sprintf("visit %x", sha256.Sum256([]byte(text))) }

func deleteOldest[V any](all map[string]V, at func(V) time.Time) {
	oldest := ""
	for key, v := range all {
		if oldest == "" || at(v).Before(at(all[oldest])) {
			oldest = key
		}
	}
	delete(all, oldest)
}
