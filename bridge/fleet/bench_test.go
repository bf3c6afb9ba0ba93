package fleet_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
)

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// What a request costs both nodes, with a server of net/http at the other one.
func BenchmarkForward(b *testing.B) {
	p := newPair(b, fleettest.Keys(b), fleettest.Keys(b), func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, strings.Repeat("x", 100))
	})
	body, to := strings.Repeat("x", 200), p.to.Addr().String()
	b.RunParallel(func(pb *testing.PB) {
		w := &discard{http.Header{}}
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/mcp", nil)
		r.Header.Set("Content-Type", "application/json")
		for pb.Next() {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			if _, err := p.from.Forward(w, r, to, "key"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
