package outbound

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newTestGuard(t *testing.T, server string) *Guard {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return NewGuard(u, nil)
}

func TestGuard(t *testing.T) {
	public, internal := newTestGuard(t, "https://mcp.example.com/mcp"), newTestGuard(t, "https://10.1.2.3/mcp")
	public.private = func() bool { return false }
	for _, test := range []struct {
		address          string
		public, internal bool
	}{
		{"93.184.216.34", true, true},
		{"2606:2800:220:1::1", true, true},
		{"10.0.0.1", false, true},
		{"192.168.1.1", false, true},
		{"169.254.169.254", false, true},
		{"100.64.0.1", false, true},
		{"fd00::1", false, true},
		{"fe80::1", false, true},
		{"127.0.0.1", false, false},
		{"::1", false, false},
		{"::ffff:127.0.0.1", false, false},
		{"::ffff:10.0.0.1", false, true},
		{"64:ff9b::a00:1", false, true},
		{"2002:7f00:1::", false, true},
		{"64:ff9b::a00:1%eth0", false, true},
		{"2002:7f00:1::%1", false, true},
		{"fe80::1%eth0", false, true},
		{"0.0.0.0", false, false},
		{"::", false, false},
		{"255.255.255.255", false, true},
	} {
		ip := netip.MustParseAddr(test.address)
		if got := public.checkAddress(ip) == nil; got != test.public {
			t.Errorf("%s from a public server: %v", ip, got)
		}
		if got := internal.checkAddress(ip) == nil; got != test.internal {
			t.Errorf("%s from a server in the network: %v", ip, got)
		}
	}
	for _, address := range []string{"https://10.0.0.1/token", "https://[::1]/", "http://127.0.0.1/", "http://auth.example.com/", "https://user@auth.example.com/"} {
		u, _ := url.Parse(address)
		if public.Check(u) == nil {
			t.Errorf("%q may be requested", u)
		}
	}
	local := newTestGuard(t, "http://localhost:1/mcp")
	if u, _ := url.Parse("http://127.0.0.1:2/token"); local.Check(u) != nil {
		t.Errorf("from a server on this computer: %v", local.Check(u))
	}
}

// Where a server is that does not answer is asked again, until it does.
func TestGuardAsksAgain(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	g := NewGuard(&url.URL{Scheme: "https", Host: "example.com"}, roots)
	g.transport.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	var up bool
	g.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		if !up {
			return nil, errors.New("away")
		}
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	for i, want := range []bool{false, true, true} {
		up = i == 1
		if got := g.checkAddress(netip.MustParseAddr("10.0.0.1")) == nil; got != want {
			t.Errorf("%d: %t", i, got)
		}
	}
}

// Who waits while a server is asked does not ask it again.
func TestGuardAsksOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		private := onceKnown(func() (answer, known bool) {
			time.Sleep(probeTime)
			return false, false
		})
		begun := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { private() })
		}
		wg.Wait()
		if took := time.Since(begun); took != probeTime {
			t.Errorf("it took %v", took)
		}
	})
}

// A name that leads to this computer is refused when it is dialed.
func TestGuardDials(t *testing.T) {
	client := &http.Client{Transport: newTestGuard(t, "https://mcp.example.com/mcp")}
	if _, err := client.Get("https://localhost:1/"); err == nil || !strings.Contains(err.Error(), "refused to connect to") {
		t.Errorf("localhost: %v", err)
	}
}
