package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// bearerProtocol is how a browser, which cannot send a header, offers its token beside
// the subprotocol mcp.
const bearerProtocol = "bearer."

// serveWS is MCP over WebSocket: one message a text frame.
func (s *Server) serveWS(w http.ResponseWriter, r *http.Request) {
	offered := websocket.Subprotocols(r)
	who, no := s.identifyWS(r, offered)
	if no != nil {
		s.refuse(w, r, no)
		return
	}
	if !websocket.IsWebSocketUpgrade(r) {
		writeError(w, http.StatusUpgradeRequired, nil, "this is a WebSocket endpoint, subprotocol mcp")
		return
	}
	if len(offered) > 0 && !slices.Contains(offered, wire.Subprotocol) {
		writeError(w, http.StatusBadRequest, nil, "offer the WebSocket subprotocol mcp")
		return
	}
	up := websocket.Upgrader{
		Subprotocols:    []string{wire.Subprotocol},
		CheckOrigin:     func(*http.Request) bool { return true }, // the door has checked it
		ReadBufferSize:  32 << 10,
		WriteBufferSize: 32 << 10,
		WriteBufferPool: &s.frames,
	}
	d := s.newDuplex(who)
	d.readers.Add(1)
	if err := s.add(d.session); err != nil {
		d.close(err)
		writeError(w, http.StatusServiceUnavailable, nil, err.Error())
		return
	}
	defer s.remove(d.session)
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // it has been answered
	}
	defer context.AfterFunc(d.ctx, func() { d.box.end(errClosing) })()
	if !s.start(func() { d.writeFrames(conn) }) {
		conn.Close()
	}
	d.close(d.readFrames(conn))
}

// errClosing ends the connections of a server that is closed.
var errClosing = errors.New("the bridge is shutting down")

// identifyWS finds out who connects: by header, subprotocol or ticket.
func (s *Server) identifyWS(r *http.Request, offered []string) (identity, *refusal) {
	if id := r.URL.Query().Get("ticket"); id != "" {
		if who, ok := s.tickets.use(id); ok {
			return who, nil
		}
		return identity{}, &refusal{http.StatusUnauthorized, "the ticket is not known, used or too old: POST /ws/ticket gives a new one"}
	}
	token := bearer(r)
	for _, p := range offered {
		if t, ok := strings.CutPrefix(p, bearerProtocol); ok {
			token = t
		}
	}
	p, no := s.opts.Access.identify(token)
	return s.identity(p, r), no
}

func (d *duplex) readFrames(conn *websocket.Conn) error {
	alive := func(string) error { return conn.SetReadDeadline(time.Now().Add(3 * keepAlive)) }
	alive("")
	conn.SetPongHandler(alive)
	for {
		msg, err := wire.ReadFrame(conn, d.server.opts.MessageBytes)
		if err != nil {
			return err
		}
		select {
		case <-d.box.done: // the client is being sent away
			msg.Free()
		default:
			alive("")
			d.take(msg)
		}
	}
}

// writeFrames writes what the session has for the client, then says why it ends. It
// then waits for the client to close its end: a connection that is closed while there is
// something to read is reset, and what was written last is lost.
func (d *duplex) writeFrames(conn *websocket.Conn) {
	defer conn.Close()
	err := d.box.drain(nil, func(batch []*wire.Buffer) error {
		for _, msg := range batch {
			conn.SetWriteDeadline(time.Now().Add(writeTime))
			if err := conn.WriteMessage(websocket.TextMessage, msg.B); err != nil {
				return err
			}
			msg.Free()
		}
		return nil
	}, func() error {
		return conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTime))
	})
	code, reason := websocket.CloseNormalClosure, ""
	var long *wire.TooLongError
	switch {
	case errors.Is(err, errSlow):
		code, reason = websocket.ClosePolicyViolation, errSlow.Error()
	case errors.As(err, &long):
		code, reason = websocket.CloseMessageTooBig, "the message is too large"
	case errors.Is(err, wire.ErrBinary):
		code, reason = websocket.CloseUnsupportedData, "MCP has text messages only"
	case errors.Is(err, errClosing):
		code, reason = websocket.CloseGoingAway, errClosing.Error()
	}
	if err := conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(time.Second)); err != nil {
		return
	}
	select {
	case <-d.ctx.Done():
	case <-time.After(writeTime):
	}
}
