package mcpclient

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The log level and the watched resources are asked of a server once and remembered by it. The
// link remembers them as well, for all its callers, and asks each new connection.

// restore asks a new connection for what callers have asked of the previous one.
func (l *link) restore(c *conn) {
	if level := l.lowestLevel(); level > 0 && c.legacy {
		c.start(func() { c.replay(&c.life, wire.MethodSetLevel, "level", level.String()) })
	}
	l.rewatchAll(c)
}

// forget drops what a caller has asked for, at the server too unless another caller wants it.
func (l *link) forget(s *session) {
	l.mu.Lock()
	before := len(l.creators)
	if !s.caller.Modern && !l.hasOther(s) {
		own := s.creator()
		maps.DeleteFunc(l.creators, func(_ string, by creator) bool { return by == own })
	}
	if len(l.creators) < before {
		l.keepTasks(s.caller.Principal.Name, func(id string) bool { _, known := l.creators[id]; return known })
	}
	l.mu.Unlock()
	l.unwatchAll(s)
}

// hasOther reports whether the caller of a session has another one on the link. l.mu is held.
func (l *link) hasOther(s *session) bool {
	for other := range l.sessions {
		if other != s && other.caller.ID == s.caller.ID {
			return true
		}
	}
	return false
}

// storeLevel stores the level that a caller has set. It reports whether the caller has set it in another
// session on the link before.
func (l *link) storeLevel(s *session, level wire.LogLevel) (before bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.level.Store(int32(level))
	for other := range l.sessions {
		before = before || other != s && other.caller.ID == s.caller.ID && level > 0 && other.level.Load() == int32(level)
	}
	return before
}

// setLevel sets the level of the log messages that a caller wants. The server is asked for the
// lowest level of all callers; one of the modern era is told with each request.
func (l *link) setLevel(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	level := wire.ParseLogLevel(wire.Lookup(req.Params.Raw, "level"))
	if l.storeLevel(s, level) {
		return empty()
	}
	lowest := l.lowestLevel()
	if c := l.conn.Load(); c != nil && c.legacy && (lowest == 0 || lowest == level) {
		return l.call(ctx, req, s) // which refuses an unknown level
	}
	return empty()
}

// lowestLevel returns the lowest level that callers of the link have set; 0 means no level.
func (l *link) lowestLevel() wire.LogLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	low := int32(0)
	for s := range l.sessions {
		if level := s.level.Load(); level > 0 && (low == 0 || level < low) {
			low = level
		}
	}
	return wire.LogLevel(low)
}

// creator identifies who may reach a task: a caller, which is notified of the task's status in each of
// its sessions; in the modern era, where callers come and go with their requests, a principal with a profile.
type creator struct {
	caller    string // "caller "+id; "" in the modern era
	principal bridge.Principal
	profile   string // "" in the legacy era
}

func (s *session) creator() creator {
	if s.caller.Modern {
		return creator{principal: s.caller.Principal, profile: s.caller.Profile}
	}
	return creator{caller: "caller " + s.caller.ID, principal: s.caller.Principal}
}

// keepTasks removes from the ids of a principal's tasks those that keep does not admit. l.mu is held.
func (l *link) keepTasks(principal string, keep func(id string) bool) {
	ids := slices.DeleteFunc(l.taskOrder[principal], func(id string) bool { return !keep(id) })
	if len(ids) == 0 {
		delete(l.taskOrder, principal)
		return
	}
	l.taskOrder[principal] = ids
}

// rememberTask remembers the creator of the task that a reply announces, if it does. Of a principal's
// tasks the oldest are forgotten first.
func (l *link) rememberTask(req *bridge.Request, reply *bridge.Reply, s *session) {
	asked := req.Params != nil && req.Params.Get(wire.Task) != nil
	if reply.Err != nil || !asked && (!reply.Modern || l.ownsTasks(s) || !wire.TakesTasks(s.caller.Capabilities)) {
		return
	}
	id, ok := wire.CreatedTask(reply.Result)
	if !ok {
		if asked && len(reply.Result) > wire.MaxTaskID && wire.Lookup(reply.Result, "task", "taskId") != nil {
			l.cfg.throttle.Log(slog.LevelWarn, "the id of a task is too long to be remembered", "limit", wire.MaxTaskID)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	principal := s.caller.Principal.Name
	before, known := l.creators[id]
	l.creators[id] = s.creator()
	if known && before.principal.Name == principal {
		return
	}
	if known {
		l.keepTasks(before.principal.Name, func(other string) bool { return other != id })
	}
	ids := append(l.taskOrder[principal], id)
	if len(ids) > wire.MaxTasks {
		delete(l.creators, ids[0])
		ids = ids[1:]
	}
	l.taskOrder[principal] = ids
}

// ownsTasks reports whether every task of the link is the caller's.
func (l *link) ownsTasks(s *session) bool {
	return l.key.own || s.caller.Modern && l.key.owner != ""
}

// created reports whether the caller has created a task.
func (l *link) created(s *session, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	by, ok := l.creators[id]
	return ok && by == s.creator()
}

// task carries out a request about tasks. On a shared link a caller reaches only the tasks that
// it has created.
func (l *link) task(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	switch {
	case l.ownsTasks(s):
		return l.call(ctx, req, s)
	case req.Method == wire.MethodTasksList:
		return l.listTasks(ctx, req, s)
	}
	if id, _ := req.Params.Text(wire.TaskID); !l.created(s, id) {
		return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "unknown task: %.80s", id))
	}
	return l.call(ctx, req, s)
}

// listTasks returns those of the server's tasks that the caller has created.
func (l *link) listTasks(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	whole := *req
	whole.Take = nil
	reply := l.call(ctx, &whole, s)
	if reply.Err != nil {
		return reply
	}
	defer reply.Free()
	tasks := []byte("[")
	for raw := range wire.Elements(wire.Lookup(reply.Result, "tasks")) {
		if id, _ := wire.Text(wire.Lookup(raw, "taskId")); l.created(s, id) {
			if len(tasks) > 1 {
				tasks = append(tasks, ',')
			}
			tasks = append(tasks, raw...)
		}
	}
	return bridge.Result(wire.SetMember(reply.Result, "tasks", append(tasks, ']')), nil)
}

// taskChanged passes the status of a task to its creator.
func (l *link) taskChanged(params []byte) {
	id, _ := wire.Text(wire.Lookup(params, "taskId"))
	l.mu.Lock()
	defer l.mu.Unlock()
	by, known := l.creators[id]
	for s := range l.sessions {
		if known && !s.caller.Modern && by == s.creator() {
			s.notify(wire.NotificationTaskStatus, params)
		}
	}
}
