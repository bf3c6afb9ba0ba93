package observe_test

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// Counts are up to date when they are read.
func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream observe.Stream
		counts := observe.NewCounts(&stream)
		defer counts.Close()
		source := stream.Wrap(bridge.New(bridge.Options{},
			bridge.Member{Name: "a", Source: sourcetest.NewFake()},
			bridge.Member{Name: "b", Source: sourcetest.NewFake()}), nil)
		var sessions []bridge.Session
		for range 3 {
			s, err := source.Open(t.Context(), caller())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			sessions = append(sessions, s)
		}
		call := func(session int, tool string) { sessions[session].Do(t.Context(), toolsCall(t, tool, "{}")) }
		if now := counts.Snapshot(); now.All != (observe.Count{Callers: 3}) || len(now.Servers) != 0 {
			t.Errorf("before a call: %+v", now)
		}
		call(0, "a__echo")
		call(0, "a__fail")
		call(1, "a__echo")
		first := time.Now()
		time.Sleep(time.Minute)
		call(1, "b__echo")
		call(1, "c__echo")
		sessions[0].Close()
		want := observe.Snapshot{
			All: observe.Count{Calls: 5, Failed: 2, In: 165, Out: 227, Last: time.Now(), Callers: 2},
			Servers: map[string]observe.Count{
				"a": {Calls: 3, Failed: 1, In: 99, Out: 190, Last: first, Callers: 1},
				"b": {Calls: 1, In: 33, Out: 37, Last: time.Now(), Callers: 1},
			},
		}
		got := counts.Snapshot()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\nwant\n%+v", got, want)
		}
	})
}
