//go:build nats

package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Server is a server that runs.
type Server struct {
	server   *server.Server
	password string // of clients
	join     int    // how many servers there are
}

const (
	user         = "mcpbridge"
	startTimeout = 10 * time.Second
	memoryLimit  = 256 << 20 // of what is not kept in files, such as the list of nodes
)

// Start starts a server. It does not wait for the others.
func Start(o Options) (*Server, error) {
	options, err := serverOptions(o)
	if err != nil {
		return nil, fmt.Errorf("NATS for cluster %s: %w", o.Cluster, err)
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("NATS for cluster %s: %w", o.Cluster, err)
	}
	if o.Log != nil {
		s.SetLoggerV2(newLogger(o.Log), false, false, false)
	}
	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("NATS for cluster %s did not start: see the log; is %s free, and can %s be written?", o.Cluster, o.Listen, o.Dir)
	}
	return &Server{s, options.Password, len(o.Join)}, nil
}

func serverOptions(o Options) (*server.Options, error) {
	all := &server.Options{
		ServerName: o.Node, Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: user, Password: rand.Text(),
		NoSigs: true, NoLog: o.Log == nil,
		JetStream: true, StoreDir: o.Dir, JetStreamMaxMemory: memoryLimit, DisableJetStreamBanner: true,
		SyncAlways: true, // what was promised is on the disk
	}
	if len(o.Join) == 0 {
		return all, nil
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c := &all.Cluster
	c.NoAdvertise = true // of where clients reach this server: those of the others are elsewhere
	c.Name, c.Host, c.Username, c.Password = o.Cluster, host, user, o.Password
	if c.Port, err = strconv.Atoi(port); err != nil {
		return nil, fmt.Errorf("listen %s: %w", o.Listen, err)
	}
	if o.TLS != nil {
		c.TLSConfig, c.TLSTimeout = o.TLS.Clone(), startTimeout.Seconds()
	}
	for _, to := range o.Join {
		if _, _, err := net.SplitHostPort(to); err != nil {
			return nil, fmt.Errorf("join: %w", err)
		}
		all.Routes = append(all.Routes, &url.URL{Scheme: "nats", Host: to, User: url.UserPassword(user, o.Password)})
	}
	return all, nil
}

// URL is for the engine of this process. It has a password that nobody else knows, and is of the loopback
// interface.
func (s *Server) URL() string {
	return (&url.URL{Scheme: "nats", Host: s.server.Addr().String(), User: url.UserPassword(user, s.password)}).String()
}

// Waits says which servers there are of those that there should be, "" if all are there.
func (s *Server) Waits() string {
	there := s.server.NumRemotes() + 1
	if there >= s.join {
		return ""
	}
	return fmt.Sprintf("%d of %d NATS servers are there: %d are needed, at the first start all", there, s.join, s.join/2+1)
}

// Close ends the server. Engines that use it are closed before.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// unfounded are the beginnings of warnings about what is safe here: the password of clients is made anew in each
// process and never leaves it, and what Options.TLS verifies takes the place of a chain of certificates.
var unfounded = [...]string{"Plaintext passwords detected", "TLS certificate chain and hostname of solicited routes"}

// noRoute begins what a server says four times a second while another one is away.
const noRoute = "Error trying to connect to route"

// logger logs what a server says. Its notices are about every stream and connection.
type logger struct {
	*slog.Logger
	routes *bridge.Throttle // for errors of noRoute
}

func newLogger(to *slog.Logger) logger {
	return logger{to, &bridge.Throttle{To: to, Every: time.Minute}}
}

func (l logger) log(level slog.Level, format string, v []any) {
	l.Log(context.Background(), level, said(format, v))
}

func said(format string, v []any) string { return "NATS server: " + fmt.Sprintf(format, v...) }

func (l logger) Noticef(format string, v ...any) { l.log(slog.LevelDebug, format, v) }
func (l logger) Warnf(format string, v ...any) {
	if !slices.ContainsFunc(unfounded[:], func(start string) bool { return strings.HasPrefix(format, start) }) {
		l.log(slog.LevelWarn, format, v)
	}
}
func (l logger) Errorf(format string, v ...any) {
	if strings.HasPrefix(format, noRoute) {
		l.routes.Log(slog.LevelError, said(format, v))
	} else {
		l.log(slog.LevelError, format, v)
	}
}
func (l logger) Fatalf(format string, v ...any) { l.log(slog.LevelError, format, v) }
func (l logger) Debugf(string, ...any)          {}
func (l logger) Tracef(string, ...any)          {}
