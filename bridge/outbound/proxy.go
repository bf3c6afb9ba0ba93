package outbound

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Dialer makes a connection, as [net.Dialer.DialContext] does.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// Tunnel returns a Dialer that connects through an HTTP proxy with CONNECT (RFC 9110, section
// 9.3.6), for a connection that is not made by a Transport.
func Tunnel(proxy *url.URL, dial Dialer) Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, net.JoinHostPort(proxy.Hostname(), cmp.Or(proxy.Port(), "80")))
		if err != nil {
			return nil, &net.OpError{Op: "proxyconnect", Net: network, Err: err}
		}
		stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
		err = tunnel(conn, proxy, addr)
		if !stop() {
			err = ctx.Err()
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

// tunnel asks the proxy at the other end of conn to connect it to addr.
func tunnel(conn net.Conn, proxy *url.URL, addr string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	// What the buffer may read ahead is nothing: the server does not speak first.
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return fmt.Errorf("the proxy %s: %w", proxy.Host, err)
	}
	return refusal(proxy, addr, resp)
}

// refusal returns the error for the answer of a proxy that has not connected to a host; nil means
// that it has. net/http's own has only the text of the status.
func refusal(proxy *url.URL, host string, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	text := fmt.Sprintf("the proxy %s refused to connect to %s: HTTP %d %s", proxy.Host, host, resp.StatusCode, http.StatusText(resp.StatusCode))
	if resp.StatusCode == http.StatusProxyAuthRequired {
		text += " (check the user:password@ of HTTPS_PROXY)"
	}
	return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: errors.New(text)}
}

// NotSent reports whether the error of a request means that no connection was made, so that the
// request was not sent.
func NotSent(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && (failed.Op == "dial" || failed.Op == "proxyconnect")
}
