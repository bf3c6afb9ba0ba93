package mcpclient_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// questions are what the tools of samplingChild ask.
var questions = map[string][]string{"sample": {wire.MethodCreateMessage}, "both": {wire.MethodCreateMessage, wire.MethodElicit}, "elicit": {wire.MethodElicit}}

// samplingChild is a server on stdio whose tools ask something, in the era of eraFile, and
// answer with what they were told.
func samplingChild() {
	era, err := os.ReadFile(eraFile)
	if err != nil {
		os.Exit(1)
	}
	s := samplingServer{legacy: string(era) != "modern", modern: string(era) != "legacy"}
	lines := wire.NewLineReader(os.Stdin, 1<<20)
	for {
		b, err := lines.Read()
		if err != nil {
			return
		}
		m, _ := wire.Split(b.B)
		s.take(&m)
	}
}

type samplingServer struct {
	legacy, modern bool
	call           string   // the id of the call that waits
	told           []string // the answers, by the number of the question
	waits          int      // for so many answers
}

func (s *samplingServer) take(m *wire.Message) {
	if m.Kind() == wire.Response {
		s.told[m.ID[2]-'0'] = string(m.Result) + string(wire.Lookup(m.Error, "message"))
		if s.waits--; s.waits == 0 {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"told":[%s]}}`+"\n", s.call, strings.Join(s.told, ","))
		}
		return
	}
	if m.Kind() != wire.Request {
		return
	}
	isModern := m.Params.Get(wire.MetaClientCapabilities) != nil
	answer := `"error":{"code":-32601,"message":"method not found"}`
	switch {
	case m.Method == wire.MethodInitialize && s.legacy:
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{}}`
	case m.Method == wire.MethodDiscover && s.modern:
		answer = `"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case isModern && !s.modern || !isModern && !s.legacy:
	case m.Method == wire.MethodToolsList:
		answer = `"result":{"tools":[{"name":"sample"},{"name":"both"},{"name":"elicit"}]}`
	case m.Method == wire.MethodToolsCall && isModern:
		answer = `"result":` + s.round(m)
	case m.Method == wire.MethodToolsCall:
		s.call, s.waits = string(m.ID), len(questions[toolOf(m)])
		s.told = make([]string, s.waits)
		for i, method := range questions[toolOf(m)] {
			fmt.Printf(`{"jsonrpc":"2.0","id":"q%d","method":%q,"params":{"n":%d}}`+"\n", i, method, i)
		}
		return
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
}

// round is the result of a call of the modern era.
func (s *samplingServer) round(m *wire.Message) string {
	answers := m.Params.Get(wire.InputResponses)
	var told, asked []string
	for i, method := range questions[toolOf(m)] {
		key := fmt.Sprint("q", i)
		if answer := wire.Lookup(answers, key); answer != nil {
			told = append(told, string(answer))
		} else {
			asked = append(asked, fmt.Sprintf(`%q:{"method":%q,"params":{"n":%d}}`, key, method, i))
		}
	}
	if asked == nil {
		return `{"resultType":"complete","told":[` + strings.Join(told, ",") + `]}`
	}
	return `{"resultType":"input_required","requestState":"s","inputRequests":{` + strings.Join(asked, ",") + `}}`
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
