package observe_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
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

// A call that a rule has refused is known by the server that has the tool, of which it is no call.
func TestWithheld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream observe.Stream
		counts := observe.NewCounts(&stream)
		defer counts.Close()
		below := bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: sourcetest.NewFake()}, bridge.Member{Name: "b", Source: sourcetest.NewFake()})
		s, err := stream.Wrap(bridge.Wrap(below, func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
			return refusing{below}, nil
		}), nil).Open(t.Context(), caller())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.Do(t.Context(), toolsCall(t, "b__echo", "{}"))
		now := counts.Snapshot()
		all, _ := counts.Recent(0)
		if len(all) != 1 || all[0].Server != "b" {
			t.Errorf("the calls are %+v", all)
		}
		if now.All.Failed != 1 || len(now.Servers) != 0 {
			t.Errorf("counted: %+v", now)
		}
	})
}

// refusing refuses all calls on their way to b.
type refusing struct{ bridge.Session }

func (refusing) Do(context.Context, *bridge.Request) bridge.Reply {
	reply := bridge.Failed(toolformat.Errorf(toolformat.Denied, "no"))
	reply.Member, reply.Withheld = "b", true
	return reply
}
