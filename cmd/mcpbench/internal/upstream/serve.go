package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"
)

const bufferSize = 128 << 10

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ServeStdio answers the messages of in, one a line, until it ends.
func (e *Echo) ServeStdio(in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, bufferSize), bufio.NewWriterSize(out, bufferSize)
	var answer bytes.Buffer
	for long := []byte(nil); ; {
		line, err := readLine(r, &long)
		if answer.Reset(); len(bytes.TrimSpace(line)) > 0 {
			e.answer(&answer, line)
		}
		if answer.Len() > 0 {
			answer.WriteByte('\n')
			w.Write(answer.Bytes())
		}
		if err != nil || r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// readLine returns the next line with its end. One that is longer than the buffer is gathered in long.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	for *long = (*long)[:0]; errors.Is(err, bufio.ErrBufferFull); line, err = r.ReadSlice('\n') {
		*long = append(*long, line...)
	}
	*long = append(*long, line...)
	return *long, err
}

// Serve serves streamable HTTP on /mcp, with answers as JSON or as a stream of one event, and
// WebSocket on /ws.
func (e *Echo) Serve(l net.Listener, events bool) error {
	mux, sessions := http.NewServeMux(), new(atomic.Int64)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { e.serveHTTP(w, r, events, sessions) })
	mux.HandleFunc("/ws", e.serveWS)
	return http.Serve(l, mux)
}

func (e *Echo) serveHTTP(w http.ResponseWriter, r *http.Request, events bool, sessions *atomic.Int64) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
		return
	default: // it has no stream of its own, as MCP allows
		w.Header().Set("Allow", "POST, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
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
	if events {
		out.WriteString("event: message\ndata: ")
	}
	begin := out.Len()
	if e.answer(out, in.Bytes()) == "initialize" {
		w.Header().Set("Mcp-Session-Id", "echo-"+strconv.FormatInt(sessions.Add(1), 10))
	}
	if out.Len() == begin {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	typ := "application/json"
	if events {
		out.WriteString("\n\n")
		typ = "text/event-stream"
	}
	h := w.Header()
	h["Content-Type"], h["Content-Length"] = []string{typ}, []string{strconv.Itoa(out.Len())}
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
