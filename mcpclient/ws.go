package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	pingEvery = 30 * time.Second // a server that answers neither of two pings is gone
	writeTime = 10 * time.Second // bounds the writing of a frame

	silentTime = 2*pingEvery + writeTime // after which a server is gone

	frameBytes = 64 << 10               // of a message in several frames
	takenTime  = 100 * time.Millisecond // after which such a frame was not just put into a buffer
)

// ws is the carrier for WebSocket: each message is a text frame.
type ws struct {
	conn  *websocket.Conn
	out   chan frame
	pongs chan string // the payload of the server's latest ping, if that is to be answered
	done  chan struct{}
	over  chan struct{} // closed when nothing is written any more
	heard atomic.Int64  // when the server was last read from, or had to take a part of a long message, in Unix ns
	work  sync.WaitGroup
}

// heardConn is the connection of a ws, which notes when it is read from.
type heardConn struct {
	net.Conn
	of *ws
}

func (c *heardConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.of.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// frame is a message to be written.
type frame struct {
	msg *wire.Buffer
	of  *call // whose request the message is; nil for any other message
}

func dialWS(ctx context.Context, cfg *Config, r receiver) (carrier, error) {
	d := websocket.Dialer{
		NetDialContext: cfg.http.DialContext, Proxy: cfg.http.Proxy, TLSClientConfig: outbound.TLS(cfg.Roots),
		Subprotocols: []string{wire.Subprotocol}, ReadBufferSize: 64 << 10, WriteBufferSize: frameBytes,
	}
	if proxy := cfg.httpProxy(); proxy != nil { // the Dialer's own CONNECT panics at a status without a text
		d.NetDialContext, d.Proxy = outbound.Tunnel(proxy, d.NetDialContext), nil
	}
	w := &ws{out: make(chan frame, 64), pongs: make(chan string, 1), done: make(chan struct{}), over: make(chan struct{})}
	dial := d.NetDialContext
	d.NetDialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &heardConn{conn, w}, nil
	}
	conn, resp, err := cfg.dialWS(ctx, &d)
	if err != nil {
		if resp != nil && !errors.Is(err, context.Canceled) {
			return nil, newStatusError(resp, "the WebSocket handshake")
		}
		return nil, unreachable(cfg.URL, err)
	}
	if conn.Subprotocol() != wire.Subprotocol {
		cfg.Log.Warn("the server did not choose the WebSocket subprotocol mcp", "chose", conn.Subprotocol())
	}
	w.conn = conn
	w.work.Go(func() { r.lose(w.receive(cfg, r)) })
	w.work.Go(func() {
		defer close(w.over)
		w.write(r)
	})
	return w, nil
}

// dialWS does the handshake, with the credentials of Auth if there is one.
func (cfg *Config) dialWS(ctx context.Context, d *websocket.Dialer) (conn *websocket.Conn, resp *http.Response, err error) {
	address := cfg.URL
	if u, err := url.Parse(address); err == nil && u.User != nil { // which the header has, and the Dialer refuses
		u.User = nil
		address = u.String()
	}
	if cfg.Auth == nil {
		return d.DialContext(ctx, address, cfg.header())
	}
	var failed error // of the handshake, where the server has answered
	resp, err = cfg.authorized(ctx, nil, true, func(value string, _ *wire.Buffer) (*http.Response, error) {
		header := cfg.header()
		setAuthorization(header, value)
		var resp *http.Response
		conn, resp, failed = d.DialContext(ctx, address, header)
		if resp != nil {
			return resp, nil
		}
		return nil, failed
	})
	if err == nil {
		err = failed
	}
	return conn, resp, err
}

// httpProxy returns the HTTP proxy for a WebSocket URL; nil means none, or one of another scheme.
func (cfg *Config) httpProxy() *url.URL {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil
	}
	u.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	proxy, err := cfg.http.Proxy(&http.Request{URL: u})
	if err != nil || proxy == nil || proxy.Scheme != "http" {
		return nil
	}
	return proxy
}

// receive passes on messages until the connection ends. The error says why.
func (w *ws) receive(cfg *Config, r receiver) error {
	alive := func(string) error { return w.conn.SetReadDeadline(time.Now().Add(silentTime)) }
	alive("")
	w.conn.SetPongHandler(alive)
	w.conn.SetPingHandler(func(text string) error {
		select {
		case <-w.pongs:
		default:
		}
		w.pongs <- text // has room: nobody else sends
		return nil
	})
	for {
		buf, err := wire.ReadFrame(w.conn, cfg.MessageBytes)
		if long, ok := err.(*wire.TooLongError); ok {
			r.tooLong(long, nil)
			continue
		}
		if err != nil {
			w.conn.Close()
			return fmt.Errorf("the WebSocket ended: %w", err)
		}
		alive("")
		r.receive(buf, nil)
	}
}

// write writes messages, and pings, which keep proxies from closing an idle connection and show
// a dead one.
func (w *ws) write(r receiver) {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		var err error
		select {
		case <-t.C:
			err = w.ping()
		case text := <-w.pongs:
			err = w.pong(text)
		case f := <-w.out:
			f.of.setSent()
			err = w.writeText(f.msg.B, t.C)
			f.msg.Free()
		case <-w.done:
			return
		}
		if err == websocket.ErrCloseSent { // in answer to the server, whose reason receive has
			return
		}
		if err != nil {
			r.lose(fmt.Errorf("cannot write to the WebSocket: %w", err))
			w.conn.Close()
			return
		}
	}
}

func (w *ws) ping() error {
	w.extend()
	return w.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTime))
}

func (w *ws) pong(text string) error {
	return w.conn.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(writeTime))
}

// extend gives the server more time if it has been heard: a long message may take long to arrive.
func (w *ws) extend() {
	w.conn.NetConn().SetReadDeadline(time.Unix(0, w.heard.Load()).Add(silentTime))
}

// writeText writes a message. Each part of it has writeTime, as a long one takes longer on a slow network. A part that takes
// a while shows that the server is not gone: any other may only have filled a buffer on the way. Pings and pongs go between
// the parts: a server may want them sooner than the end.
func (w *ws) writeText(msg []byte, pings <-chan time.Time) error {
	out, err := w.conn.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(msg, frameBytes) {
		begun := time.Now()
		w.conn.SetWriteDeadline(begun.Add(writeTime))
		if _, err := out.Write(part); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(begun) >= takenTime {
			w.heard.Store(now.UnixNano())
			w.extend()
		}
		select {
		case <-pings:
			err = w.ping()
		case text := <-w.pongs:
			err = w.pong(text)
		default:
		}
		if err != nil {
			return err
		}
	}
	w.conn.SetWriteDeadline(time.Now().Add(writeTime))
	return out.Close()
}

func (w *ws) send(ctx context.Context, msg *wire.Buffer, k *call) error {
	select {
	case w.out <- frame{msg, k}:
		return nil
	default:
	}
	if k != nil {
		ctx = k.life()
	}
	select {
	case w.out <- frame{msg, k}:
		return nil
	case <-ctx.Done():
		msg.Free()
		return ctx.Err()
	case <-w.over:
		msg.Free()
		return errClosed
	}
}

func (w *ws) established(string) {}

func (w *ws) close() {
	close(w.done)
	w.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	w.conn.Close()
	w.work.Wait()
}
