package rest

import (
	"context"
	"net/http"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// BenchmarkCall compares a call of a REST tool with the same request of a bare http.Client. The
// ratio may be 1.2; for records, if the bare client makes the same result: to escape and check them
// costs more than their way over loopback.
func BenchmarkCall(b *testing.B) {
	sourcetest.CompareHTTP(b, func(b *testing.B, url string) bridge.Tool {
		return sourcetest.Tool(b, openAPI(b, url, `{"url":"URL","auth":"x"}`), `{"method":"GET","path":"/users/{id}/orders?limit={limit}&sort=desc"}`)
	}, `{"data":%s}`, `{"id":"a b","limit":10}`, func(ctx context.Context, url string) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/users/a%20b/orders?limit=10&sort=desc", nil)
		if err == nil {
			req.Header.Set("Authorization", "x")
		}
		return req, err
	})
}
