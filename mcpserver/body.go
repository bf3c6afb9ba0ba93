package mcpserver

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// readBody reads the whole body of a request; nil means that the request has been answered with an
// error.
func (c *core) readBody(w http.ResponseWriter, r *http.Request) *wire.Buffer {
	if t := r.Header.Get("Content-Type"); t != "application/json" {
		if kind, _, _ := mime.ParseMediaType(t); kind != "application/json" {
			writeError(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
			return nil
		}
	}
	msg, err := wire.ReadBody(r.Body, r.ContentLength, c.opts.MessageBytes)
	if err == nil {
		http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var long *wire.TooLongError
	switch {
	case errors.As(err, &long):
		w.Header().Set("Connection", "close")
		writeError(w, http.StatusRequestEntityTooLarge, "the message is larger than "+strconv.Itoa(c.opts.MessageBytes)+" bytes (limits.messageBytes in the config)")
	case err != nil:
		writeError(w, http.StatusBadRequest, "the request body is incomplete")
	case len(msg.B) == 0:
		writeError(w, http.StatusBadRequest, "the request body is empty")
	default:
		return msg
	}
	msg.Free()
	return nil
}

// isBatch reports whether a message begins like a JSON-RPC batch.
func isBatch(msg []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(msg, " \t\r\n"), []byte("[")) }
