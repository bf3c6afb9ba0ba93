package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// TestWrongAnswers: an answer of a lender that cannot be used ends its call at once, with the reason.
func TestWrongAnswers(t *testing.T) {
	for _, era := range []string{modern, legacy} {
		t.Run(era, func(t *testing.T) {
			h := newLender(t, web.Limits{Timeout: time.Hour}, mcpserver.Options{MessageBytes: 100 << 10})
			lender, caller := newPeer(t, h.Server, era, ""), newPeer(t, h.Server, era, "")
			members := ""
			lender.serve = func(m frame) {
				lender.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + members + `}`)
			}
			lender.lend(define("odd", ""))
			for _, c := range []struct{ members, want string }{
				{`,"error":5`, `the client sent an answer that is not valid: invalid message: "error" must be an object`},
				{`,"error":null`, "the client sent an answer that is not valid"},
				{``, "the client sent an answer that is not valid"},
				{`,"error":{}`, "has failed, and does not say why"},
				{`,"result":5`, "invalid result: expected an object"},
				{`,"result":null`, "invalid result: expected an object"},
				{`,"result":{"content":5}`, "invalid result: content: expected an array"},
				{`,"result":"` + strings.Repeat("x", 200<<10) + `"`, "tool odd: the client has gone: the message is too large: it is unknown whether the call ran"},
			} {
				members = c.members
				got := caller.request("tools/call", `{"name":"odd"}`)
				answer := string(got.Result)
				if got.Error != nil {
					answer = got.Error.Message
				}
				if !strings.Contains(answer, c.want) {
					t.Errorf("%.40s: %s, want %q", c.members, answer, c.want)
				}
			}
		})
	}
}
