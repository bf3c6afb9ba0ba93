package mcpclient_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// stream begins a stream of events.
func stream(w http.ResponseWriter, events string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, events)
	w.(http.Flusher).Flush()
}

// A call whose response has come on another stream ends, whatever becomes of its own.
func TestAnsweredElsewhere(t *testing.T) {
	for name, begin := range map[string]func(*exchange){
		"nothing": func(*exchange) {},
		"stream":  func(x *exchange) { stream(x.w, ": \n\n") },
		"JSON": func(x *exchange) {
			x.w.Header().Set("Content-Type", "application/json")
			x.w.Header().Set("Content-Length", "100")
			io.WriteString(x.w, "{")
			x.w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network, response := peer.NewNetwork(), make(chan string)
				o := newOddOn(t, network, func(x *exchange) bool {
					if x.Method != wire.MethodToolsCall {
						return false
					}
					begin(x)
					response <- `{"jsonrpc":"2.0","id":` + string(x.ID) + `,"result":{"content":[],"tool":"ok"}}`
					<-x.ctx.Done()
					return true
				})
				o.get = func(w http.ResponseWriter, r *http.Request) {
					stream(w, "")
					for {
						select {
						case answer := <-response:
							stream(w, "data: "+answer+"\n\n")
						case <-r.Context().Done():
							return
						}
					}
				}
				c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Timeout: 3 * time.Second})
				begun := time.Now()
				c.works("ok")
				if took := time.Since(begun); took > 5*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
