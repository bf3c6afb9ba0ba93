package graphql

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// BenchmarkCall compares a call of a GraphQL tool with the same request of a bare http.Client.
func BenchmarkCall(b *testing.B) {
	const query = "query Orders($id: ID!, $limit: Int = 10) { orders(id: $id, limit: $limit) { id total items { name } } }"
	sourcetest.CompareHTTP(b, func(b *testing.B, url string) bridge.Tool {
		return newTool(b, openAPI(b, url, `{"url":"URL","auth":"x"}`), Spec{Query: query})
	}, `{"data":{"orders":%s}}`, `{"id":"a b","limit":10}`, func(ctx context.Context, url string) (*http.Request, error) {
		body := `{"query":"` + query + `","operationName":"Orders","variables":{"id":"a b","limit":10}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err == nil {
			req.Header.Set("Authorization", "x")
			req.Header.Set("Content-Type", "application/json")
		}
		return req, err
	})
}
