package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

const (
	fetchTime    = 20 * time.Second // bounds a request
	maxDocument  = 1 << 20          // bounds a response, in bytes
	maxRedirects = 3
)

// fetcher sends requests to URLs that a server has named.
type fetcher struct {
	server    *url.URL
	http      *http.Client
	transport *http.Transport
	private   func() bool // the server is in a private network
}

// proxied marks the context of a request that goes by a proxy, whose address is the user's own choice.
type proxied struct{}

func newFetcher(cfg *Config, server *url.URL) *fetcher {
	f := &fetcher{server: server, transport: outbound.Transport(cfg.Roots)}
	f.transport.DisableKeepAlives = true
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		if ctx.Value(proxied{}) != nil {
			return nil
		}
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return f.checkAddress(at.Addr())
	}}
	f.transport.DialContext = dialer.DialContext
	f.private = sync.OnceValue(f.findPrivate)
	f.http = &http.Client{Transport: f, Timeout: fetchTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case via[0].Method != http.MethodGet:
			return http.ErrUseLastResponse
		case len(via) > maxRedirects:
			return errors.New("too many redirects")
		}
		return nil // RoundTrip checks where it leads
	}}
	return f
}

// RoundTrip sends a request where requests may go. It is for the fetcher's http.Client.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := f.checkURL(r.URL); err != nil {
		return nil, err
	}
	if proxy, _ := f.transport.Proxy(r); proxy != nil {
		r = r.WithContext(context.WithValue(r.Context(), proxied{}, true))
	}
	return f.transport.RoundTrip(r)
}

// parse returns a URL that a server has named, if requests may go there.
func (f *fetcher) parse(what, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && u.Opaque == "" {
		return nil, fmt.Errorf("%s is not a URL: %.100q", what, text)
	}
	if err := f.checkURL(u); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return u, nil
}

// checkURL refuses what requests and the browser must not be sent to.
func (f *fetcher) checkURL(u *url.URL) error {
	plain := u.Scheme == "http" && isLoopback(u) && isLoopback(f.server)
	switch {
	case u.Scheme != "https" && !plain:
		return fmt.Errorf("%.100q is refused: expected https (http is for a server on this computer)", bare(u))
	case u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%.100q is refused: expected a host, and neither a user nor a fragment", bare(u))
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return f.checkAddress(ip)
	}
	return nil
}

// bare returns a URL without its parts that may be secret.
func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// isLoopback reports whether a URL is on this computer by what it says.
func isLoopback(u *url.URL) bool {
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

// checkAddress refuses connections of a server's choice into the network of this computer. It is asked
// with the address that is dialed, whatever a name has meant before.
func (f *fetcher) checkAddress(ip netip.Addr) error {
	ip = ip.Unmap()
	switch {
	case isPublic(ip), isLoopback(f.server):
		return nil
	case !ip.IsLoopback() && f.private():
		return nil
	}
	return fmt.Errorf("refused to connect to %s, an address of this computer or its network, which the server at %s has named", ip, f.server.Host)
}

// findPrivate reports whether the server is in a private network: whoever answers for its name there has
// its certificate.
func (f *fetcher) findPrivate() bool {
	if ip, err := netip.ParseAddr(f.server.Hostname()); err == nil {
		return !isPublic(ip.Unmap())
	}
	if proxy, _ := f.transport.Proxy(&http.Request{URL: f.server}); proxy != nil || f.server.Scheme != "https" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), proxied{}, true), fetchTime)
	defer cancel()
	probe := f.transport.Clone()
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
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, outbound.Origin(f.server), nil)
	if err != nil {
		return false
	}
	resp, err := probe.RoundTrip(r) // after the handshake of TLS: the address is the server's
	if err != nil {
		return false
	}
	resp.Body.Close()
	at, err := netip.ParseAddrPort(remote.String())
	return err == nil && !isPublic(at.Addr().Unmap())
}

// statusError is an HTTP status that is not a success.
type statusError struct {
	code int
	body []byte
}

func (e *statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
}

// get reads a JSON document.
func (f *fetcher) get(ctx context.Context, u *url.URL, document any) error {
	r := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}}).WithContext(ctx)
	return f.send(r, document)
}

// post sends a body and reads the JSON document in return.
func (f *fetcher) post(ctx context.Context, u *url.URL, kind string, header http.Header, body []byte, document any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Content-Type", kind)
	return f.send(r, document)
}

// send sends a request, and reads the JSON document in return unless document is nil.
func (f *fetcher) send(r *http.Request, document any) error {
	r.Header.Set("Accept", "application/json")
	resp, err := f.http.Do(r)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) { // whose URL may have a query
			err = e.Err
		}
		return fmt.Errorf("%s: %w", bare(r.URL), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("%s: %w", bare(r.URL), &statusError{resp.StatusCode, body[:min(len(body), maxDocument)]})
	case err != nil:
		return fmt.Errorf("%s: %w", bare(r.URL), err)
	case len(body) > maxDocument:
		return fmt.Errorf("%s: its answer has more than %d bytes", bare(r.URL), maxDocument)
	case document == nil:
		return nil
	}
	if err := json.Unmarshal(body, document); err != nil {
		return fmt.Errorf("%s: its answer is not the JSON that was expected", bare(r.URL))
	}
	return nil
}

// isAbsent reports whether an error says that there is nothing at a URL.
func isAbsent(err error) bool {
	var e *statusError
	return errors.As(err, &e) && e.code >= 400 && e.code < 500
}
