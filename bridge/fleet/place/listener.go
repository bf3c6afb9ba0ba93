package place

import (
	"context"
	"net"
	"sync"
)

// A listener is that of connections which are handed over.
type listener struct {
	ctx    context.Context // none is handed over after its end
	cancel context.CancelFunc
	conns  chan net.Conn
	closed chan struct{} // closed by Close
	close  sync.Once
}

// listen makes a zero listener one until ctx ends.
func (l *listener) listen(ctx context.Context) {
	l.conns, l.closed = make(chan net.Conn), make(chan struct{})
	l.ctx, l.cancel = context.WithCancel(ctx)
}

// dial returns a connection to the server.
func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	if err := l.give(ctx, far); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: err} // nothing was sent
	}
	return near, nil
}

// give hands over a connection.
func (l *listener) give(ctx context.Context, c net.Conn) error {
	select {
	case l.conns <- c:
		return nil
	case <-l.ctx.Done():
		return net.ErrClosed
	case <-l.closed:
		return net.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (*listener) Addr() net.Addr { return &net.UnixAddr{Name: "place", Net: "pipe"} }
