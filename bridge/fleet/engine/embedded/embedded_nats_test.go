//go:build nats

package embedded_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine/embedded"
)

// TestThreeServers kills one server of three with its node, and starts it again.
func TestThreeServers(t *testing.T) {
	join := freeAddresses(t, 3)
	var dirs [3]string
	var servers [3]*embedded.Server
	var engines [3]*engine.Engine
	start := func(i int) {
		s, err := embedded.Start(embedded.Options{Cluster: "c", Node: node(i), Join: join, Listen: join[i], Password: "secret", Dir: dirs[i]})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.Open(engine.Options{Cluster: "c", Node: node(i), URL: s.URL(), LeaseTTL: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Announce(engine.Node{}); err != nil {
			t.Error(err)
		}
		servers[i], engines[i] = s, e
		t.Cleanup(func() {
			e.Close()
			s.Close()
		})
	}
	for i := range 3 {
		dirs[i] = t.TempDir()
		start(i)
	}
	for _, e := range engines {
		await(t, e, "a", "b", "c")
	}
	things := engines[1].Bucket("things", 0)
	if _, err := things.Put(t.Context(), "x", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	engines[0].Close()
	servers[0].Close()
	await(t, engines[1], "b", "c")
	await(t, engines[2], "b", "c")
	if e, err := engines[2].Bucket("things", 0).Get(t.Context(), "x"); err != nil || string(e.Value) != "1" {
		t.Errorf("entry %+v, %v", e, err)
	}
	if _, err := things.Put(t.Context(), "x", []byte("2"), 0); err != nil {
		t.Error(err)
	}
	start(0)
	await(t, engines[0], "a", "b", "c")
	if e, err := engines[0].Bucket("things", 0).Get(t.Context(), "x"); err != nil || string(e.Value) != "2" {
		t.Errorf("entry %+v, %v", e, err)
	}
}

func TestOneServer(t *testing.T) {
	s, err := embedded.Start(embedded.Options{Cluster: "c", Node: "a", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := engine.Open(engine.Options{Cluster: "c", Node: "a", URL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Announce(engine.Node{}); err != nil {
		t.Error(err)
	}
	await(t, e, "a")
	if got := s.Waits(); got != "" {
		t.Error(got)
	}
}

// A server whose connections are safe does not warn of them.
func TestUnfoundedWarnings(t *testing.T) {
	var log bytes.Buffer
	join := freeAddresses(t, 2)
	s, err := embedded.Start(embedded.Options{
		Cluster: "c", Node: "a", Join: join, Listen: join[0], Password: "secret", Dir: t.TempDir(),
		TLS: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error { return nil }},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Waits(); got != "1 of 2 NATS servers are there: 2 are needed, at the first start all" {
		t.Error(got)
	}
	s.Close()
	if text := log.String(); strings.Contains(text, "PRODUCTION") || strings.Contains(text, "Plaintext") {
		t.Error(text)
	}
}

// A server logs once that another one is away, and not at each of its attempts.
func TestAwayIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	attempts := make(chan struct{}, 100)
	join := freeAddresses(t, 3)
	s, err := embedded.Start(embedded.Options{
		Cluster: "c", Node: "a", Join: join, Listen: join[0], Password: "secret", Dir: t.TempDir(),
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range join[1:] { // whom it tries again a second later
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				c.Close()
				attempts <- struct{}{}
			}
		}()
	}
	for range join[1:] {
		<-attempts
	}
	s.Close()
	if n := strings.Count(log.String(), "trying to connect to route"); n != 1 {
		t.Errorf("%d lines\n%s", n, &log)
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []embedded.Options{
		{Cluster: "c", Node: "a", Join: []string{"h:1"}, Listen: "h"},
		{Cluster: "c", Node: "a", Join: []string{"h"}, Listen: "h:1"},
		{Cluster: "c", Node: "a", Join: []string{"h:1"}, Listen: "h:x"},
	} {
		if _, err := embedded.Start(o); err == nil {
			t.Errorf("%+v started", o)
		}
	}
}

func node(i int) string { return string(rune('a' + i)) }

// await waits until e lists these nodes and NATS answers.
func await(t *testing.T, e *engine.Engine, want ...string) {
	t.Helper()
	done := make(chan struct{}, 1)
	check := func() {
		var ids []string
		for _, n := range e.Nodes() {
			ids = append(ids, n.ID)
		}
		if slices.Equal(ids, want) && e.Up() {
			select {
			case done <- struct{}{}:
			default:
			}
		}
	}
	defer e.OnNodes(func([]engine.Node) { check() })()
	defer e.OnUp(func(bool) { check() })()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("up %v, nodes %v; want %v", e.Up(), e.Nodes(), want)
	}
}

// freeAddresses returns addresses that were free just now.
func freeAddresses(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, fmt.Sprint(l.Addr()))
	}
	return all
}
