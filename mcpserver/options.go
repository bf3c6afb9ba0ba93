package mcpserver

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// Options configure a Server. A field that is zero means the default in its comment.
type Options struct {
	Access Access // which HTTP requests and WebSocket connections are let in

	// HiddenHeaders maps the names of hidden values to the HTTP headers that carry them; no two
	// names may differ in letter case alone. A value is the header's text as a JSON string; a
	// header that is empty or occurs twice carries no value. A session of the legacy era has the
	// values of its initialize, SSE stream, WebSocket handshake or ticket, and requests with
	// other values do not belong to it. A request of the modern era over HTTP has its own.
	HiddenHeaders map[string]string

	// TicketValues names, in any letter case, the hidden values that the body of a request for a
	// WebSocket ticket may set for its session: {"context": {NAME: value}}. The caller that
	// requests the ticket chooses them; nothing on the connection can change them.
	TicketValues []string

	MessageBytes    int           // bounds a message; 64 MiB
	BatchMessages   int           // bounds the messages of a JSON-RPC batch; 100
	CallsPerSession int           // bounds the pending requests of a session; 1000
	QueueBytes      int           // bounds what waits for a client that does not read; 8 MiB
	Sessions        int           // bounds the sessions over HTTP and WebSocket; 10,000
	SessionIdle     time.Duration // how long an unused HTTP session is kept; 2 h
	ResumeBytes     int           // bounds what a session keeps for Last-Event-ID; 1 MiB
	ReadTimeout     time.Duration // bounds reading the body of an HTTP request; 1 min

	// Protected maps patterns of http.ServeMux to handlers that Access protects as it does MCP.
	// CallerOf tells them the caller.
	Protected map[string]http.Handler

	Ready http.Handler // answers /readyz; nil means 200
	Log   *slog.Logger // nil means no log
}

func (o Options) withDefaults() Options {
	o.MessageBytes = cmp.Or(o.MessageBytes, 64<<20)
	o.BatchMessages = cmp.Or(o.BatchMessages, 100)
	o.CallsPerSession = cmp.Or(o.CallsPerSession, 1000)
	o.QueueBytes = cmp.Or(o.QueueBytes, 8<<20)
	o.Sessions = cmp.Or(o.Sessions, 10_000)
	o.SessionIdle = cmp.Or(o.SessionIdle, 2*time.Hour)
	o.ResumeBytes = cmp.Or(o.ResumeBytes, 1<<20)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, time.Minute)
	if o.Ready == nil {
		o.Ready = http.HandlerFunc(healthy)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func healthy(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) }
