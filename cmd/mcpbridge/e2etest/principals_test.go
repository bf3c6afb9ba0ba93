package e2etest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// newGuarded is a server of a source to ann and bob, who show a token each: their name.
func newGuarded(t testing.TB, source bridge.Source) *front {
	f := &front{Server: mcpserver.New(source, mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "ann", "bob": "bob"}}})}
	f.web = httptest.NewServer(f.Handler())
	t.Cleanup(func() {
		f.Close()
		f.web.Close()
	})
	return f
}

// byWS is a client over WebSocket with a token.
func byWS(token string) func(testing.TB, *front, *peer) {
	return func(t testing.TB, f *front, c *peer) {
		connectWS(t, f, c, http.Header{"Authorization": {"Bearer " + token}})
	}
}

// byHTTP is a client of the modern era over HTTP with a token.
func byHTTP(token string) func(testing.TB, *front, *peer) {
	return func(t testing.TB, f *front, c *peer) {
		overHTTP(t, f, c)
		send := c.send
		c.send = func(id string, msg []byte, headers http.Header) {
			headers = headers.Clone()
			if headers == nil {
				headers = http.Header{}
			}
			headers.Set("Authorization", "Bearer "+token)
			send(id, msg, headers)
		}
	}
}

// principalCarriers are the ways of a client with a token, and whether it is of the
// modern era.
var principalCarriers = []struct {
	name   string
	modern bool
	dial   func(token string) func(testing.TB, *front, *peer)
}{
	{"ws-legacy", false, byWS}, {"ws-modern", true, byWS}, {"http-modern", true, byHTTP},
}
