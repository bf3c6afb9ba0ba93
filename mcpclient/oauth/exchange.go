package oauth

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

// An Exchange gets a token of the server for each of its callers' own (RFC 8693). It may be used from many
// goroutines.
type Exchange struct {
	base *Client

	mu      sync.Mutex // guards clients
	clients map[[sha256.Size]byte]*exchanged
}

// exchanged is the Client of a caller's token.
type exchanged struct {
	*Client
	used time.Time
}

// discovery is what the metadata says to all Clients of an Exchange.
type discovery struct {
	named     string // as in Client.discover
	resource  *resource
	authority *authority
	until     time.Time // when it is read again
}

// foundTime is how long the Clients of an Exchange use what was found.
const foundTime = 10 * time.Minute

// mostExchanged bounds the tokens of callers for which one is kept.
const mostExchanged = 1000

// NewExchange returns an Exchange. Grant, Store and Assertion of the Config are its own.
func NewExchange(cfg Config) (*Exchange, error) {
	cfg.Grant, cfg.Store, cfg.Assertion = TokenExchange, nil, ""
	base, err := New(cfg)
	if err != nil {
		return nil, err
	}
	base.discovered = &atomic.Pointer[discovery]{}
	return &Exchange{base: base, clients: map[[sha256.Size]byte]*exchanged{}}, nil
}

// Client returns the Client whose token is the one for a caller's.
func (e *Exchange) Client(token string) *Client {
	key, now := sha256.Sum256([]byte(token)), time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.clients[key]
	if known == nil {
		if len(e.clients) >= mostExchanged {
			e.forget()
		}
		cfg := e.base.cfg
		cfg.Assertion, cfg.Store = token, &transient{}
		known = &exchanged{Client: e.base.beside(cfg)}
		e.clients[key] = known
	}
	known.used = now
	return known.Client
}

// forget forgets the Client that has not been used for longest.
func (e *Exchange) forget() {
	var oldest [sha256.Size]byte
	first := time.Time{}
	for key, c := range e.clients {
		if first.IsZero() || c.used.Before(first) {
			oldest, first = key, c.used
		}
	}
	delete(e.clients, oldest)
}
