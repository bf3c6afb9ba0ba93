package e2etest

import (
	"context"
	"net/http"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// newGuarded is a front for ann and bob, whose tokens are their names.
func newGuarded(t testing.TB, source bridge.Source) *front {
	return newFrontWith(t, source, mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "ann", "bob": "bob"}}})
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// byWS is a client over WebSocket with a token.
func byWS(token string) dialer { return connectWS(bearer(token)) }

// byHTTP is a client over streamable HTTP with a token.
func byHTTP(token string) dialer {
	return func(_ testing.TB, f *front) *peer.Client {
		return peer.HTTP(context.Background(), f.web.URL+"/mcp", bearer(token))
	}
}

// principalCarriers are the carriers and eras of a client with a token.
var principalCarriers = []struct {
	name   string
	modern bool
	dial   func(token string) dialer
}{
	{"ws-legacy", false, byWS}, {"ws-modern", true, byWS}, {"http-modern", true, byHTTP},
}
