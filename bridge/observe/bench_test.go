package observe_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
)

// BenchmarkStream compares a call of a source that does nothing, a call through the wrapper of a stream
// that nobody reads, and one that two readers get. The three take turns, so that other load meets all.
func BenchmarkStream(b *testing.B) {
	var idle, read observe.Stream
	for range 2 {
		b.Cleanup(read.Read(observe.Reading{}, func([]observe.Call) {}).Close)
	}
	req := toolsCall(b, "x", `{"q":"some words"}`)
	var sessions []bridge.Session
	for _, source := range []bridge.Source{nothing, idle.Wrap(nothing, nil), read.Wrap(nothing, nil)} {
		s, err := source.Open(b.Context(), &bridge.Caller{})
		if err != nil {
			b.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	const calls = 1000
	times := make([][]time.Duration, len(sessions))
	for b.Loop() {
		for i, s := range sessions {
			begun := time.Now()
			for range calls {
				s.Do(b.Context(), req)
			}
			times[i] = append(times[i], time.Since(begun)/calls)
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2])
	}
	b.ReportMetric(median(1)-median(0), "unread-ns/call")
	b.ReportMetric(median(2)-median(0), "read-ns/call")
	b.ReportMetric(0, "ns/op") // of all three together
}

// BenchmarkLongResult is what a long result costs beside the call: of text, of JSON in text, and of the
// letter that is looked for.
func BenchmarkLongResult(b *testing.B) {
	for name, unit := range map[string]string{"text": "some words of a page, ", "json": `{\"id\":17,\"Event\":\"x\"},`, "letters": "EEEEEEEE"} {
		result := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat(unit, 1<<20/len(unit)) + `"}]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(result)))
			for b.Loop() {
				observe.IsToolError(result)
			}
		})
	}
}

// Without arguments a call costs at most one allocation, and none while nobody reads.
func TestAllocations(t *testing.T) {
	var stream observe.Stream
	session := open(t, &stream)
	req := toolsCall(t, "x", "{}")
	req.Back, req.Take = &back{}, &back{}
	call := func() { session.Do(t.Context(), req) }
	if n := testing.AllocsPerRun(1000, call); n > 1 { // the result of the source
		t.Errorf("unread: %v allocations", n)
	}
	defer stream.Read(observe.Reading{}, func([]observe.Call) {}).Close()
	if n := testing.AllocsPerRun(1000, call); n > 3 { // and now and then a longer queue
		t.Errorf("read: %v allocations", n)
	}
}
