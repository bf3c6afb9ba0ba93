package providers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// BenchmarkRound measures what the loop adds to a round of four calls with a hundred tools:
// arguments converted and validated, parallel calls, results added to the conversation, events
// emitted. µs/round is to stay below 100.
func BenchmarkRound(b *testing.B) {
	tools := []bridge.Tool{adder(b)}
	for i := range 99 {
		tools = append(tools, function(b, fmt.Sprintf("tool_%d", i), "", nothing))
	}
	s := session(b, tools...)
	const rounds = 20
	n := 0
	turns := make([]providers.Turn, rounds+1)
	provider := endless{format: play().Format(), next: func(turn int) *providers.Turn { return &turns[turn] }}
	events := 0
	quickest := time.Hour
	for b.Loop() {
		for i := range rounds {
			var parts []providers.Part
			for range 4 {
				n++
				parts = append(parts, call(fmt.Sprint("call_", n), "add", fmt.Sprintf(`{"a":%d,"b":2}`, n)))
			}
			turns[i] = providers.Turn{Stop: providers.StopCalls, Message: providers.Message{Role: providers.RoleAssistant, Parts: parts}}
		}
		turns[rounds] = providers.Turn{Stop: providers.StopEnd, Message: providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{txt("done")}}}
		provider.turn = 0
		task := ask(&provider, "go")
		task.Emit = func(providers.Event) { events++ }
		begun := time.Now()
		r, err := s.Run(b.Context(), task)
		quickest = min(quickest, time.Since(begun))
		if err != nil || r.Calls != 4*rounds || r.Messages[2].Parts[0].Result.Content.IsError() {
			b.Fatalf("%v, %+v", err, r)
		}
	}
	b.ReportMetric(float64(quickest.Microseconds())/rounds, "µs/round")
	b.ReportMetric(0, "ns/op")
}

// endless is a provider that takes no time.
type endless struct {
	format toolformat.Format
	turn   int
	next   func(int) *providers.Turn
}

func (e *endless) Name() string              { return "endless" }
func (e *endless) Format() toolformat.Format { return e.format }

func (e *endless) Turn(context.Context, *providers.Request, func(providers.Event)) (*providers.Turn, error) {
	e.turn++
	return e.next(e.turn - 1), nil
}
