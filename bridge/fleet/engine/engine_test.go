package engine

import (
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TestCloseWaits looks for goroutines that are left behind, once with NATS and once without.
func TestCloseWaits(t *testing.T) {
	s := startServer(t)
	for _, away := range []bool{false, true} {
		p := startProxy(t, s)
		e := openUp(t, p.url(), "a")
		announce(t, e, Node{})
		until(t, "held", e.Lease("x").OnHolder, mine)
		if _, err := e.Subscribe("x", func([]byte) {}); err != nil {
			t.Fatal(err)
		}
		e.OnNodes(func([]Node) {})
		_, ready := watched(t, e.Bucket("things", 0), ">")
		receive(t, "ready", ready)
		if away {
			p.cut()
			until(t, "down", e.OnUp, func(up bool) bool { return !up })
		}
		e.Close()
		e.Close()            // again is nothing
		e.Lease("y").Close() // waits for nothing
		stacks := make([]byte, 1<<20)
		for _, g := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(g, "fleet/engine.(*") && !strings.Contains(g, "fleet/engine.(*proxy)") || strings.Contains(g, "fleet/engine.follow") {
				t.Errorf("away %v: left behind:\n%s", away, g)
			}
		}
		if e.Up() {
			t.Error("up after Close")
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Cluster = "a_b" }, `cluster name "a_b"`},
		{func(o *Options) { o.Node = "" }, `node id ""`},
		{func(o *Options) { o.URL = "" }, "no URL"},
		{func(o *Options) { o.LeaseTTL = time.Millisecond }, "lease TTL 1ms"},
		{func(o *Options) { o.URL = "nats://me:secret@h:port" }, "NATS"},
		{func(o *Options) { o.CA = "missing.pem" }, "missing.pem"},
		{func(o *Options) { o.Credentials = "missing.creds" }, "missing.creds"},
	} {
		o := Options{Cluster: "c", Node: "a", URL: "nats://127.0.0.1:1"}
		c.change(&o)
		e, err := Open(o)
		if err == nil {
			e.Close()
			t.Errorf("%+v: opened", o)
		} else if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// TestPassword has NATS refuse the password until it is started anew. A client gives up after two refusals
// unless it is told not to.
func TestPassword(t *testing.T) {
	s := startServer(t, func(o *server.Options) { o.Username, o.Password = "me", "old" })
	p := startProxy(t, s)
	e := open(t, strings.Replace(p.url(), "nats://", "nats://me:new@", 1), "a")
	for range 4 {
		receive(t, "a connection", p.accepted)
	}
	dir := s.StoreDir()
	stopServer(s)
	startServerAt(t, s, dir, func(o *server.Options) { o.Username, o.Password = "me", "new" })
	until(t, "up", e.OnUp, func(up bool) bool { return up })
}

func TestCA(t *testing.T) {
	web := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	web.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, func(o *server.Options) {
		o.TLSConfig, o.TLSTimeout = &tls.Config{Certificates: web.TLS.Certificates}, 5
	})
	openUp(t, "tls://"+s.Addr().String(), "a", func(o *Options) { o.CA = file })
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "a", "a.b", ".", "..", "a..b", "=", "=2E", "*", ">", "a.>", "ü/ x", "http://a.b/c?d=e%20"} {
		s := subject(name)
		if back, err := key(s); back != name || err != nil {
			t.Errorf("%q as %q is %q, %v", name, s, back, err)
		}
		if strings.ContainsAny(s, " *>/") || strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, "..") {
			t.Errorf("%q is the subject %q", name, s)
		}
	}
	for in, want := range map[string]string{">": ">", "a.>": "a.>", "a.*.b": "a.*.b", ">.a": "=3E.a", "a.b>": "a.b=3E"} {
		if got := pattern(in); got != want {
			t.Errorf("%q is the pattern %q, want %q", in, got, want)
		}
	}
	for _, s := range []string{"a=2", "=ZZ"} {
		if name, err := key(s); err == nil {
			t.Errorf("%q is %q", s, name)
		}
	}
}
