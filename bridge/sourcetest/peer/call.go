package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Call is a message that a Server was sent.
type Call struct {
	wire.Message
	Modern bool
	Header http.Header     // of HTTP
	Ctx    context.Context // ends when the call is canceled or its connection has ended
	Say    func(string)    // sends messages, a line each, on the stream of the call
	Drop   func()          // ends the connection, or the response of streamable HTTP

	server   *Server
	answered bool
}

// Reply answers a request with a result. members are those of the result.
func (c *Call) Reply(members string) {
	if c.Modern && !strings.Contains(members, `"resultType"`) {
		members = strings.TrimSuffix(`"resultType":"complete",`+members, ",")
	}
	c.answer(`"result":{` + members + `}`)
}

// Fail answers a request with an error. more are members of the error, after a comma.
func (c *Call) Fail(code int, message, more string) {
	text, _ := json.Marshal(message)
	c.answer(fmt.Sprintf(`"error":{"code":%d,"message":%s%s}`, code, text, more))
}

func (c *Call) answer(member string) {
	c.answered = true
	c.Say(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,` + member + `}`)
}

// A Question is a request that a server sends to its client.
type Question struct{ Method, Params string }

// Ask sends questions together and returns the raw results or errors, or nil when the call
// has ended.
func (c *Call) Ask(questions ...Question) []string {
	var messages []string
	waiting := make([]chan string, len(questions))
	c.server.Update(func() {
		for i, q := range questions {
			id := fmt.Sprintf(`"q%d"`, c.server.next())
			waiting[i] = make(chan string, 1)
			c.server.asked[id] = waiting[i]
			messages = append(messages, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+q.Method+`","params":`+q.Params+`}`)
		}
	})
	c.Say(strings.Join(messages, "\n"))
	answers := make([]string, len(questions))
	for i := range waiting {
		select {
		case answers[i] = <-waiting[i]:
		case <-c.Ctx.Done():
			return nil
		}
	}
	return answers
}

// Name returns the tool that is called.
func (c *Call) Name() string { return c.text(wire.Name) }

// URI returns the resource that a request is about.
func (c *Call) URI() string { return c.text(wire.URI) }

func (c *Call) text(key wire.Key) string {
	text, _ := c.Params.Text(key)
	return text
}

// Argument returns an argument of a tool that is text, and "" when it is not.
func (c *Call) Argument(name string) string {
	text, _ := wire.Text(wire.Lookup(c.Params.Get(wire.Arguments), name))
	return text
}

// newCall splits a message that a client sent; the bridge sends none that is not valid.
func (s *Server) newCall(raw []byte, say func(string), drop func()) *Call {
	m, err := wire.Split(bytes.Clone(raw))
	if err != nil {
		panic(fmt.Sprintf("the client sent %s: %v", raw, err))
	}
	return &Call{Message: m, Modern: m.Params.Get(wire.MetaProtocolVersion) != nil, Say: say, Drop: drop, server: s}
}

// Members joins raw members of an object.
func Members(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}
