package engine

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const patience = 60 * time.Second

// startServer runs a NATS of one server until the end of the test.
func startServer(t *testing.T, change ...func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	for _, c := range change {
		c(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { stopServer(s) })
	if o.Cluster.Name == "" && !s.ReadyForConnections(patience) {
		t.Fatal("the server of NATS is not ready")
	}
	return s
}

func stopServer(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// startServerAt starts a server in place of one that was stopped.
func startServerAt(t *testing.T, s *server.Server, dir string, change ...func(*server.Options)) *server.Server {
	t.Helper()
	at, err := url.Parse(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	return startServer(t, append(change, func(o *server.Options) { o.Port, o.StoreDir = port, dir })...)
}

// startCluster runs a NATS of three servers.
func startCluster(t *testing.T) []*server.Server {
	t.Helper()
	var routes []*url.URL
	ports := freePorts(t, 3)
	for _, p := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	var all []*server.Server
	for i, p := range ports {
		all = append(all, startServer(t, func(o *server.Options) {
			o.ServerName = "s" + strconv.Itoa(i)
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: p}
			o.Routes = routes
		}))
	}
	for _, s := range all {
		if !s.ReadyForConnections(patience) {
			t.Fatal("a server of NATS is not ready")
		}
	}
	return all
}

// freePorts returns ports that were free just now: servers need to know each other's before they start.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// open opens an Engine with short leases, and closes it at the end of the test.
func open(t *testing.T, url, node string, change ...func(*Options)) *Engine {
	t.Helper()
	o := Options{Cluster: "test", Node: node, URL: url, LeaseTTL: 2 * time.Second,
		Log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelDebug})).With("node", node)}
	for _, c := range change {
		c(&o)
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// openUp is open, and waits until NATS answers.
func openUp(t *testing.T, url, node string, change ...func(*Options)) *Engine {
	t.Helper()
	e := open(t, url, node, change...)
	until(t, "up", e.OnUp, func(up bool) bool { return up })
	return e
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

// until waits for a value that on calls its function with.
func until[T any](t *testing.T, what string, on func(func(T)) func(), ok func(T) bool) T {
	t.Helper()
	got := make(chan T, 1)
	stop := on(func(v T) {
		if ok(v) {
			select {
			case got <- v:
			default:
			}
		}
	})
	defer stop()
	return receive(t, what, got)
}

func receive[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: nothing came", what)
	}
	return v
}

// proxy is a way to a server that can be cut and restored.
type proxy struct {
	net.Listener
	to       string
	accepted chan struct{} // for each connection, if it has room

	mu   sync.Mutex // guards what follows
	gone bool
	open map[net.Conn]bool
}

func startProxy(t *testing.T, s *server.Server) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: s.Addr().String(), accepted: make(chan struct{}, 8), open: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			signal(p.accepted)
			running.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut()
		running.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.Addr().String() }

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.open[c] = true
	if p.gone {
		c.Close()
	}
	p.mu.Unlock()
	go func() {
		defer up.Close()
		io.Copy(up, c)
	}()
	io.Copy(c, up)
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
}

func (p *proxy) cut() { p.set(true) }

func (p *proxy) restore() { p.set(false) }

func (p *proxy) set(gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = gone
	for c := range p.open {
		if gone {
			c.Close()
		}
	}
}
