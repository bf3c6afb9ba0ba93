package mcpclient_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// The end of an event stream that comes after a call has its reply leaves the connection for the next
// call, with TLS and without.
func TestLateEndOfStream(t *testing.T) {
	results := map[string]string{
		wire.MethodInitialize: `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
		wire.MethodToolsList:  `{"tools":[{"name":"ok","inputSchema":{"type":"object"}}]}`,
		wire.MethodToolsCall:  `{"content":[]}`,
	}
	for _, start := range []func(*httptest.Server){(*httptest.Server).Start, (*httptest.Server).StartTLS} {
		sourcetest.NoLeaks(t)
		var conns atomic.Int32
		answered := make(chan struct{})
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			m, err := wire.Split(body)
			if err != nil || m.Kind() != wire.Request {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, results[m.Method])
			http.NewResponseController(w).Flush()
			if m.Method == wire.MethodToolsCall {
				<-answered
			}
		}))
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				conns.Add(1)
			}
		}
		start(server)
		defer server.Close()
		roots := x509.NewCertPool()
		if server.TLS != nil {
			roots.AddCert(server.Certificate())
		}
		c := open(t, mcpclient.Config{URL: server.URL, Transport: mcpclient.HTTP, Era: mcpclient.Legacy, Roots: roots})
		for range 100 {
			if r := c.call("ok"); r.Err != nil {
				t.Fatal(r.Err)
			}
			answered <- struct{}{}
		}
		if n := conns.Load(); n > 50 { // in case the machine stands still for too long, at times
			t.Errorf("%d connections for 100 calls to %s", n, server.URL)
		}
		c.client.Close()
	}
}
