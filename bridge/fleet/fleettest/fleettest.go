// Package fleettest runs what tests of a fleet need: a NATS in the process, and the engines of nodes.
package fleettest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
)

// Secret is one that a cluster may have.
const Secret = "a secret of thirty-two bytes at least"

// NATS runs a server until the end of the test, and returns its URL.
func NATS(t testing.TB) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server of NATS is not ready")
	}
	return s.ClientURL()
}

// Engine returns the engine of a node of a cluster on a NATS, which is closed at the end of the test.
func Engine(t testing.TB, url, node string) *engine.Engine {
	t.Helper()
	return EngineLeasing(t, url, node, 0)
}

// EngineLeasing is Engine for one with engine.Options.LeaseTTL.
func EngineLeasing(t testing.TB, url, node string, ttl time.Duration) *engine.Engine {
	t.Helper()
	e, err := engine.Open(engine.Options{Cluster: "test", Node: node, URL: url, LeaseTTL: ttl, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	up := make(chan bool, 1)
	stop := e.OnUp(func(is bool) {
		if is {
			select {
			case up <- true:
			default:
			}
		}
	})
	defer stop()
	<-up
	return e
}

// Await waits until an engine lists so many nodes.
func Await(t testing.TB, e *engine.Engine, nodes int) {
	t.Helper()
	there := make(chan bool, 1)
	defer e.OnNodes(func(known []engine.Node) {
		if len(known) == nodes {
			select {
			case there <- true:
			default:
			}
		}
	})()
	<-there
}

// Keys returns the keys of a cluster with these secrets, or with Secret.
func Keys(t testing.TB, secrets ...string) *fleet.Keys {
	t.Helper()
	if len(secrets) == 0 {
		secrets = []string{Secret}
	}
	k, err := fleet.NewKeys("test", secrets)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
