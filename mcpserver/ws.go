package mcpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// bearerProtocol begins the subprotocol with which a browser, which cannot send a header, offers
// its token beside the subprotocol mcp.
const bearerProtocol = "bearer."

// serveWS is MCP over WebSocket: one message a text frame.
func (s *Server) serveWS(w http.ResponseWriter, r *http.Request) {
	offered := websocket.Subprotocols(r)
	sender, until, refused := s.identifyWS(r, offered)
	switch {
	case refused != nil:
		refused.write(w, r, s)
		return
	case !websocket.IsWebSocketUpgrade(r):
		writeError(w, http.StatusUpgradeRequired, "this is a WebSocket endpoint, subprotocol mcp")
		return
	case len(offered) > 0 && !slices.Contains(offered, wire.Subprotocol):
		writeError(w, http.StatusBadRequest, "offer the WebSocket subprotocol mcp")
		return
	}
	up := websocket.Upgrader{
		Subprotocols:    []string{wire.Subprotocol},
		CheckOrigin:     func(*http.Request) bool { return true }, // Access has checked it
		WriteBufferPool: &s.frames,
	}
	sender.carrier = "websocket"
	d := s.newDuplex(sender)
	d.readers.Add(1)
	if !s.sessions.register(d.session, w) {
		return
	}
	defer s.sessions.endSession(d.session)
	conn, err := up.Upgrade(controlUpgrade{w}, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer context.AfterFunc(d.ctx, d.endBox)()
	if !until.IsZero() {
		defer time.AfterFunc(time.Until(until), func() { d.box.end(errExpired); conn.SetReadDeadline(time.Now().Add(writeTime)) }).Stop()
	}
	frames := newFrameWriter(s.ctx, conn.NetConn().(*controlConn), func() {
		d.box.parts.Add(1)
		conn.SetReadDeadline(time.Now().Add(silentTime)) // no ping can be sent that it would answer
	})
	if !s.start(func() { d.writeFrames(conn, frames) }) {
		d.writeFrames(conn, frames) // the Server is closing: that it says so is all there is to write
	}
	d.close(d.readFrames(conn))
}

// identifyWS is identify for a connection: by header, subprotocol or ticket.
func (s *Server) identifyWS(r *http.Request, offered []string) (identity, time.Time, *refusal) {
	if id := r.URL.Query().Get("ticket"); id != "" {
		sender, until, ok := s.redeem(r.Context(), id)
		if !ok {
			return sender, until, &refusal{status: http.StatusUnauthorized, wrong: true, reason: "the ticket is unknown, used or too old: get a new one with POST /ws/ticket"}
		}
		sender.profile = r.PathValue(profileWildcard)
		return sender, until, nil
	}
	token := bearer(r)
	for _, p := range offered {
		if t, ok := strings.CutPrefix(p, bearerProtocol); ok {
			token = t
		}
	}
	return s.identify(r, token)
}

// silentTime is after how long a client of which nothing was read is gone.
const silentTime = 3*keepAlive + time.Second

func (d *duplex) readFrames(conn *websocket.Conn) error {
	var until time.Time // the deadline of reads
	alive := func(string) error {
		now := time.Now()
		if until.Sub(now) >= silentTime-time.Second { // to set it for each message would cost as much as its frame
			return nil
		}
		until = now.Add(silentTime)
		return conn.SetReadDeadline(until)
	}
	conn.SetPongHandler(alive)
	conn.SetPingHandler(func(text string) error { // its deadline replaces that of other writes
		conn.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(writeTime))
		return nil
	})
	conn.SetReadLimit(int64(d.server.opts().MessageBytes)) // refuses a frame by the length it announces
	c := counter{account: d.account, done: d.box.done, patience: roomTime}
	in := &arriving{alive: alive}
	for {
		d.box.awaitRoom(d.server.slowTime)
		alive("") // nothing was read meanwhile
		kind, r, err := conn.NextReader()
		if err == nil && kind != websocket.TextMessage {
			err = wire.ErrBinary
		}
		if err != nil {
			return err
		}
		in.Reader = r
		msg, err := c.readMessage(in, -1, d.server.opts().MessageBytes)
		if err != nil {
			msg.Free()
			return err
		}
		if d.box.isClosed() { // and the connection about to be
			msg.Free()
			continue
		}
		d.receive(msg)
	}
}

// arriving is a message that is being read. Its client is alive while it comes, which may take long on a slow network.
type arriving struct {
	io.Reader
	alive func(string) error
}

func (a *arriving) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	if n > 0 {
		a.alive("")
	}
	return n, err
}

// writeFrames writes the outbox to the connection, closes it with a reason, and waits for the
// client to close its end: a connection that is closed while there is something to read is reset,
// and what was written last is lost.
func (d *duplex) writeFrames(conn *websocket.Conn, frames *frameWriter) {
	defer conn.Close()
	// The server does not wait for a client that does not read.
	defer context.AfterFunc(d.server.ctx, func() { frames.conn.SetWriteDeadline(time.Now().Add(time.Second)) })()
	err := d.box.drain(nil, frames.write, func() error {
		return conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTime))
	})
	d.box.end(err)
	d.box.discard()
	reason := websocket.FormatCloseMessage(closeReason(err))
	if err := conn.WriteControl(websocket.CloseMessage, reason, time.Now().Add(time.Second)); err != nil {
		return
	}
	select {
	case <-d.ctx.Done():
	case <-time.After(writeTime):
	}
}

// closeReason returns the close code of a connection, and its text.
func closeReason(err error) (code int, text string) {
	var long *wire.TooLongError
	switch {
	case errors.Is(err, errSlow):
		return websocket.ClosePolicyViolation, errSlow.Error()
	case errors.Is(err, errCrowded):
		return websocket.CloseTryAgainLater, errCrowded.Error()
	case errors.As(err, &long), errors.Is(err, websocket.ErrReadLimit):
		return websocket.CloseMessageTooBig, "the message is too large"
	case errors.Is(err, wire.ErrBinary):
		return websocket.CloseUnsupportedData, "MCP has only text messages"
	case errors.Is(err, errExpired), errors.Is(err, errShutOut):
		return websocket.ClosePolicyViolation, err.Error()
	case errors.Is(err, errClosing):
		return websocket.CloseGoingAway, errClosing.Error()
	}
	return websocket.CloseNormalClosure, ""
}
