package e2etest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// All progress of many parallel calls arrives, however fast it is sent: in order, before the
// response, with the token of its call and, over HTTP, on the stream of that call.
func TestProgressStorm(t *testing.T) {
	for _, down := range callerCarriers {
		for _, clientEra := range []string{"legacy", "modern"} {
			for _, up := range upCarriers {
				for _, era := range []string{"legacy", "modern"} {
					t.Run(fmt.Sprintf("%s-%s/%s-%s", down.name, clientEra, up.name, era), func(t *testing.T) {
						if up.name != down.name {
							sourcetest.Long(t)
						}
						sourcetest.NoLeaks(t)
						cfg := up.config(t, newScript(era).Server)
						cfg.Sharing = mcpclient.Shared
						f := newFront(t, bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, cfg)}))
						newCaller(t, f, down.dial, clientEra == "modern", `{}`).storm(100, 100)
					})
				}
			}
		}
	}
}

// storm makes parallel calls, each of which sends notes notifications of progress.
func (c *caller) storm(calls, notes int) {
	got := map[string]int{} // by the id of the call, which is in its token
	for range calls {
		next := fmt.Sprint(c.last + 1)
		got[c.request("tools/call", fmt.Sprintf(`"name":"progress","arguments":{"n":%d,"tag":"call %s"}`, notes, next), `"progressToken":"token `+next+`"`)] = 0
	}
	ended := 0
	defer func() {
		if c.Failed() {
			c.Logf("%d calls have ended; notifications of each: %v", ended, got)
		}
	}()
	for ended < calls {
		m := c.next("what belongs to a call", func(*received) bool { return true })
		if m.Kind() == wire.Response {
			id := string(m.ID)
			if m.Error != nil || got[id] != notes {
				c.Errorf("call %s has ended after %d notifications: %.200s", id, got[id], m.Raw)
			}
			ended++
			continue
		}
		var params struct {
			ProgressToken, Message string
			Progress               int
		}
		if err := json.Unmarshal(m.Params.Raw, &params); err != nil {
			c.Fatalf("%s: %v", m.Raw, err)
		}
		id, _ := strings.CutPrefix(params.ProgressToken, "token ")
		if params.Message != "call "+id || params.Progress != got[id] || m.stream != "" && m.stream != id {
			c.Fatalf("number %d of call %s on the stream %q: %s", got[id], id, m.stream, m.Raw)
		}
		got[id]++
	}
}
