package mcpclient_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Of several questions none is put when one of them cannot be: the call fails at once.
func TestQuestionsRefusedWhole(t *testing.T) {
	many := strings.Repeat(`,"k%d":{"method":"elicitation/create","params":{"message":"x"}}`, 1000)
	numbers := make([]any, 1000)
	for i := range numbers {
		numbers[i] = i
	}
	for _, one := range []struct{ name, questions, want string }{
		{"one that the client cannot answer", `"a":{"method":"elicitation/create","params":{"message":"x"}},"b":{"method":"sampling/createMessage","params":{}}`, "which the client cannot do"},
		{"too many", fmt.Sprintf(many, numbers...)[1:], "1000 questions at once"},
	} {
		t.Run(one.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := peer.NewNetwork()
				o := newOddOn(t, network, func(x *exchange) bool {
					if x.Method == wire.MethodToolsCall {
						x.result(`"resultType":"input_required","inputRequests":{` + one.questions + `}`)
					}
					return x.Method == wire.MethodToolsCall
				})
				put := make(chan struct{}, 1000)
				c := askingOn(t, network, mcpclient.Config{URL: o.URL, Era: mcpclient.Modern}, `{"elicitation":{}}`, func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
					put <- struct{}{}
					return nil, toolformat.Errorf(toolformat.Unavailable, "no")
				})
				c.fails(c.call("x"), toolformat.Unavailable, one.want)
				synctest.Wait()
				if len(put) > 0 {
					t.Error("a question was put")
				}
			})
		})
	}
}

// A person who does not answer keeps a call no longer than anything else may.
func TestQuestionsUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Method == wire.MethodToolsCall {
				x.result(`"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}`)
			}
			return x.Method == wire.MethodToolsCall
		})
		c := askingOn(t, network, mcpclient.Config{URL: o.URL, Era: mcpclient.Modern, Timeout: 50 * time.Millisecond, MaxTimeout: 100 * time.Millisecond}, `{"elicitation":{}}`,
			func(ctx context.Context, _ string, _ []byte) ([]byte, *toolformat.Error) {
				<-ctx.Done()
				return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
			})
		c.fails(c.call("x"), toolformat.Timeout, "maxTimeout")
	})
}

// The time for which a person is asked counts neither towards a call's timeout nor towards
// its maximum; the time before and after it does.
func TestAskedTimeDoesNotCount(t *testing.T) {
	const (
		thinks = 2 * time.Second        // the person, each time
		works  = 300 * time.Millisecond // the server, before each question
	)
	synctest.Test(t, func(t *testing.T) {
		network, heard := peer.NewNetwork(), make(chan struct{})
		o := newOddOn(t, network, func(x *exchange) bool {
			switch {
			case x.Kind() == wire.Response:
				heard <- struct{}{}
				x.w.WriteHeader(http.StatusAccepted)
			case x.Method == wire.MethodToolsCall:
				for i := range 3 {
					time.Sleep(works)
					x.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{}}`, i))
					<-heard
				}
				if toolOf(&x.Message) == "answers" {
					x.result(`"content":[]`)
				} else {
					<-x.ctx.Done()
				}
			default:
				return false
			}
			return true
		})
		c := askingOn(t, network, mcpclient.Config{URL: o.URL, Timeout: time.Second, MaxTimeout: 3 * time.Second}, `{"elicitation":{}}`,
			func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
				time.Sleep(thinks)
				return []byte(`{"action":"accept"}`), nil
			})
		if r := c.call("answers"); r.Err != nil {
			t.Errorf("a call that asked for %s: %v", 3*thinks, r.Err)
		}
		begun := time.Now()
		c.fails(c.call("hangs"), toolformat.Timeout, "took longer than 1s (timeout in its config)")
		if took := time.Since(begun) - 3*thinks; took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("a call that asked and hung ended after %s beside that, want 1s", took)
		}
	})
}

// Answers to as many questions as a server may ask at once all reach it.
func TestAnswersSideBySide(t *testing.T) {
	const n = 40
	var heard atomic.Int64
	all := make(chan struct{})
	o := newOdd(t, func(x *exchange) bool {
		switch {
		case x.Kind() == wire.Response:
			if heard.Add(1) == n {
				close(all)
			}
			select { // a server that is slow to take them
			case <-all:
			case <-x.ctx.Done():
			}
			x.w.WriteHeader(http.StatusAccepted)
		case x.Method == wire.MethodToolsCall:
			for i := range n {
				x.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i))
			}
			select {
			case <-all:
				x.result(`"content":[]`)
			case <-x.ctx.Done():
			}
		default:
			return false
		}
		return true
	})
	c := asking(t, mcpclient.Config{URL: o.URL, Timeout: 4 * time.Second}, `{"roots":{}}`, func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
		return []byte(`{"roots":[]}`), nil
	})
	if r := c.call("x"); r.Err != nil {
		t.Errorf("%v; %d of %d answers came", r.Err, heard.Load(), n)
	}
}

// An answer reaches a server that takes a while for it, as do that to a ping and a refusal.
func TestAnswerToSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, heard := peer.NewNetwork(), make(chan struct{}, 3)
		o := newOddOn(t, network, func(x *exchange) bool {
			switch {
			case x.Kind() == wire.Response:
				time.Sleep(10 * time.Second)
				if x.ctx.Err() == nil { // else it is lost, as with servers that see first that their client has gone
					heard <- struct{}{}
				}
				x.w.WriteHeader(http.StatusAccepted)
			case x.Method == wire.MethodToolsCall:
				for id, method := range []string{wire.MethodElicit, wire.MethodPing, wire.MethodRootsList} {
					x.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{}}`, id, method))
				}
				for range 3 {
					select {
					case <-heard:
					case <-x.ctx.Done():
						return true
					}
				}
				x.result(`"content":[]`)
			default:
				return false
			}
			return true
		})
		c := askingOn(t, network, mcpclient.Config{URL: o.URL, Timeout: 30 * time.Second}, `{"elicitation":{}}`, func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
			return []byte(`{"action":"accept"}`), nil
		})
		if r := c.call("x"); r.Err != nil {
			t.Error(r.Err)
		}
	})
}

// What a call asks that goes on when its connection is lost is answered, before and after that.
func TestQuestionsOutliveConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		put, lost, heard := make(chan struct{}, 2), make(chan struct{}), make(chan struct{}, 100)
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Kind() == wire.Response {
				heard <- struct{}{}
			}
			if x.Method != wire.MethodToolsCall || toolOf(&x.Message) != "asks" {
				return false
			}
			x.say(`{"jsonrpc":"2.0","id":"before","method":"elicitation/create","params":{}}`)
			<-lost
			x.say(`{"jsonrpc":"2.0","id":"after","method":"elicitation/create","params":{}}`)
			for i := range 20 {
				x.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
				select {
				case <-heard:
				case <-x.ctx.Done():
					return true
				}
			}
			for range 2 {
				select {
				case <-heard:
				case <-x.ctx.Done():
					return true
				}
			}
			x.result(`"content":[]`)
			return true
		})
		c, down := openFailing(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		var err error
		c.session, err = c.client.Open(t.Context(), &bridge.Caller{ID: "asked", Capabilities: []byte(`{"elicitation":{}}`), Ask: func(ctx context.Context, _ string, _ []byte) ([]byte, *toolformat.Error) {
			put <- struct{}{}
			select {
			case <-lost:
				return []byte(`{"action":"accept"}`), nil
			case <-ctx.Done():
				return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		c.works("ok")
		time.Sleep(time.Minute) // idle connections end
		reply := make(chan bridge.Reply)
		go func() { reply <- c.call("asks") }()
		<-put
		down.Store(1)
		c.works("ok")
		close(lost)
		if r := <-reply; r.Err != nil {
			t.Error(r.Err)
		}
	})
}

// A server that accepts no answers does not have the bridge keep its questions meanwhile.
func TestQuestionsWithoutTheirAnswers(t *testing.T) {
	const questions, size = 40, 2 << 20
	answers := make(chan struct{}, questions)
	measure := func() uint64 {
		var m runtime.MemStats
		for range 2 { // what is pooled goes with the second
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before, after uint64
	o := newOdd(t, func(x *exchange) bool {
		switch {
		case x.Kind() == wire.Response:
			answers <- struct{}{}
			<-x.ctx.Done()
		case x.Method == wire.MethodToolsCall:
			before = measure()
			long := strings.Repeat("x", size)
			for i := range questions {
				x.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"message":"%s"}}`, i, long))
				<-answers
			}
			after = measure()
			x.result(`"content":[]`)
		default:
			return false
		}
		return true
	})
	c := asking(t, mcpclient.Config{URL: o.URL}, `{"elicitation":{}}`, func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
		return []byte(`{"action":"accept"}`), nil
	})
	if r := c.call("x"); r.Err != nil {
		t.Fatal(r.Err)
	}
	if after > before+questions*size/2 {
		t.Errorf("%d MiB are kept of %d", (after-before)>>20, questions*size>>20)
	}
	c.client.Close()
}

// A question ends with the call that it belongs to, whether or not the server says so.
func TestQuestionEndsWithItsCall(t *testing.T) {
	o := newOdd(t, func(x *exchange) bool {
		if x.Method == wire.MethodToolsCall {
			x.say(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`)
			<-x.ctx.Done()
		}
		return x.Method == wire.MethodToolsCall
	})
	begun, ended := make(chan struct{}), make(chan struct{})
	c := asking(t, mcpclient.Config{URL: o.URL}, `{"elicitation":{}}`, func(ctx context.Context, _ string, _ []byte) ([]byte, *toolformat.Error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	c.fails(c.do(ctx, "x", "{}"), toolformat.Canceled, "")
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the question has no end")
	}
}
