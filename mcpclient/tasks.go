package mcpclient

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// creator is whose a task is: a caller's, which is told of its status; in the modern
// era, where callers come and go with their requests, a principal's.
type creator struct {
	session   *session
	principal bridge.Principal
}

func (s *session) creator() creator {
	if s.caller.Modern {
		return creator{principal: s.caller.Principal}
	}
	return creator{session: s}
}

// noteTask notes who has created the task that a reply tells of, if it does.
func (l *link) noteTask(req *bridge.Request, reply *bridge.Reply, s *session) {
	asked := req.Params != nil && req.Params.Get(wire.Task) != nil
	if reply.Err != nil || !asked && (!reply.Modern || l.allTasks(s) || !wire.TakesTasks(s.caller.Capabilities)) {
		return
	}
	id, ok := wire.CreatedTask(reply.Result)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.tasks[id]; !known {
		l.taskOrder = append(l.taskOrder, id)
	}
	l.tasks[id] = s.creator()
	if len(l.taskOrder) > wire.MaxTasks {
		delete(l.tasks, l.taskOrder[0])
		l.taskOrder = l.taskOrder[1:]
	}
}

// allTasks reports whether every task of the link is the caller's.
func (l *link) allTasks(s *session) bool {
	return l.key.own || s.caller.Modern && l.key.owner != ""
}

// task carries out a request about a task. On a shared link a caller reaches only the
// tasks that it has created.
func (l *link) task(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	if l.allTasks(s) {
		return l.call(ctx, req, s)
	}
	mine := func(id string) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		by, ok := l.tasks[id]
		return ok && by == s.creator()
	}
	if req.Method != wire.MethodTasksList {
		id, _ := req.Params.Text(wire.TaskID)
		if !mine(id) {
			return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "unknown task: %.80s", id))
		}
		return l.call(ctx, req, s)
	}
	reply := l.call(ctx, req, s)
	if reply.Err != nil {
		return reply
	}
	defer reply.Free()
	tasks := []byte("[")
	for raw := range wire.Elements(wire.Lookup(reply.Result, "tasks")) {
		if id, _ := wire.Text(wire.Lookup(raw, "taskId")); mine(id) {
			if len(tasks) > 1 {
				tasks = append(tasks, ',')
			}
			tasks = append(tasks, raw...)
		}
	}
	return bridge.Result(wire.SetMember(reply.Result, "tasks", append(tasks, ']')), nil)
}

// taskStatus tells the creator of a task how it is.
func (l *link) taskStatus(params []byte) {
	id, _ := wire.Text(wire.Lookup(params, "taskId"))
	l.mu.Lock()
	s := l.tasks[id].session
	l.mu.Unlock()
	if s != nil {
		s.notify(wire.NotificationTaskStatus, params)
	}
}
