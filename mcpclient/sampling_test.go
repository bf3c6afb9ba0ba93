package mcpclient_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// questionsOf are the methods that the tools of the child in the mode sampling ask.
var questionsOf = map[string][]string{"sample": {wire.MethodCreateMessage}, "both": {wire.MethodCreateMessage, wire.MethodElicit}, "elicit": {wire.MethodElicit}}

// samplingTake answers a call with the answers to the questions of its tool.
func samplingTake(c *peer.Call) {
	if c.Method != wire.MethodToolsCall {
		c.Fail(wire.MethodNotFound, "method not found", "")
		return
	}
	var questions []peer.Question
	for i, method := range questionsOf[c.Name()] {
		questions = append(questions, peer.Question{Method: method, Params: fmt.Sprintf(`{"n":%d}`, i)})
	}
	if c.Modern {
		samplingRound(c, questions)
		return
	}
	var told []string
	for _, answer := range c.Ask(questions...) {
		if message := wire.Lookup([]byte(answer), "message"); message != nil { // an error
			answer = string(message)
		}
		told = append(told, answer)
	}
	c.Reply(`"told":[` + strings.Join(told, ",") + `]`)
}

// samplingRound asks the questions of a call in its result, until all are answered.
func samplingRound(c *peer.Call, questions []peer.Question) {
	var told, asked []string
	for i, q := range questions {
		key := fmt.Sprint("q", i)
		if answer := wire.Lookup(c.Params.Get(wire.InputResponses), key); answer != nil {
			told = append(told, string(answer))
		} else {
			asked = append(asked, fmt.Sprintf(`%q:{"method":%q,"params":%s}`, key, q.Method, q.Params))
		}
	}
	if asked == nil {
		c.Reply(`"told":[` + strings.Join(told, ",") + `]`)
		return
	}
	c.Reply(`"resultType":"input_required","requestState":"s","inputRequests":{` + strings.Join(asked, ",") + `}`)
}

// Who answers a server that asks for a model: the caller along whose call it asks, else
// Sampling, whoever shares the link.
func TestSampling(t *testing.T) {
	const (
		bridged = `"bridge"`
		client  = `"client sampling/createMessage"`
		elicits = `"client elicitation/create"`
		passed  = "input_required"
		none    = "{}"
		elicit  = `{"elicitation":{}}`
		sample  = `{"sampling":{}}`
	)
	for _, c := range []struct {
		era, capabilities, tool string
		sharing                 mcpclient.Sharing
		legacy, modern          string // what callers of the eras get
	}{
		{"legacy", none, "sample", mcpclient.Shared, bridged, bridged},
		{"legacy", none, "sample", mcpclient.Session, bridged, bridged},
		{"legacy", sample, "sample", mcpclient.Shared, bridged, bridged}, // nobody could tell which client it asks
		{"legacy", sample, "sample", mcpclient.Session, client, client},
		{"legacy", elicit, "both", mcpclient.Session, bridged + "," + elicits, bridged + "," + elicits},
		{"modern", none, "sample", mcpclient.Shared, bridged, bridged},
		{"modern", sample, "sample", mcpclient.Shared, client, passed},
		{"modern", elicit, "both", mcpclient.Session, bridged + "," + elicits, bridged + "," + elicits},
		{"modern", elicit, "elicit", mcpclient.Shared, elicits, passed},
		{"dual", none, "sample", mcpclient.Shared, bridged, bridged},
		{"dual", sample, "sample", mcpclient.Session, client, passed},
	} {
		for _, modern := range []bool{false, true} {
			want := map[bool]string{false: c.legacy, true: c.modern}[modern]
			t.Run(fmt.Sprintf("%s server, %s, %s, modern caller %v, %s", c.era, c.sharing, c.capabilities, modern, c.tool), func(t *testing.T) {
				sourcetest.NoLeaks(t)
				cfg := child(t, "sampling")
				setEra(t, cfg, c.era)
				cfg.Name, cfg.Sharing = "up", c.sharing
				cfg.Sampling = func(_ context.Context, params []byte) ([]byte, *toolformat.Error) {
					if string(params) != `{"n":0}` {
						t.Errorf("asked with %s", params)
					}
					return []byte(`"bridge"`), nil
				}
				one := &caller{T: t, client: mcpclient.New(cfg)}
				t.Cleanup(func() { one.client.Close() })
				one = one.also(bridge.Caller{ID: "a", Capabilities: []byte(c.capabilities), Modern: modern, Ask: answered})
				params, err := wire.SplitParams([]byte(`{"name":"` + c.tool + `","arguments":{}}`))
				if err != nil {
					t.Fatal(err)
				}
				r := one.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: c.tool, Back: along{}})
				got, _ := wire.Text(wire.Lookup(r.Result, "resultType"))
				if told := wire.Lookup(r.Result, "told"); told != nil {
					got = strings.Trim(string(told), "[]")
				}
				if r.Err != nil || got != want {
					t.Errorf("got %s %v, want %s", r.Result, r.Err, want)
				}
			})
		}
	}
}

// answered is how a client answers.
func answered(_ context.Context, method string, _ []byte) ([]byte, *toolformat.Error) {
	return []byte(fmt.Sprintf("%q", "client "+method)), nil
}

// along is the way back of a call.
type along struct{}

func (along) Notify(string, []byte) {}
func (along) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	return answered(ctx, method, params)
}
