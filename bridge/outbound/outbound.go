// Package outbound makes the transports of HTTP clients, so that the proxies of the environment and
// the certificate authorities of the config hold for every connection to another program.
//
// All functions may be called from many goroutines.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Transport returns a transport of its own, which its caller may set further limits on before the
// first request. It heeds HTTP_PROXY, HTTPS_PROXY and NO_PROXY as they were at the first request of
// this program; loopback is never reached by a proxy. roots are the trusted certificate
// authorities; nil means the system's.
func Transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3, // a network that is gone is noticed in a minute
		}}).DialContext,
		TLSClientConfig:       TLS(roots),
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		OnProxyConnectResponse: func(_ context.Context, proxy *url.URL, req *http.Request, resp *http.Response) error {
			return refusal(proxy, req.Host, resp)
		},
	}
}

// NoSwitch returns a transport that refuses answers of 101 (Switching Protocols). A read of their body, which
// is the connection, waits for the server however long the context of the request has ended.
func NoSwitch(t *http.Transport) http.RoundTripper { return noSwitch{t} }

type noSwitch struct{ *http.Transport }

func (t noSwitch) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, errSwitched
	}
	return resp, err
}

var errSwitched = errors.New("the server switches to another protocol (HTTP 101), which was not asked for")

// TLS returns the TLS settings of a connection that is not made by a Transport.
func TLS(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// Roots returns the certificate authorities of the system with those of a PEM file's content, so
// that a private one does not replace them.
func Roots(pem []byte) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("the system's certificate authorities: %w", err)
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("expected certificates in PEM form (-----BEGIN CERTIFICATE-----)")
	}
	return roots, nil
}

// Origin returns the origin of a URL: scheme, host name and effective port (RFC 6454, section 4). A
// request whose headers may be secret must not follow a redirect to another one.
func Origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
