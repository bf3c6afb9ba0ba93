package looptest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/anthropic"
	"github.com/mcpbridge/mcpbridge/providers/gemini"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/prompted"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A longRun is a prompt in which the model of an API makes four calls in each of many rounds.
type longRun struct {
	name     string
	provider func(providers.Client) providers.Provider
	kind     string                 // the Content-Type of responses
	begin    string                 // of a response
	call     func(id, n int) string // one call, by its number
	end      string                 // of a response with calls
	answer   string                 // a response without calls
}

// toolCall is a call in the form of Chat Completions and Ollama, but for the arguments.
const toolCall = `{"id":"call_%d","index":%d,"type":"function","function":{"name":"tool_%d","arguments":%s}}`

var longRuns = []longRun{
	{
		name:     "anthropic",
		provider: func(c providers.Client) providers.Provider { return anthropic.New(anthropic.Options{Client: c}) },
		kind:     "text/event-stream",
		begin:    `data: {"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":9}}}` + "\n\n",
		call: func(id, n int) string {
			return fmt.Sprintf(`data: {"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"call_%d","name":"tool_%d","input":{"id":%d}}}`+"\n\n"+
				`data: {"type":"content_block_stop","index":%[1]d}`+"\n\n", n, id, n, id)
		},
		end:    `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
		answer: `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"done"}}` + "\n\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
	},
	{
		name:     "openai",
		provider: func(c providers.Client) providers.Provider { return openai.NewChat(openai.Options{Client: c}) },
		kind:     "text/event-stream",
		call: func(id, n int) string {
			return `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + fmt.Sprintf(toolCall, id, n, n, fmt.Sprintf(`"{\"id\":%d}"`, id)) + `]}}]}` + "\n\n"
		},
		end:    `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + "data: [DONE]\n\n",
		answer: `data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}` + "\n\n" + "data: [DONE]\n\n",
	},
	{
		name:     "openai-responses",
		provider: func(c providers.Client) providers.Provider { return openai.NewResponses(openai.Options{Client: c}) },
		kind:     "text/event-stream",
		call: func(id, n int) string {
			return fmt.Sprintf(`data: {"type":"response.output_item.done","output_index":%d,"item":{"type":"function_call","id":"fc_%[2]d","call_id":"call_%[2]d","name":"tool_%[1]d","arguments":"{\"id\":%[2]d}"}}`+"\n\n", n, id)
		},
		end:    `data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n",
		answer: `data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}` + "\n\n",
	},
	{
		name:     "gemini",
		provider: func(c providers.Client) providers.Provider { return gemini.New(gemini.Options{Client: c}) },
		kind:     "text/event-stream",
		call: func(id, n int) string {
			return fmt.Sprintf(`data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"tool_%d","id":"call_%d","args":{"id":%[2]d}}}]}}]}`+"\n\n", n, id)
		},
		end:    `data: {"candidates":[{"finishReason":"STOP"}]}` + "\n\n",
		answer: `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"done"}]}}]}` + "\n\n",
	},
	{
		name:     "ollama",
		provider: func(c providers.Client) providers.Provider { return ollama.New(ollama.Options{Client: c}) },
		kind:     "application/x-ndjson",
		call: func(id, n int) string {
			return `{"message":{"role":"assistant","tool_calls":[` + fmt.Sprintf(toolCall, id, n, n, fmt.Sprintf(`{"id":%d}`, id)) + `]}}` + "\n"
		},
		end:    `{"done":true,"done_reason":"stop"}` + "\n",
		answer: `{"message":{"role":"assistant","content":"done"}}` + "\n",
	},
	{
		name: "prompted",
		provider: func(c providers.Client) providers.Provider {
			return prompted.New(ollama.New(ollama.Options{Client: c}), prompted.Options{})
		},
		kind: "application/x-ndjson",
		call: func(id, n int) string {
			return fmt.Sprintf(`{"message":{"role":"assistant","content":"<tool_call>\n{\"name\":\"tool_%d\",\"arguments\":{\"id\":%d}}\n</tool_call>\n"}}`+"\n", n, id)
		},
		end:    `{"done":true,"done_reason":"stop"}` + "\n",
		answer: `{"message":{"role":"assistant","content":"done"}}` + "\n",
	},
}

// A paced is the server of a long run. It notes what it cost to come from each answer to the next
// request.
type paced struct {
	*longRun
	rounds int
	begun  time.Time
	took   []time.Duration
	keep   bool            // the body is kept, not discarded
	body   []byte          // of the latest request
	watch  func(round int) // unless nil, is called for each request
}

func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if !p.begun.IsZero() {
		p.took = append(p.took, time.Since(p.begun))
	}
	var body bytes.Buffer
	into := io.Discard
	if p.keep {
		into = &body
	}
	if _, err := io.Copy(into, r.Body); err != nil {
		return nil, err
	}
	if p.body = body.Bytes(); p.watch != nil {
		p.watch(len(p.took))
	}
	var b strings.Builder
	b.WriteString(p.begin)
	if len(p.took) < p.rounds {
		for n := range 4 {
			b.WriteString(p.call(4*len(p.took)+n, n))
		}
	} else {
		b.WriteString(p.answer)
	}
	b.WriteString(p.end)
	p.begun = time.Now()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {p.kind}}, Body: io.NopCloser(strings.NewReader(b.String())), Request: r}, nil
}

// exchange has the exchanges of the run with a client that does nothing else: it sends a body and reads the
// answers.
func (l *longRun) exchange(t testing.TB, rounds int) *paced {
	p := &paced{longRun: l, rounds: rounds}
	client := &http.Client{Transport: p}
	for range rounds + 1 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// serve returns the provider of the run at a server that asks for calls in some rounds.
func (l *longRun) serve(rounds int) (*paced, providers.Provider) {
	p := &paced{longRun: l, rounds: rounds}
	return p, l.provider(providers.Client{BaseURL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: p}})
}

// run runs a prompt with a hundred tools, whose results have a text of some bytes.
func (l *longRun) run(t testing.TB, provider providers.Provider, rounds, size int) *providers.Conversation {
	conv := providers.NewConversation(providers.Candidate{Model: "m", Provider: provider}).
		Options(providers.Options{Limits: providers.Limits{Rounds: -1, Calls: -1}})
	text := strings.Repeat("some \"words\" in a row\n", size/22+1)[:size]
	for i := range 100 {
		conv = conv.Tool(bridge.Tool{
			Tool: toolformat.Tool{Name: fmt.Sprintf("tool_%d", i), Description: "Returns a record.", InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer","description":"an id"}},"required":["id"]}`)},
			Call: func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
				return toolformat.TextResult(string(arguments)+text, false), nil
			},
		})
	}
	defer conv.Close()
	_, after, err := conv.Prompt(t.Context(), "go")
	if err != nil || after.Run().Rounds != rounds || after.Run().Calls != 4*rounds || after.Run().Text != "done" {
		t.Fatalf("%s: %v, %d rounds, %d calls, %q", l.name, err, after.Run().Rounds, after.Run().Calls, after.Run().Text)
	}
	return after
}

// A checked provider compares the body of each request with that of the same request without a Memo.
type checked struct {
	providers.Provider
	t      *testing.T
	sent   *paced
	plain  *paced
	second providers.Provider // of plain
}

func (c *checked) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	plain := *req
	plain.Memo = nil
	if _, err := c.second.Turn(ctx, &plain, func(providers.Event) {}); err != nil {
		c.t.Error(err)
	}
	turn, err := c.Provider.Turn(ctx, req, emit)
	if !bytes.Equal(c.sent.body, c.plain.body) {
		c.t.Errorf("with a Memo the body is\n%s\nand without\n%s", c.sent.body, c.plain.body)
	}
	return turn, err
}

// What a Memo keeps changes nothing in a request.
func TestMemo(t *testing.T) {
	for i := range longRuns {
		t.Run(longRuns[i].name, func(t *testing.T) {
			c := &checked{t: t}
			c.sent, c.Provider = longRuns[i].serve(20)
			c.plain, c.second = longRuns[i].serve(0)
			c.sent.keep, c.plain.keep = true, true
			longRuns[i].run(t, c, 20, 100)
		})
	}
}

// A run of 200 rounds with results of 4 KiB needs less than 40 MB beyond its messages, garbage included.
func TestMemory(t *testing.T) {
	const most = 40 << 20
	for i := range longRuns {
		t.Run(longRuns[i].name, func(t *testing.T) {
			before, peak := inUse(true), uint64(0)
			p, provider := longRuns[i].serve(200)
			p.watch = func(int) { peak = max(peak, inUse(false)) }
			after := longRuns[i].run(t, provider, 200, 4<<10)
			history := inUse(true) - before
			runtime.KeepAlive(after)
			t.Logf("%.1f MB beyond the history of %.1f MB", (float64(peak)-float64(before+history))/(1<<20), float64(history)/(1<<20))
			if peak > before+history+most {
				t.Errorf("%d bytes in use, %d of them for the messages and %d from before", peak, history, before)
			}
		})
	}
}

// inUse returns how much memory is in use, after a collection if asked.
func inUse(collect bool) uint64 {
	if collect {
		runtime.GC()
		runtime.GC() // what the first one put into pools' victims
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkRounds measures a round of four calls with a hundred tools, of 1 KiB each, from an answer of
// the model to the next request: the first, the 50th and the 200th, each the quickest of ten in a row.
// The metric own is the 50th without the time of a client that only reads the answer and sends a request;
// x is how much longer the 200th takes than the 50th.
func BenchmarkRounds(b *testing.B) {
	for i := range longRuns {
		b.Run(longRuns[i].name, func(b *testing.B) {
			var best [4]time.Duration
			for b.Loop() {
				p, provider := longRuns[i].serve(200)
				longRuns[i].run(b, provider, 200, 1<<10)
				bare := longRuns[i].exchange(b, 50)
				for at, part := range [][]time.Duration{p.took[:10], p.took[40:50], p.took[190:200], bare.took[40:50]} {
					least := slices.Min(part)
					best[at] = min(least, cmp.Or(best[at], least))
				}
			}
			for at, unit := range []string{"µs/1st", "µs/50th", "µs/200th"} {
				b.ReportMetric(float64(best[at].Nanoseconds())/1000, unit)
			}
			b.ReportMetric(float64((best[1]-best[3]).Nanoseconds())/1000, "µs/own")
			b.ReportMetric(float64(best[2])/float64(best[1]), "x")
			b.ReportMetric(0, "ns/op")
		})
	}
}
