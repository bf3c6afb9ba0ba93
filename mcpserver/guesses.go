package mcpserver

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	guessBurst   = 20                     // wrong credentials of an address that cost no time
	guessEvery   = 200 * time.Millisecond // how often there is another one of these
	guessWait    = 2 * time.Second        // the most that one costs
	maxAddresses = 10_000                 // beyond these, addresses share a rate
)

// guesses make wrong credentials cost time, by the address that they come from. Right ones never wait.
type guesses struct {
	mu   sync.Mutex                 // guards free
	free map[netip.Prefix]time.Time // when one costs no time again, at most a burst in the past
}

// wait waits until a request with wrong credentials is to be answered, or it or done ends.
func (g *guesses) wait(r *http.Request, from netip.Addr, done <-chan struct{}) {
	cost := g.cost(network(from), time.Now())
	if cost <= 0 {
		return
	}
	timer := time.NewTimer(cost)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	case <-done:
	}
}

// cost returns how long the answer to a guess is held back.
func (g *guesses) cost(from netip.Prefix, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	earliest := now.Add(-guessBurst * guessEvery)
	if g.free == nil {
		g.free = map[netip.Prefix]time.Time{}
	}
	if _, known := g.free[from]; !known && len(g.free) >= maxAddresses {
		for address, free := range g.free {
			if !free.After(earliest) {
				delete(g.free, address)
			}
		}
		if len(g.free) >= maxAddresses {
			from = netip.Prefix{}
		}
	}
	free := g.free[from]
	if free.Before(earliest) {
		free = earliest
	}
	wait := min(free.Sub(now), guessWait)
	g.free[from] = now.Add(wait + guessEvery)
	return wait
}

// network returns the network that an address stands for: whoever has one of IPv6 has many.
func network(ip netip.Addr) netip.Prefix {
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	all, _ := ip.WithZone("").Prefix(bits) // the zero Prefix for an address that is unknown
	return all
}
