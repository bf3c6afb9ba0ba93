package bridge

import (
	"context"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// owners knows the members that tasks or resources belong to, since their ids do not name one.
type owners struct {
	mu     sync.Mutex     // guards what follows
	member map[string]int // by id
	order  []string       // of ids, oldest first
}

// add stores the member that an id belongs to. It forgets the oldest of more than most ids.
func (o *owners) add(id string, member, most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.member == nil {
		o.member = map[string]int{}
	}
	if _, known := o.member[id]; !known {
		o.order = append(o.order, id)
	}
	o.member[id] = member
	if len(o.order) > most {
		delete(o.member, o.order[0])
		o.order = o.order[1:]
	}
}

func (o *owners) owner(id string) (member int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	member, ok = o.member[id]
	return member, ok
}

// rememberTask stores the member that runs the task that a result announces, if it does.
func (s *session) rememberTask(result []byte, member int) {
	if id, ok := wire.CreatedTask(result); ok {
		s.tasks.add(id, member, wire.MaxTasks)
	}
}

// maxNamed bounds the URIs that are remembered, and maxNamedURI their length.
const maxNamed, maxNamedURI = 1000, 1 << 10

// rememberNamed stores that the resources that a result of tools/call or prompts/get links to or
// embeds are the member's. They need not be in its list.
func (s *session) rememberNamed(result []byte, member int) {
	left := maxNamed
	remember := func(content []byte) {
		uri, _ := wire.Text(wire.Lookup(content, "uri"))
		if embedded, ok := wire.Text(wire.Lookup(content, "resource", "uri")); ok {
			uri = embedded
		}
		if left--; uri != "" && len(uri) <= maxNamedURI && left >= 0 {
			s.named.add(uri, member, maxNamed)
		}
	}
	for content := range wire.Elements(wire.Lookup(result, "content")) {
		remember(content)
	}
	for message := range wire.Elements(wire.Lookup(result, "messages")) {
		remember(wire.Lookup(message, "content"))
	}
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
	reply := s.send(ctx, member, req)
	s.rememberIn(req, &reply, member)
	return reply
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
			if id, ok := wire.Text(wire.Lookup(raw, "taskId")); ok {
				s.tasks.add(id, i, wire.MaxTasks)
			}
		}
		reply.Free()
	}
	return Result(append(all, "]}"...), nil)
}
