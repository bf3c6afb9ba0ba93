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
	restTime  = 2 * time.Second  // without a request, after which a connection gives memory back
	graceTime = 2 * time.Second  // that requests have to end in when the Server closes

	// recheckTime is for how long a connection need not present credentials that expire once more: their
	// issuer may withdraw its keys meanwhile.
	recheckTime = 15 * time.Minute
)

// Serve serves Handler on a listener until ctx ends, and closes the Server and the listener then. Plain
// POSTs to /mcp, and /mcp/p/NAME, cost less here than with any other http.Server.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	web := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(connectionLog{s}, "", 0),
	}
	plain := s.listen(ln, web)
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(plain) }()
	others := s.serveNodes(web)
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.opts().Log.Info("ending", "reason", context.Cause(ctx))
	}
	s.Close() // ends the streams, which Shutdown would wait for
	grace, cancel := context.WithTimeout(context.Background(), graceTime)
	defer cancel()
	others(grace)
	plain.Shutdown(grace)
	if web.Shutdown(grace) != nil {
		web.Close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// serveNodes serves what other nodes forward, as web does; shutdown ends that.
func (s *Server) serveNodes(web *http.Server) (shutdown func(context.Context)) {
	nodes := s.opts().Nodes
	if nodes == nil {
		return func(context.Context) {}
	}
	inner := &http.Server{
		Handler: web.Handler, ReadHeaderTimeout: web.ReadHeaderTimeout, IdleTimeout: web.IdleTimeout, MaxHeaderBytes: web.MaxHeaderBytes,
		ErrorLog: web.ErrorLog, ConnContext: markForwarded,
	}
	plain := s.listen(nodes, inner)
	go inner.Serve(plain)
	return func(grace context.Context) {
		plain.Shutdown(grace)
		if inner.Shutdown(grace) != nil {
			inner.Close()
		}
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

// connectionLog logs what net/http says of connections, and as refusals those whose certificate TLS has
// refused.
type connectionLog struct{ server *Server }

// Write implements io.Writer for one line.
func (l connectionLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	from, reason, _ := strings.Cut(strings.TrimPrefix(text, "http: TLS handshake error from "), ": ")
	if strings.HasPrefix(reason, "tls: failed to verify certificate") {
		l.server.log.Log(slog.LevelInfo, "refused", "address", hostname(from), "reason", reason, "refused_so_far", l.server.refused.Add(1))
	} else {
		l.server.opts().Log.Debug(text)
	}
	return len(line), nil
}
