package mcpclient

import (
	"context"
	"errors"
	"net"
)

// A detour is the way to a server that Config.Via has returned.
type detour struct {
	dial func(context.Context) (net.Conn, error) // nil while there is none
	over <-chan struct{}
}

// errDetourOver means that connections to the server are to be made anew.
var errDetourOver = errors.New("the way to it was lost")

// findDetour asks for the way to the server, for the next attempt to connect.
func (l *link) findDetour() (err error) {
	if l.cfg.Via != nil {
		l.detour.dial, l.detour.over, err = l.cfg.Via(l.principal)
	}
	return err
}

// takeDetour makes the copy of the config for a carrier one whose connections take the detour, if it has one.
// They are its own, as another carrier may have another detour.
func (cfg *Config) takeDetour() {
	if dial := cfg.detour.dial; dial != nil {
		cfg.http = newTransport(cfg.Roots)
		cfg.http.Proxy = nil
		cfg.http.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	}
}

// watch waits for the end of the detour, with which the connection is lost, or of ctx.
func (d *detour) watch(ctx context.Context, r receiver) {
	select {
	case <-d.over:
		r.lose(errDetourOver)
	case <-ctx.Done():
	}
}
