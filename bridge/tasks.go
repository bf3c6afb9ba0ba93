package bridge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Memory is what the session of a Bridge remembers of its caller: which members have its tasks, and
// the resources that their results have named. In a Caller it outlives the session, and serves one of
// another Bridge that has members of the same names. The zero value is empty.
type Memory struct{ tasks, named owners }

// owners knows the members that tasks or resources belong to, since their ids do not name one.
type owners struct {
	mu     sync.Mutex          // guards what follows
	member map[string]owner    // by id
	order  map[string][]string // of a member's ids, oldest first
}

// owner is the member that an id belongs to.
type owner struct {
	member  string
	created bool // in a call of the session; else the member has only named it
	ended   bool // a task whose end the caller knows: another member may create one with its id
}

// claim gives an id to a member and returns its owner: the first member that has created it in a
// call, unless that task has ended, else the first that has named it. It forgets the oldest of a member's ids beyond most, so that
// a member with many costs no other one its own.
func (o *owners) claim(id, member string, most int, created bool) (first string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own, known := o.member[id]
	if known && (own.created && !own.ended || !created) {
		return own.member
	}
	if o.member == nil {
		o.member, o.order = map[string]owner{}, map[string][]string{}
	}
	o.member[id] = owner{member: member, created: created}
	if known && own.member == member {
		return member
	}
	ids := append(o.order[member], id)
	if len(ids) > most {
		if o.member[ids[0]].member == member {
			delete(o.member, ids[0])
		}
		ids = ids[1:]
	}
	o.order[member] = ids
	return member
}

// end stores that a member's task has ended.
func (o *owners) end(id, member string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if own, ok := o.member[id]; ok && own.member == member {
		own.ended = true
		o.member[id] = own
	}
}

func (o *owners) owner(id string) (member string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own, ok := o.member[id]
	return own.member, ok
}

// rememberTask stores the member that runs the task that the reply to a call announces, if it does.
// The call fails if another member's task has this id: its owner alone answers requests about it.
func (s *session) rememberTask(reply *Reply, member int) {
	id, ok := wire.CreatedTask(reply.Result)
	if !ok {
		return
	}
	name := s.bridge.members[member].Name
	if other := s.memory.tasks.claim(id, name, wire.MaxTasks, true); other != name {
		reply.Free()
		reply.Err = toolformat.Errorf(toolformat.Internal, "%s has begun a task, but its id %.80q is that of a task of %s: its result cannot be told apart", name, id, other)
		return
	}
	state := wire.Lookup(reply.Result, "task")
	if state == nil {
		state = reply.Result // in the modern era
	}
	s.endTask(id, name, state)
}

// isForeign reports whether a member's notification is the state of another one's task, which is
// dropped.
func (s *session) isForeign(member int, method string, params []byte) bool {
	if method != wire.NotificationTaskStatus {
		return false
	}
	id, _ := wire.Text(wire.Lookup(params, "taskId"))
	m := s.bridge.members[member]
	owner, known := s.memory.tasks.owner(id)
	if !known || owner == m.Name {
		s.endTask(id, m.Name, params)
		return false
	}
	m.log.Log(slog.LevelWarn, "dropped the state of a task of another server", "server", m.Name, "owner", owner)
	return true
}

// endTask marks a member's task as ended if the status in its state is a terminal one.
func (s *session) endTask(id, member string, state []byte) {
	if status, _ := wire.Text(wire.Lookup(state, "status")); mcp.TaskStatus(status).IsTerminal() {
		s.memory.tasks.end(id, member)
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
			s.memory.named.claim(uri, s.bridge.members[member].Name, maxNamed, false)
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
	if len(s.subs) == 1 && s.selection.has[0] {
		return s.send(ctx, 0, req)
	}
	name, _ := s.memory.tasks.owner(id)
	member := s.index(name)
	if member < 0 {
		return Failed(toolformat.Errorf(toolformat.NotFound, "unknown task: %.80s", id))
	}
	reply := s.send(ctx, member, req)
	s.rememberIn(req, &reply, member)
	if req.Method == wire.MethodTasksResult && isOutcome(reply.Err) {
		s.memory.tasks.end(id, name)
	} else {
		s.endTask(id, name, reply.Result)
	}
	return reply
}

// isOutcome reports whether an answer to tasks/result with this error is what the task has come to, which may be an error of
// its server (2025-11-25, tasks). Other errors are of the way to it.
func isOutcome(err *toolformat.Error) bool {
	return err == nil || err.Code == toolformat.Internal || err.Code == toolformat.Invalid || err.Code == toolformat.NotFound
}

// listTasks returns the tasks of all members in one page, each from its owner only.
func (s *session) listTasks(ctx context.Context, req *Request) Reply {
	if len(s.subs) == 1 {
		return s.send(ctx, 0, req)
	}
	tasks := make([][][]byte, len(s.subs))
	s.forAll(func(i int, sub Session) { tasks[i] = tasksOf(ctx, sub, req) })
	if err := ctx.Err(); err != nil {
		return Failed(canceled(err))
	}
	all := []byte(`{"tasks":[`)
	for i, own := range tasks {
		for _, raw := range own {
			if id, ok := wire.Text(wire.Lookup(raw, "taskId")); ok && len(id) <= wire.MaxTaskID && !s.listsOwn(id, i) {
				continue
			}
			if all[len(all)-1] != '[' {
				all = append(all, ',')
			}
			all = append(all, raw...)
		}
	}
	return Result(append(all, "]}"...), nil)
}

// listsOwn reports whether a task that a member lists is its own. To list the task of another member
// does not take it over.
func (s *session) listsOwn(id string, member int) bool {
	b := s.bridge
	second := b.members[member].Name
	first := s.memory.tasks.claim(id, second, wire.MaxTasks, false)
	if first == second {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logOnce(b.members[member], fmt.Sprintf("task %.80q: both %s and %s have it; the one of %s is used", id, first, second, first))
	return false
}

// maxTaskPages bounds a member that never stops returning cursors.
const maxTaskPages = 100

// tasksOf returns the tasks of a member, at most wire.MaxTasks and those of one page more.
func tasksOf(ctx context.Context, sub Session, req *Request) (tasks [][]byte) {
	page := *req
	page.Take = nil
	var first, second, cursor []byte
	whole := -1 // tasks before an empty cursor
	for n := range maxTaskPages {
		reply := sub.Do(ctx, &page)
		own := bytes.Clone(wire.Lookup(reply.Result, "tasks"))
		next := bytes.Clone(wire.Lookup(reply.Result, "nextCursor"))
		reply.Free()
		if n == 0 {
			first, second = own, next
		} else if string(cursor) == `""` && (string(next) == `""` || bytes.Equal(own, first) || bytes.Equal(next, second)) {
			break // some servers end a list with an empty cursor, which begins it anew, changed perhaps
		}
		for raw := range wire.Elements(own) {
			tasks = append(tasks, raw)
		}
		if string(next) == `""` {
			if whole >= 0 {
				return tasks[:whole] // they have been read twice, with other cursors
			}
			whole = len(tasks)
		}
		if cursor = next; len(cursor) == 0 || cursor[0] != '"' || len(tasks) >= wire.MaxTasks {
			break
		}
		page.Edits = append(slices.Clip(req.Edits), wire.Edit{Key: wire.Cursor, Value: cursor})
	}
	return tasks
}
