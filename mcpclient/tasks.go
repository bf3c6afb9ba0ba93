package mcpclient

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

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
	call    int64           // which has created it; its id is the token of the task's progress on that connection
	token   []byte          // of the progress as the creator has it; nil if none is wanted, or passed on
	secrets *bridge.Secrets // of the call
	heard   time.Time       // when something was heard of it last
	lasts   time.Duration   // how long after that it is taken to run on
}

// maxToken bounds the progress tokens of tasks, in bytes: they are remembered.
const maxToken = 1 << 10

// taskOf returns what the link would remember of the task that a call may create; nil if it would not: where every task is
// the caller's, only a lazy link has to know of one of the modern era. In that era progress ends with the call.
func (l *link) taskOf(k *call, req *bridge.Request) *task {
	s := k.owner
	asked := req.Params != nil && req.Params.Get(wire.Task) != nil
	if !asked && (!k.modern || l.ownsTasks(s) && !l.cfg.Lazy || !wire.TakesTasks(s.caller.Capabilities)) {
		return nil
	}
	t := &task{by: s.creator(), call: k.id, secrets: req.Secrets}
	if asked && !k.modern && !s.caller.Modern && len(k.token) <= maxToken {
		t.token = k.token
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
	t.heard, t.lasts = time.Now(), l.cfg.taskTime(result)
	l.tasks[id] = *t
	state := wire.Lookup(result, "task")
	if state == nil {
		state = result // in the modern era
	}
	if l.conn.Load() == c && !isEnded(state) {
		l.running[t.call] = id
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

// taskTime returns how long a task that a result announces is taken to run when nothing is heard of it: at most its ttl,
// after which its server may delete it, and what the longest call may take.
func (cfg *Config) taskTime(result []byte) time.Duration {
	ttl := wire.Lookup(result, "task", "ttl")
	if ttl == nil {
		ttl = wire.Lookup(result, "ttlMs") // of the modern era
	}
	if ms, err := strconv.ParseFloat(string(ttl), 64); err == nil && ms > 0 && ms < float64(cfg.MaxTimeout.Milliseconds()) {
		return time.Duration(ms * float64(time.Millisecond))
	}
	return cfg.MaxTimeout
}

// forgetTask forgets a task, whose id keepTasks removes. l.mu is held.
func (l *link) forgetTask(id string) {
	l.endTask(id)
	delete(l.tasks, id)
}

// endTask notes that a task runs no more, so that it has no progress. l.mu is held.
func (l *link) endTask(id string) {
	if call := l.tasks[id].call; l.running[call] == id {
		delete(l.running, call)
	}
}

// heardOf notes that something was heard of a task, which has ended or runs on. A lazy server is in use by that. l.mu is held.
func (l *link) heardOf(id string, ended bool) {
	l.used.Store(time.Now().UnixNano())
	if ended {
		l.endTask(id)
	} else if t, known := l.tasks[id]; known {
		t.heard = time.Now()
		l.tasks[id] = t
	}
}

// working reports whether a task of the live connection runs, as far as is known.
func (l *link) working() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.running {
		if t := l.tasks[id]; time.Since(t.heard) < t.lasts {
			return true
		}
	}
	return false
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
	switch {
	case req.Method != wire.MethodTasksList:
	case owns:
		return l.call(ctx, req, s)
	case l.idleWithout(s): // a lazy server is not started to list none
		return bridge.Result([]byte(`{"tasks":[]}`), nil)
	default:
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
	ended := req.Method == wire.MethodTasksResult || isEnded(reply.Result)
	if reply.Err == nil && (ended || req.Method == wire.MethodTasksGet) {
		l.mu.Lock()
		l.heardOf(id, ended)
		l.mu.Unlock()
	}
	return reply
}

// idleWithout reports whether the link is idle, and the caller has created no task.
func (l *link) idleWithout(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Idle {
		return false
	}
	for _, t := range l.tasks {
		if t.by == s.creator() {
			return false
		}
	}
	return true
}

// resultFailed notes the end of the task whose result a call has asked for, if the server's error is the answer to that: it
// is what the task has come to (2025-11-25, tasks). Another bridge says by a code of its own that it has none yet.
func (l *link) resultFailed(k *call, e *toolformat.Error) {
	switch e.Code {
	case toolformat.Internal, toolformat.Invalid, toolformat.NotFound:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heardOf(k.target, true)
	}
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
	l.heardOf(id, isEnded(m.Params.Raw))
	hideTexts(m, t.secrets)
	l.notifyCreator(t.by, m.Method, m.Params.Raw)
}

// taskProgressed passes progress that has the token of a call which has created a task to the creator: the token stays
// valid until the task ends (2025-11-25, tasks). It returns the id of the task; ok is false if there is none.
func (l *link) taskProgressed(c *conn, call int64, m *wire.Message) (id string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, ok = l.running[call]; !ok || l.conn.Load() != c {
		return "", false
	}
	l.heardOf(id, false)
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
