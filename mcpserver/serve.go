package mcpserver

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpserver/internal/keepalive"
)

const (
	headTime  = 10 * time.Second // that the header of a request may take
	idleTime  = 2 * time.Minute  // that a connection may have no request
	restTime  = time.Second      // without a request, after which a connection gives memory back
	graceTime = 2 * time.Second  // that requests have to end in when the Server closes

	// recheckTime is for how long a connection need not present credentials that expire once more: their
	// issuer may withdraw its keys meanwhile.
	recheckTime = 15 * time.Minute
)

// Serve serves Handler on a listener until ctx ends, and closes the Server and the listener then. Plain
// POSTs to /mcp, and /mcp/p/NAME, cost less here than with any other http.Server.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	handler, failed := s.Handler(), make(chan error, 1)
	fronts := []*front{s.newFront(handler, ln)}
	if nodes := s.opts().Nodes; nodes != nil {
		forwarded := s.newFront(handler, nodes)
		forwarded.web.ConnContext = markForwarded
		fronts = append(fronts, forwarded)
		go forwarded.web.Serve(forwarded.plain) // until nodes is closed
	}
	go func() { failed <- fronts[0].web.Serve(fronts[0].plain) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.opts().Log.Info("ending", "reason", context.Cause(ctx))
	}
	s.Close() // ends the streams, which Shutdown would wait for
	grace, cancel := context.WithTimeout(context.Background(), graceTime)
	defer cancel()
	for _, f := range fronts {
		f.shutdown(grace)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// front serves the connections of a listener: plain those with plain requests, web the others.
type front struct {
	web   *http.Server
	plain *keepalive.Listener
}

func (s *Server) newFront(handler http.Handler, ln net.Listener) *front {
	web := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(connectionLog{s}, "", 0),
	}
	return &front{web, s.listen(ln, web)}
}

// shutdown ends the connections after their answers, or when ctx ends.
func (f *front) shutdown(ctx context.Context) {
	f.plain.Shutdown(ctx)
	if f.web.Shutdown(ctx) != nil {
		f.web.Close()
	}
}

// listen returns a listener for web whose connections serve plain POSTs to /mcp themselves.
func (s *Server) listen(ln net.Listener, web *http.Server) *keepalive.Listener {
	return keepalive.Listen(ln, keepalive.Options{
		Server: web, BodyTimeout: s.opts().ReadTimeout, WriteTimeout: writeTime, RestTime: restTime,
		Prepare: func(r *http.Request) http.Handler {
			if s.opts().Access.checkOrigin(r, false) != nil || r.Header.Get("Origin") != "" {
				return web.Handler
			}
			if name, ok := strings.CutPrefix(r.URL.Path, "/mcp/p/"); ok {
				r.SetPathValue(profileWildcard, name)
			}
			sender, until, refused := s.identify(r, bearer(r))
			if refused != nil {
				return web.Handler
			}
			known, sure := s.opts(), until
			if again := time.Now().Add(s.recheckTime); again.Before(until) {
				sure = again
			}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if s.opts() != known || expired(sure) { // it may no longer be let in
					web.Handler.ServeHTTP(w, r)
					return
				}
				r, cancel := limited(r, until)
				defer cancel()
				s.serveMCP(w, r, sender)
			})
		},
	})
}

// connectionLog logs what net/http says of connections, as refusals those whose certificate TLS has refused, as warnings
// that none can be accepted, for instance for too many open files, and as errors the panics of handlers.
type connectionLog struct{ server *Server }

// Write implements io.Writer for one line.
func (l connectionLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	from, reason, _ := strings.Cut(strings.TrimPrefix(text, "http: TLS handshake error from "), ": ")
	switch {
	case strings.HasPrefix(reason, "tls: failed to verify certificate"):
		l.server.log.Log(slog.LevelInfo, "refused", "address", hostname(from), "reason", reason, "refused_so_far", l.server.refused.Add(1))
	case strings.HasPrefix(text, "http: Accept error: "):
		reason, _, _ := strings.Cut(strings.TrimPrefix(text, "http: Accept error: "), "; retrying in ")
		l.server.log.Log(slog.LevelWarn, "cannot accept a connection, and tries again", "reason", reason)
	case strings.HasPrefix(text, "http: panic serving "):
		l.server.opts().Log.Error(text)
	default:
		l.server.opts().Log.Debug(text)
	}
	return len(line), nil
}
