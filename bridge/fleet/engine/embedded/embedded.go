// Package embedded runs a server of NATS in this process, so that a cluster of nodes needs no other program.
// It is part of builds with the tag nats: the server adds 9 MB to the binary and much to the time of a build.
package embedded

import (
	"crypto/tls"
	"errors"
	"log/slog"
)

// Options say which servers form a NATS. Each of them has the same Cluster, Password and Join.
type Options struct {
	Cluster string // 1 to 32 letters, digits and -
	Node    string // the name of this server, which no other has

	// Join is where the servers reach each other, as host:port; this one's may be among them. The state is
	// safe, and can be changed, while more than half of them run: three can lose one. Without any there is
	// one server.
	Join     []string
	Listen   string // where this server is reached, as host:port
	Password string // which the servers show each other

	// TLS is for the connections between the servers, in both directions. With nil whoever sees the network can read
	// all that the nodes share, and Password.
	TLS *tls.Config

	Dir string // where the state is kept; made if it does not exist
	Log *slog.Logger
}

// ErrNotBuilt is the error of Start in a build without the server.
var ErrNotBuilt = errors.New("this build has no embedded NATS: use a released binary, build with -tags nats, or run nats-server and give its address")
