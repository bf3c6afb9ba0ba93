//go:build !nats

package embedded

import "fmt"

// Server is a server that runs.
type Server struct{}

// Start starts a server. It does not wait for the others.
func Start(o Options) (*Server, error) {
	return nil, fmt.Errorf("start a server of NATS for cluster %s: %w", o.Cluster, ErrNotBuilt)
}

// URL is for the engine of this process.
func (s *Server) URL() string { return "" }

// Waits says which servers there are of those that there should be, "" if all are there.
func (s *Server) Waits() string { return "" }

// Close ends the server. Engines that use it are closed before.
func (s *Server) Close() {}
