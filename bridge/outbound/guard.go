package outbound

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"
)

// A Guard is the transport of requests to URLs that others have named: a server, or a document of an
// issuer. They are https, or http on this computer if the server is there itself, and connect to no
// address of this computer or its network unless the server is at one.
type Guard struct {
	server    *url.URL
	transport *http.Transport
	private   func() bool // the server is in a private network
}

// NewGuard returns the Guard of requests whose URLs a server has named. roots are as for Transport.
func NewGuard(server *url.URL, roots *x509.CertPool) *Guard {
	g := &Guard{server: server, transport: Transport(roots)}
	g.transport.DisableKeepAlives = true
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		if ctx.Value(proxied{}) != nil {
			return nil
		}
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return g.checkAddress(at.Addr())
	}}
	g.transport.DialContext = dialer.DialContext
	g.private = onceKnown(g.findPrivate)
	return g
}

// proxied marks the context of a request that goes by a proxy, whose address is the user's own choice.
type proxied struct{}

// RoundTrip implements http.RoundTripper. A URL to which a redirect leads is checked, too.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.Check(r.URL); err != nil {
		return nil, err
	}
	if proxy, _ := g.transport.Proxy(r); proxy != nil {
		r = r.WithContext(context.WithValue(r.Context(), proxied{}, true))
	}
	return noSwitch{g.transport}.RoundTrip(r)
}

// Check refuses a URL to which no request, and no browser, must be sent.
func (g *Guard) Check(u *url.URL) error {
	plain := u.Scheme == "http" && IsLoopback(u) && IsLoopback(g.server)
	switch {
	case u.Scheme != "https" && !plain:
		return fmt.Errorf("%.100q is refused: expected https (http is for a server on this computer)", Bare(u))
	case u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%.100q is refused: expected a host, and neither a user nor a fragment", Bare(u))
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return g.checkAddress(ip)
	}
	return nil
}

// Bare returns a URL without its parts that may be secret.
func Bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// IsLoopback reports whether a URL is on this computer by what it says.
func IsLoopback(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// reserved are networks that are not the public internet, apart from those that netip knows. Addresses
// that carry one of IPv4 can lead anywhere.
var reserved = []string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "fec0::/10",
}

func isPublic(ip netip.Addr) bool {
	for _, network := range reserved {
		if netip.MustParsePrefix(network).Contains(ip) {
			return false
		}
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate()
}

// checkAddress refuses connections of another's choice into the network of this computer. It is asked
// with the address that is dialed, whatever a name has meant before.
func (g *Guard) checkAddress(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("") // a zone is in no network, and leads a global address nowhere else
	switch {
	case isPublic(ip), IsLoopback(g.server):
		return nil
	case !ip.IsLoopback() && !ip.IsUnspecified() && g.private(): // the latter leads to this computer, too
		return nil
	}
	return fmt.Errorf("refused to connect to %s, an address of this computer or its network, which the server at %s has named", ip, g.server.Host)
}

// probeTime bounds the request with which a Guard finds out where its server is.
const probeTime = 20 * time.Second

// onceKnown returns a function that calls find until its answer is known, and then returns that. Who comes
// while find runs waits for its answer.
func onceKnown(find func() (answer, known bool)) func() bool {
	var running singleflight.Group
	var answer atomic.Pointer[bool] // nil until it is known
	return func() bool {
		if a := answer.Load(); a != nil {
			return *a
		}
		found, _, _ := running.Do("", func() (any, error) {
			a, known := find()
			if known {
				answer.Store(&a)
			}
			return a, nil
		})
		return found.(bool)
	}
}

// findPrivate reports whether the server is in a private network: whoever answers for its name there has
// its certificate. It is not known while the server does not answer.
func (g *Guard) findPrivate() (private, known bool) {
	if ip, err := netip.ParseAddr(g.server.Hostname()); err == nil {
		return !isPublic(ip.Unmap()), true
	}
	if proxy, _ := g.transport.Proxy(&http.Request{URL: g.server}); proxy != nil || g.server.Scheme != "https" {
		return false, true
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), proxied{}, true), probeTime)
	defer cancel()
	probe := g.transport.Clone()
	defer probe.CloseIdleConnections()
	var remote net.Addr
	dial := probe.DialContext
	probe.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			remote = conn.RemoteAddr()
		}
		return conn, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, Origin(g.server), nil)
	if err != nil {
		return false, true
	}
	resp, err := probe.RoundTrip(r) // after the handshake of TLS: the address is the server's
	if err != nil {
		return false, false
	}
	resp.Body.Close()
	at, err := netip.ParseAddrPort(remote.String())
	return err == nil && !isPublic(at.Addr().Unmap()), true
}
