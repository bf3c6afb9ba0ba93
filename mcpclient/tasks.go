package mcpclient

import (
	"context"
	"log/slog"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

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

// task is what a link remembers of a task.
type task struct {
	by      creator
	call    int64           // which has created it; its id is the token of the task's progress on that connection; 0 if there is none
	token   []byte          // of the progress as the creator has it; nil if none is wanted, or passed on
	secrets *bridge.Secrets // of the call
}

// maxToken bounds the progress tokens of tasks, in bytes: they are remembered.
const maxToken = 1 << 10

// taskOf returns what the link would remember of the task that a call may create; nil if it would not. In the modern
// era progress ends with the call.
func (l *link) taskOf(k *call, req *bridge.Request) *task {
	s := k.owner
	asked := req.Params != nil && req.Params.Get(wire.Task) != nil
	if !asked && (!k.modern || l.ownsTasks(s) || !wire.TakesTasks(s.caller.Capabilities)) {
		return nil
	}
	t := &task{by: s.creator(), secrets: req.Secrets}
	if asked && !k.modern && !s.caller.Modern {
		if t.call = k.id; len(k.token) <= maxToken {
			t.token = k.token
		}
	}
	return t
}

// rememberTask remembers the task that a result announces, if it does. Of a principal's tasks the oldest are
// forgotten first.
func (l *link) rememberTask(c *conn, t *task, result []byte) {
	id, ok := wire.CreatedTask(result)
	if !ok {
		if len(result) > wire.MaxTaskID && wire.Lookup(result, "task", "taskId") != nil {
			l.cfg.throttle.Log(slog.LevelWarn, "the id of a task is too long to be remembered", "limit", wire.MaxTaskID)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	principal := t.by.principal.Name
	before, known := l.tasks[id]
	l.forgetTask(id)
	l.tasks[id] = *t
	if t.call != 0 && l.conn.Load() == c {
		l.progress[t.call] = id
	}
	if known && before.by.principal.Name == principal {
		return
	}
	if known {
		l.keepTasks(before.by.principal.Name, func(other string) bool { return other != id })
	}
	ids := append(l.taskOrder[principal], id)
	if len(ids) > wire.MaxTasks {
		l.forgetTask(ids[0])
		ids = ids[1:]
	}
	l.taskOrder[principal] = ids
}

// forgetTask forgets a task, whose id keepTasks removes. l.mu is held.
func (l *link) forgetTask(id string) {
	l.endProgress(id)
	delete(l.tasks, id)
}

// endProgress ends the progress of a task. l.mu is held.
func (l *link) endProgress(id string) {
	if call := l.tasks[id].call; l.progress[call] == id {
		delete(l.progress, call)
	}
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

// forgetTasks forgets the tasks of a creator. l.mu is held.
func (l *link) forgetTasks(by creator) {
	before := len(l.tasks)
	for id, t := range l.tasks {
		if t.by == by {
			l.forgetTask(id)
		}
	}
	if len(l.tasks) < before {
		l.keepTasks(by.principal.Name, func(id string) bool { _, known := l.tasks[id]; return known })
	}
}

// ownsTasks reports whether every task of the link is the caller's.
func (l *link) ownsTasks(s *session) bool {
	return l.key.own || s.caller.Modern && l.key.owner != ""
}

// created reports whether the caller has created a task.
func (l *link) created(s *session, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.tasks[id]
	return ok && t.by == s.creator()
}

// task carries out a request about tasks. On a shared link a caller reaches only the tasks that
// it has created.
func (l *link) task(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	owns := l.ownsTasks(s)
	if req.Method == wire.MethodTasksList {
		if owns {
			return l.call(ctx, req, s)
		}
		return l.listTasks(ctx, req, s)
	}
	var id string
	if req.Params != nil {
		id, _ = req.Params.Text(wire.TaskID)
	}
	if !owns && !l.created(s, id) {
		return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "unknown task: %.80s", id))
	}
	reply := l.call(ctx, req, s)
	if reply.Err == nil && (req.Method == wire.MethodTasksResult || isEnded(reply.Result)) {
		l.mu.Lock()
		l.endProgress(id)
		l.mu.Unlock()
	}
	return reply
}

// isEnded reports whether the state of a task is that of one that has ended.
func isEnded(state []byte) bool {
	status, _ := wire.Text(wire.Lookup(state, "status"))
	return mcp.TaskStatus(status).IsTerminal()
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
func (l *link) taskChanged(m *wire.Message) {
	id, _ := m.Params.Text(wire.TaskID)
	l.mu.Lock()
	defer l.mu.Unlock()
	t, known := l.tasks[id]
	if !known {
		return
	}
	if isEnded(m.Params.Raw) {
		l.endProgress(id)
	}
	hideTexts(m, t.secrets)
	l.notifyCreator(t.by, m.Method, m.Params.Raw)
}

// taskProgressed passes progress that has the token of a call which has created a task to the creator: the token stays
// valid until the task ends (2025-11-25, tasks). It returns the id of the task; ok is false if there is none.
func (l *link) taskProgressed(c *conn, call int64, m *wire.Message) (id string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, ok = l.progress[call]; !ok || l.conn.Load() != c {
		return "", false
	}
	if t := l.tasks[id]; t.token != nil {
		hideTexts(m, t.secrets)
		l.notifyCreator(t.by, m.Method, m.Params.Append(nil, wire.Edit{Key: wire.ProgressToken, Value: t.token}))
	}
	return id, true
}

// extendResults extends the calls that wait for the result of a task.
func (c *conn) extendResults(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k.method == wire.MethodTasksResult && k.target == id {
			k.timer.Extend()
		}
	}
}

// notifyCreator notifies the creator of a task in each of its sessions. l.mu is held.
func (l *link) notifyCreator(by creator, method string, params []byte) {
	for s := range l.sessions {
		if !s.caller.Modern && by == s.creator() {
			s.notify(method, params)
		}
	}
}
