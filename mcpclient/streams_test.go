package mcpclient_test

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// A server may end the stream of a call again and again, for its client to come back for the rest (SEP-1699), and may
// be away for a moment then.
func TestStreamPolled(t *testing.T) {
	for _, status := range []int{0, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			network := peer.NewNetwork()
			var id atomic.Value
			var gets atomic.Int64
			o := newOddOn(t, network, func(x *exchange) bool {
				if x.Method != wire.MethodToolsCall {
					return false
				}
				id.Store(string(x.ID))
				stream(x.w, "id: 0\nretry: 100\ndata:\n\n")
				return true
			})
			o.get = func(w http.ResponseWriter, r *http.Request) {
				last := r.Header.Get(mcp.HeaderLastEventID)
				if last == "" {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				if n := gets.Add(1); status != 0 && n%2 == 1 {
					w.WriteHeader(status)
					return
				}
				n, _ := strconv.Atoi(last)
				if n < 10 {
					stream(w, "id: "+strconv.Itoa(n+1)+"\ndata:\n\n")
					return
				}
				stream(w, "data: "+`{"jsonrpc":"2.0","id":`+id.Load().(string)+`,"result":{"content":[],"tool":"ok"}}`+"\n\n")
			}
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
			c.works("ok")
		})
	}
}

// A stream that the server has offered is asked for again where it is refused: the server may not know yet that the last
// one is lost, or not have the events after the last any more.
func TestStreamRefusedAfterAnother(t *testing.T) {
	for _, status := range []int{http.StatusConflict, http.StatusBadRequest, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			network := peer.NewNetwork()
			o := newOddOn(t, network, nil)
			var n atomic.Int64
			again := make(chan struct{})
			o.get = func(w http.ResponseWriter, r *http.Request) {
				switch n.Add(1) {
				case 1:
					stream(w, "id: 1\ndata:\n\n")
				case 2:
					w.WriteHeader(status)
				case 3:
					stream(w, "")
					close(again)
					<-r.Context().Done()
				}
			}
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
			c.works("ok")
			select {
			case <-again:
			case <-time.After(patience):
				t.Errorf("after HTTP %d it is not asked for again", status)
			}
		})
	}
}

// A server that has no stream may say so with 404, as a router does: the session goes on.
func TestNoStreamAt404(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Method == wire.MethodPing {
				x.result("")
			}
			return x.Method == wire.MethodPing
		})
		o.get = func(w http.ResponseWriter, r *http.Request) { http.Error(w, "Cannot GET /mcp", http.StatusNotFound) }
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		time.Sleep(time.Minute)
		c.works("ok")
		if n := len(o.greeted); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

// A notification needs no answer: the end of a stream with which a server answers one is not awaited.
func TestNotificationAnsweredWithStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Kind() == wire.Notification {
				stream(x.w, ": \n\n")
				<-x.ctx.Done()
			}
			return x.Kind() == wire.Notification
		})
		begun := time.Now()
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %s to connect", took)
		}
	})
}
