package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// TestLimits: what exceeds a limit is refused with its name.
func TestLimits(t *testing.T) {
	limits := web.Limits{Clients: 2, Tools: 3, ClientTools: 2, ClientBytes: 400, ToolBytes: 300, Calls: 1, Queue: 1, Timeout: time.Minute}
	for _, era := range []string{modern, legacy} {
		t.Run(era, func(t *testing.T) {
			h := newLender(t, limits, mcpserver.Options{})
			one, two, three := newPeer(t, h.Server, era, ""), newPeer(t, h.Server, era, ""), newPeer(t, h.Server, era, "")
			refused := func(p *peer, want string, definitions ...string) {
				t.Helper()
				got := p.lend(definitions...)
				if want == "" && !strings.Contains(got, `"refused":[]`) || !strings.Contains(got, want) {
					t.Errorf("lend: %s, want %q", got, want)
				}
			}
			long := define("long", `,"title":"`+strings.Repeat("x", 250)+`"`)
			refused(one, "", define("a", ""), define("b", ""))
			refused(one, "its definition has more than 300 bytes (lending.toolBytes", define("a", ""), long)
			refused(one, "the tools of a client have at most 400 bytes (lending.clientBytes", long[:280]+`"}`, define("a", `,"title":"`+strings.Repeat("x", 100)+`"`))
			refused(one, `{"name":"c","reason":"a client lends at most 2 tools (lending.clientTools`, define("a", ""), define("b", ""), define("c", ""))
			refused(two, `{"name":"d","reason":"the clients of one principal lend at most 3 tools (lending.tools`, define("c", ""), define("d", ""))
			refused(two, "", define("c", ""), define("a", ""))
			if m := three.request("mcpbridge/lend", `{"tools":[`+define("a", "")+`]}`); m.Error == nil || !strings.Contains(m.Error.Message, "2 clients of one principal lend tools already (lending.clients") {
				t.Errorf("a third client: %s %v", m.Result, m.Error)
			}
			many := strings.TrimSuffix(strings.Repeat(define("a", "")+",", 9), ",")
			if m := one.request("mcpbridge/lend", `{"tools":[`+many+`]}`); m.Error == nil || !strings.Contains(m.Error.Message, "9 tools: a client lends at most 2 (lending.clientTools") {
				t.Errorf("nine tools: %s %v", m.Result, m.Error)
			}

			// One call runs, one waits, others fail.
			running := make(chan frame, 3)
			one.serve = func(m frame) { running <- m }
			first := three.begin("tools/call", `{"name":"b"}`)
			m := <-running
			second := three.begin("tools/call", `{"name":"b"}`)
			third := three.begin("tools/call", `{"name":"b"}`)
			var failed frame
			select { // which of them waits is a matter of chance
			case failed = <-second:
				second = third
			case failed = <-third:
			}
			if want := "the client that carries it out is busy: 1 calls are under way and 1 wait already"; failed.Error == nil || !strings.Contains(failed.Error.Message, want) {
				t.Errorf("beyond the queue: %s %v", failed.Result, failed.Error)
			}
			for i, call := range []<-chan frame{first, second} {
				result := fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, i)
				one.answer(m, result)
				if got := <-call; !strings.Contains(string(got.Result), result[1:len(result)-1]) {
					t.Errorf("call %d: %s %v", i, got.Result, got.Error)
				}
				if i == 0 {
					m = <-running
				}
			}
		})
	}
}
