package bridge

import (
	"context"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// taskOwners knows the member that runs a task, since ids of tasks do not name it.
type taskOwners struct {
	mu     sync.Mutex     // guards what follows
	member map[string]int // by task id
	order  []string       // of ids, oldest first
}

// remember stores the member that runs the task that a result announces, if it does. It forgets the
// oldest of too many tasks.
func (o *taskOwners) remember(result []byte, member int) {
	id, ok := wire.CreatedTask(result)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.member == nil {
		o.member = map[string]int{}
	}
	if _, known := o.member[id]; !known {
		o.order = append(o.order, id)
	}
	o.member[id] = member
	if len(o.order) > wire.MaxTasks {
		delete(o.member, o.order[0])
		o.order = o.order[1:]
	}
}

func (o *taskOwners) owner(id string) (member int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	member, ok = o.member[id]
	return member, ok
}

// task sends a request about a task to the member that runs it.
func (s *session) task(ctx context.Context, req *Request) Reply {
	var id string
	if req.Params != nil {
		id, _ = req.Params.Text(wire.TaskID)
	}
	if id == "" {
		return Failed(toolformat.Errorf(toolformat.Invalid, "%s: params.taskId is missing or not a string", req.Method))
	}
	if len(s.subs) == 1 {
		return s.send(ctx, 0, req)
	}
	member, ok := s.tasks.owner(id)
	if !ok {
		return Failed(toolformat.Errorf(toolformat.NotFound, "unknown task: %.80s", id))
	}
	return s.send(ctx, member, req)
}

// listTasks returns the tasks of all members in one page.
func (s *session) listTasks(ctx context.Context, req *Request) Reply {
	if len(s.subs) == 1 {
		return s.send(ctx, 0, req)
	}
	all := []byte(`{"tasks":[`)
	for i, reply := range s.doAll(ctx, req) {
		for raw := range wire.Elements(wire.Lookup(reply.Result, "tasks")) {
			if all[len(all)-1] != '[' {
				all = append(all, ',')
			}
			all = append(all, raw...)
			s.tasks.remember(append(append([]byte(`{"task":`), raw...), '}'), i)
		}
		reply.Free()
	}
	return Result(append(all, "]}"...), nil)
}
