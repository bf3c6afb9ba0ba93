package ollama

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
)

// FuzzDecode: whatever comes, there is an end, and what is kept is JSON; in portions it is
// the same as whole.
func FuzzDecode(f *testing.F) {
	for _, c := range decodeCases {
		f.Add(c.body, false)
		f.Add(c.body, true)
	}
	f.Fuzz(func(t *testing.T, body string, streamed bool) {
		kind := "application/json"
		if streamed {
			kind = "application/x-ndjson"
		}
		whole := func() io.Reader { return strings.NewReader(body) }
		turn, heard, err := turnOf(t, answer(200, kind, whole), request())
		if turn == nil {
			t.Fatal("no turn")
		}
		if raw := turn.Message.Raw; raw != nil && !json.Valid(raw.Items) {
			t.Errorf("raw items that are no JSON: %s", raw.Items)
		}
		for _, c := range turn.Message.Calls() {
			if !json.Valid(c.Arguments) || c.ID == "" {
				t.Errorf("call %q with arguments that are no JSON: %s", c.ID, c.Arguments)
			}
		}
		again, heardAgain, errAgain := turnOf(t, answer(200, kind, func() io.Reader { return iotest.HalfReader(whole()) }), request())
		if summary(again) != summary(turn) || heardAgain != heard || (errAgain == nil) != (err == nil) {
			t.Errorf("in portions: %s, %v\nwhole: %s, %v", summary(again), errAgain, summary(turn), err)
		}
	})
}

// typedLine is a line as a program would declare it that decodes with encoding/json.
type typedLine struct {
	Model   string `json:"model"`
	Message struct {
		Role      string            `json:"role"`
		Content   string            `json:"content"`
		Thinking  string            `json:"thinking"`
		ToolCalls []json.RawMessage `json:"tool_calls"`
	} `json:"message"`
	Done            bool   `json:"done"`
	DoneReason      string `json:"done_reason"`
	PromptEvalCount int    `json:"prompt_eval_count"`
	EvalCount       int    `json:"eval_count"`
}

// BenchmarkDecode makes a turn of a stream, beside unmarshalling each of its lines with
// encoding/json and nothing more: x is how many times as long it takes.
func BenchmarkDecode(b *testing.B) {
	body := strings.Repeat(line(`{"role":"assistant","content":" word\n"}`), 300) +
		strings.Repeat(line(`{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"get_weather","arguments":{"city":"Paris","days":[1,2,3]}}}]}`), 4) + last
	lines := strings.SplitAfter(strings.TrimSpace(body), "\n")
	req := request()
	var ours, theirs time.Duration
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		d := newDecoder(req, func(providers.Event) {})
		for _, l := range lines {
			if err := d.line([]byte(l)); err != nil {
				b.Fatal(err)
			}
		}
		if d.turn().Stop != providers.StopCalls {
			b.Fatal("no calls")
		}
		ours += time.Since(begin)
		begin = time.Now()
		for _, l := range lines {
			var v typedLine
			if err := json.Unmarshal([]byte(l), &v); err != nil {
				b.Fatal(err)
			}
		}
		theirs += time.Since(begin)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "x")
}
