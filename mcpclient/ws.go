package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	pingEvery = 30 * time.Second // a peer that does not answer two of them is gone
	writeTime = 10 * time.Second // how long a frame may take to leave
)

// ws is a WebSocket, one message a text frame.
type ws struct {
	conn *websocket.Conn
	turn chan struct{} // held by who writes; a channel, so that waiting ends with ctx
	done chan struct{}
	work sync.WaitGroup
	once sync.Once
}

func dialWS(ctx context.Context, cfg *Config, r receiver) (carrier, error) {
	d := websocket.Dialer{Proxy: proxy, Subprotocols: []string{wire.Subprotocol}, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}
	conn, resp, err := d.DialContext(ctx, cfg.URL, cfg.header())
	if err != nil {
		if resp != nil && !errors.Is(err, context.Canceled) {
			return nil, &statusError{code: resp.StatusCode, text: "the WebSocket handshake"}
		}
		return nil, unreachable(cfg.URL, err)
	}
	if conn.Subprotocol() != wire.Subprotocol {
		cfg.Log.Warn("the server did not choose the WebSocket subprotocol mcp", "chose", conn.Subprotocol())
	}
	w := &ws{conn: conn, turn: make(chan struct{}, 1), done: make(chan struct{})}
	w.work.Go(func() { r.lose(w.receive(cfg, r)) })
	w.work.Go(w.ping)
	return w, nil
}

func (w *ws) receive(cfg *Config, r receiver) error {
	alive := func(string) error { return w.conn.SetReadDeadline(time.Now().Add(2*pingEvery + writeTime)) }
	alive("")
	w.conn.SetPongHandler(alive)
	for {
		buf, err := wire.ReadFrame(w.conn, cfg.MessageBytes)
		if err != nil {
			w.conn.Close()
			return fmt.Errorf("the WebSocket ended: %w", err)
		}
		alive("")
		r.receive(buf, nil)
	}
}

// ping keeps proxies from closing an idle connection and finds out a dead one.
func (w *ws) ping() {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			w.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTime))
		case <-w.done:
			return
		}
	}
}

func (w *ws) send(ctx context.Context, msg *wire.Buffer, k *call) error {
	defer msg.Free()
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.turn }()
	if k != nil {
		k.sent.Store(true)
	}
	w.conn.SetWriteDeadline(time.Now().Add(writeTime))
	return w.conn.WriteMessage(websocket.TextMessage, msg.B)
}

func (w *ws) established(string) {}

func (w *ws) close() {
	w.once.Do(func() {
		close(w.done)
		w.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
		w.conn.Close()
	})
	w.work.Wait()
}
