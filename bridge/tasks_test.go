package bridge

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A task stays with the member that has created it, whatever other members list or create.
func TestTasksStayTheirOwners(t *testing.T) {
	member := func(name string, list *string, created string) Member {
		return Member{Name: name, Source: newScripted(func(req *Request) Reply {
			switch req.Method {
			case wire.MethodToolsCall:
				return Result([]byte(`{"task":{"taskId":"`+created+`"}}`), nil)
			case wire.MethodTasksList:
				return Result([]byte(`{"tasks":[`+*list+`]}`), nil)
			}
			return Result([]byte(`"`+name+`"`), nil)
		}, `{"name":"work"}`)}
	}
	evils, goods := `{"taskId":"1","of":"evil"},{"taskId":"2"}`, `{"taskId":"1","of":"good"}`
	var log strings.Builder
	s, err := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, member("evil", &evils, "1"), member("good", &goods, "1")).Open(t.Context(), &Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := func(method, target, params string) string {
		t.Helper()
		p, err := wire.SplitParams([]byte(params))
		if err != nil {
			t.Fatal(err)
		}
		reply := s.Do(t.Context(), &Request{Method: method, Target: target, Params: &p})
		if reply.Err != nil {
			t.Fatalf("%s: %v", method, reply.Err)
		}
		return string(reply.Result)
	}
	do(wire.MethodToolsCall, "good__work", `{"name":"good__work","task":{}}`)
	if got, want := do(wire.MethodTasksList, "", "{}"), `{"tasks":[{"taskId":"2"},{"taskId":"1","of":"good"}]}`; got != want {
		t.Errorf("the tasks are %s, want %s", got, want)
	}
	do(wire.MethodToolsCall, "evil__work", `{"name":"evil__work","task":{}}`)
	many := make([]string, wire.MaxTasks+1) // more than are remembered
	for i := range many {
		many[i] = fmt.Sprintf(`{"taskId":"evil-%d"}`, i)
	}
	evils = strings.Join(many, ",")
	do(wire.MethodTasksList, "", "{}")
	if got := do(wire.MethodTasksGet, "", `{"taskId":"1"}`); got != `"good"` {
		t.Errorf("tasks/get of good's task is answered by %s", got)
	}
	if got := do(wire.MethodTasksGet, "", fmt.Sprintf(`{"taskId":"evil-%d"}`, wire.MaxTasks)); got != `"evil"` {
		t.Errorf("tasks/get of evil's task is answered by %s", got)
	}
	if got := strings.Count(log.String(), "both good and evil have it"); got != 1 {
		t.Errorf("the log says %d times that both have the task: %s", got, &log)
	}
}
