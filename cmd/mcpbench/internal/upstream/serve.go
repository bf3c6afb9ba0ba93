package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/gorilla/websocket"
)

const bufferSize = 128 << 10

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ServeStdio answers the messages of in, one a line, until it ends.
func (e *Echo) ServeStdio(in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, bufferSize), bufio.NewWriterSize(out, bufferSize)
	for line, answer := []byte(nil), new(bytes.Buffer); ; line = line[:0] {
		part, err := r.ReadSlice('\n')
		for ; errors.Is(err, bufio.ErrBufferFull); part, err = r.ReadSlice('\n') {
			line = append(line, part...)
		}
		if len(line) > 0 {
			line = append(line, part...)
			part = line
		}
		answer.Reset()
		if e.answer(answer, part); answer.Len() > 0 {
			answer.WriteByte('\n')
			w.Write(answer.Bytes())
		}
		if err != nil || r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// ServeHTTP serves streamable HTTP on /mcp and WebSocket on /ws.
func (e *Echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/ws":
		e.serveWS(w, r)
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
	case r.Method == http.MethodPost:
		e.serveMCP(w, r)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default: // it has no stream of its own, as MCP allows
		w.Header().Set("Allow", "POST, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (e *Echo) serveMCP(w http.ResponseWriter, r *http.Request) {
	in, out := buffers.Get().(*bytes.Buffer), buffers.Get().(*bytes.Buffer)
	defer buffers.Put(in)
	defer buffers.Put(out)
	in.Reset()
	out.Reset()
	if r.ContentLength > 0 {
		in.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := in.ReadFrom(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h := w.Header()
	if e.answer(out, in.Bytes()) == "initialize" {
		h.Set("Mcp-Session-Id", "echo-"+strconv.FormatInt(e.sessions.Add(1), 10))
	}
	if out.Len() == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h["Content-Type"], h["Content-Length"] = []string{"application/json"}, []string{strconv.Itoa(out.Len())}
	w.Write(out.Bytes())
}

func (e *Echo) serveWS(w http.ResponseWriter, r *http.Request) {
	u := websocket.Upgrader{Subprotocols: []string{"mcp"}, ReadBufferSize: bufferSize / 2, WriteBufferSize: bufferSize / 2}
	conn, err := u.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer conn.Close()
	for in, out := new(bytes.Buffer), new(bytes.Buffer); ; {
		_, message, err := conn.NextReader()
		if err != nil {
			return
		}
		in.Reset()
		out.Reset()
		if _, err := in.ReadFrom(message); err != nil {
			return
		}
		if e.answer(out, in.Bytes()); out.Len() > 0 && conn.WriteMessage(websocket.TextMessage, out.Bytes()) != nil {
			return
		}
	}
}
