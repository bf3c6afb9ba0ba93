package peer

import (
	"context"
	"net"
	"sync"
)

// A Network is a listener in memory with its dialer. Its connections block as synctest wants
// it, so that a test in a bubble can use HTTP with a fake clock.
type Network struct {
	dialed chan net.Conn
	closed chan struct{}
	close  func()
}

// NewNetwork returns a Network that is open until Close.
func NewNetwork() *Network {
	n := &Network{dialed: make(chan net.Conn), closed: make(chan struct{})}
	n.close = sync.OnceFunc(func() { close(n.closed) })
	return n
}

// Dial connects to the listener, whatever the address.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case n.dialed <- far:
		return near, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.dialed:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It may be called again.
func (n *Network) Close() error {
	n.close()
	return nil
}

// Addr implements net.Listener.
func (n *Network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
