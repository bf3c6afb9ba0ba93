package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// calls starts so many calls and returns where the replies come.
func calls(s bridge.Session, name string, n int) <-chan bridge.Reply {
	replies := make(chan bridge.Reply, n)
	for range n {
		go func() { replies <- call(context.Background(), s, name, `{}`, nil) }()
	}
	return replies
}

// A limit holds for what runs; what is beyond it waits, and what is beyond that is refused.
func TestNativeConcurrency(t *testing.T) {
	for _, c := range []struct {
		name    string
		opts    bridge.NativeOptions
		limit   int // of the tool
		subject string
	}{
		{"of a tool", bridge.NativeOptions{Queue: 3}, 2, "tool slow is"},
		{"of all", bridge.NativeOptions{Queue: 3, Concurrency: 2}, 0, "the native tools are"},
		{"of both", bridge.NativeOptions{Queue: 3, Concurrency: 2}, 3, "the native tools are"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int32
				release := make(chan struct{})
				slow := tool("slow", func(ctx context.Context) (*toolformat.Result, error) {
					running.Add(1)
					select {
					case <-release:
					case <-ctx.Done():
					}
					return nil, ctx.Err()
				})
				slow.Concurrency, slow.Timeout = c.limit, time.Minute
				n, s := open(t, c.opts, slow)
				defer n.Close()
				replies := calls(s, "slow", 2)
				synctest.Wait()
				waiting := calls(s, "slow", 3)
				synctest.Wait()
				if n := running.Load(); n != 2 {
					t.Fatalf("%d calls run", n)
				}
				if c.limit < 3 {
					wantError(t, call(t.Context(), s, "slow", `{}`, nil), toolformat.Unavailable, c.subject+" busy: 2 calls are under way and 3 wait already; try again later")
				}
				for range 2 {
					release <- struct{}{}
				}
				for range 2 {
					wantResult(t, <-replies, `{"content":[]}`)
				}
				synctest.Wait()
				if n := running.Load(); n != 4 {
					t.Fatalf("%d calls have begun after two have ended", n)
				}
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				wantError(t, call(ctx, s, "slow", `{}`, nil), toolformat.Canceled, "canceled")
				if took := time.Since(begun); took != time.Second {
					t.Errorf("a cancelled call waited %s", took)
				}
				for range 3 {
					release <- struct{}{}
				}
				for range 3 {
					wantResult(t, <-waiting, `{"content":[]}`)
				}
			})
		})
	}
}

// A call waits as long as its tool may take, and no longer than its session lives. A
// function that does not return keeps its place.
func TestNativeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := tool("stuck", func(context.Context) (*toolformat.Result, error) {
			<-release
			return nil, nil
		})
		stuck.Concurrency, stuck.Timeout = 1, 5*time.Second
		n, s := open(t, bridge.NativeOptions{}, stuck, tool("other", func(context.Context) (*toolformat.Result, error) { return nil, nil }))
		wantError(t, call(t.Context(), s, "stuck", `{}`, nil), toolformat.Timeout, "tool stuck timed out: no result or progress for 5s")
		begun := time.Now()
		wantError(t, call(t.Context(), s, "stuck", `{}`, nil), toolformat.Unavailable, "tool stuck is busy: 1 calls have been under way for 5s; try again later")
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it waited %s", took)
		}
		wantResult(t, call(t.Context(), s, "other", `{}`, nil), `{"content":[]}`)
		waiting := calls(s, "stuck", 1)
		synctest.Wait()
		s.Close()
		wantError(t, <-waiting, toolformat.Canceled, "canceled")
		close(release)
		synctest.Wait()
		again, err := n.Open(t.Context(), &bridge.Caller{ID: "again"})
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, call(t.Context(), again, "stuck", `{}`, nil), `{"content":[]}`)
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What a tool returns is held against its output schema, and against what a caller takes.
func TestNativeResults(t *testing.T) {
	const schema = `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"integer"}}},"required":["rows"]}`
	image := `{"content":[{"type":"image","data":"` + strings.Repeat("A", 1000) + `","mimeType":"image/png"}]}`
	structured := func(value string) string { return `{"content":[],"structuredContent":` + value + `}` }
	for _, c := range []struct {
		name, schema, result, want string // want "": as it is
		max                        int
	}{
		{"fits", schema, structured(`{"rows":[1,2]}`), "", 0},
		{"of the wrong type", schema, structured(`{"rows":["1"]}`), `{"content":[{"type":"text","text":"the result of tool t does not fit its output schema: /rows/0: expected integer, got string \"1\""}],"isError":true}`, 0},
		{"none", schema, `{"content":[{"type":"text","text":"1"}]}`, `{"content":[{"type":"text","text":"the result of tool t does not fit its output schema: missing, and the tool has an output schema"}],"isError":true}`, 0},
		{"nothing at all", schema, ``, `{"content":[{"type":"text","text":"the result of tool t does not fit its output schema: missing, and the tool has an output schema"}],"isError":true}`, 0},
		{"a failure", schema, `{"content":[{"type":"text","text":"1"}],"isError":true}`, "", 0},
		{"long", "", `{"content":[{"type":"text","text":"abcdefghijklmnopqrstuvwxyz"}]}`, `{"content":[{"type":"text","text":"abcdefghijklmnopqrst... [output truncated]"}]}`, 20},
		{"long, and with a schema", schema, structured(`{"rows":[1,2,3,4,5,6,7,8,9,10]}`), `{"content":[{"type":"text","text":"the result of tool t has more than 20 characters of text, and cannot be cut as it has an output schema: ask for less"}],"isError":true}`, 20},
		{"a long failure", schema, `{"content":[{"type":"text","text":"abcdefghijklmnopqrstuvwxyz"}],"isError":true}`, `{"content":[{"type":"text","text":"abcdefghijklmnopqrst... [output truncated]"}],"isError":true}`, 20},
		{"an image", "", image, "", 200},
		{"a large image", "", image, `{"content":[{"type":"text","text":"the result of tool t has 1063 bytes, and 800 is the most: ask for less"}],"isError":true}`, 100},
		{"an error of Go", "", "error", `{"content":[{"type":"text","text":"abcdefghijklmnopqrst... [output truncated]"}],"isError":true}`, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := bridge.Tool{Tool: toolformat.Tool{Name: "t"}, Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
				if c.result == "error" {
					return nil, textError("abcdefghijklmnopqrstuvwxyz")
				}
				return &toolformat.Result{JSON: json.RawMessage(c.result)}, nil
			}}
			if c.schema != "" {
				one.OutputSchema = json.RawMessage(c.schema)
			}
			n, s := open(t, bridge.NativeOptions{MaxResult: c.max}, one)
			defer n.Close()
			want := c.want
			if want == "" {
				want = c.result
			}
			wantResult(t, call(t.Context(), s, "t", `{}`, nil), want)
		})
	}
}

type textError string

func (e textError) Error() string { return string(e) }

// The calls of a tool that is replaced count towards the limit of the one in its place, which may be
// another one.
func TestNativeReplaceLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		release := make(chan struct{})
		slow := func(limit int) bridge.Tool {
			slow := tool("slow", func(context.Context) (*toolformat.Result, error) {
				running.Add(1)
				defer running.Add(-1)
				<-release
				return nil, nil
			})
			slow.Concurrency, slow.Timeout = limit, time.Minute
			return slow
		}
		n, s := open(t, bridge.NativeOptions{}, slow(2))
		defer n.Close()
		var all []<-chan bridge.Reply
		for _, c := range []struct{ limit, more, want int }{{2, 3, 2}, {2, 1, 2}, {3, 1, 3}, {1, 1, 3}} {
			if err := n.Replace(slow(c.limit)); err != nil {
				t.Fatal(err)
			}
			for range c.more {
				all = append(all, calls(s, "slow", 1))
				synctest.Wait()
			}
			if n := int(running.Load()); n != c.want {
				t.Errorf("%d calls run where %d may, expected %d", n, c.limit, c.want)
			}
		}
		for _, want := range []int32{2, 1, 1, 1, 1, 0} {
			release <- struct{}{}
			synctest.Wait()
			if n := running.Load(); n != want {
				t.Errorf("%d calls run, expected %d", n, want)
			}
		}
		for _, reply := range all {
			wantResult(t, <-reply, `{"content":[]}`)
		}
	})
}
