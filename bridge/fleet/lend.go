package fleet

import (
	"errors"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
)

// A lent link is the reverse of a link of two nodes: who lends opens it, and the hub opens the streams on it.
// It is as safe as the WebSocket, which is to be one over TLS.
const (
	LendPath     = "/peer/lend" // of the requests for [Hub.Serve]
	lendProtocol = "mcpbridge-lend.1"
	lentAs       = "Mcpbridge-Lent-As" // header of the hub's answer: the name of the server there
	nameKey      = "name"              // query parameter of the request: the one that is asked for
	statusTaken  = 4001                // closes a link that another one replaces
)

// lendTerms allow for a laptop whose network pauses.
func lendTerms() mux.Terms {
	return mux.Terms{Alive: 5 * time.Second, Lost: 15 * time.Second, Streams: 512}
}

// A lentLink is an end of a link.
type lentLink struct {
	*mux.Mux
	ws *websocket.Conn
}

// end ends the link, and tells the other end why.
func (l *lentLink) end(status int, reason string) {
	l.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(status, reason), time.Now().Add(time.Second))
	l.Close()
}

// ended returns why the link has ended, from the error of waiting for a stream.
func ended(err error) error {
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Code == statusTaken:
		return errReplaced
	case errors.As(err, &closed) && closed.Text != "":
		return errors.New(closed.Text) // to be shown as that of others
	case errors.As(err, &closed):
		return errors.New("closed by the other end")
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", ": ")) // on one line, with why the link was lost
}
