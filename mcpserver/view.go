package mcpserver

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// views are the open views of one connection, or of all HTTP clients.
type views struct {
	server *Server

	mu     sync.Mutex // guards what follows, and users, leased, left and tasks of the views in it
	open   map[viewKey][]*view
	count  int               // of them
	tasks  map[taskKey]*view // where a task was created
	posts  map[*exchange]struct{}
	closed bool
}

type viewKey struct {
	who          identity
	capabilities string
}

type taskKey struct {
	who identity
	id  string
}

// view is what one identity with certain capabilities sees of the source.
type view struct {
	key     viewKey
	source  bridge.Session
	askable bool // the client offers to be asked something
	tasking bool // it takes a task for a result
	users   int
	leased  bool      // by a call that may be asked something: nobody else could tell whose question it is
	left    time.Time // when the last request that used it has ended
	tasks   int       // that were created in it
	idle    *time.Timer
	tools   atomic.Pointer[bridge.List] // the last one; nil when it has changed since

	mu        sync.Mutex // guards what follows
	listeners map[*listener]struct{}
	watched   map[string]*watch // by the resource
	level     wire.LogLevel     // what the source's log was set to
}

const (
	viewIdle = time.Minute // how long a view outlives the last request that used it
	taskIdle = time.Hour   // the same for one in which a task was created: no other knows it
	maxViews = 100         // views of one identity with the same capabilities
)

// take finds or opens a view; leave must be called when the request has ended.
func (vs *views) take(ctx context.Context, who identity, capabilities []byte) (*view, *toolformat.Error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if all := vs.open[viewKey{who, string(capabilities)}]; len(all) > 0 {
		all[0].users++
		return all[0], nil
	}
	return vs.add(ctx, viewKey{who, string(capabilities)})
}

// lease finds or opens a view for a call that may be asked something: no other such call
// has it until leave.
func (vs *views) lease(ctx context.Context, key viewKey) (*view, *toolformat.Error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, v := range vs.open[key] {
		if !v.leased {
			v.users++
			v.leased = true
			return v, nil
		}
	}
	v, err := vs.add(ctx, key)
	if err == nil {
		v.leased = true
	}
	return v, err
}

// add opens a view for its first user; vs.mu is held.
func (vs *views) add(ctx context.Context, key viewKey) (*view, *toolformat.Error) {
	if vs.closed {
		return nil, toolformat.Errorf(toolformat.Unavailable, "the bridge is shutting down")
	}
	if len(vs.open[key]) >= maxViews {
		return nil, toolformat.Errorf(toolformat.Unavailable, "too many calls are under way that may ask something: %d", maxViews)
	}
	if most := vs.server.opts.Sessions; vs.count >= most && !vs.makeRoom() {
		return nil, toolformat.Errorf(toolformat.Unavailable, "too many clients of revision %s: %d (limits.sessions in the config)", wire.ModernRevision, most)
	}
	v, err := vs.server.newView(ctx, key)
	if err != nil {
		return nil, toolformat.Errorf(toolformat.Unavailable, "the bridge is shutting down").Because(err)
	}
	if vs.open == nil {
		vs.open, vs.tasks = map[viewKey][]*view{}, map[taskKey]*view{}
	}
	vs.open[key] = append(vs.open[key], v)
	vs.count++
	v.users = 1
	v.idle = time.AfterFunc(viewIdle, func() { vs.expire(v) })
	return v, nil
}

// leave ends a request's use of a view.
func (vs *views) leave(v *view, lease bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if lease {
		v.leased = false
	}
	v.users--
	v.left = time.Now()
}

// expire closes a view that nobody has used for its time. It runs now and then: to set
// a timer with each request would cost more.
func (vs *views) expire(v *view) {
	if vs.remove(v) {
		v.source.Close()
	}
}

// remove takes off a view whose time is over, else sees to it that it is looked at again.
func (vs *views) remove(v *view) bool {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	life := viewIdle
	if v.tasks > 0 {
		life = taskIdle
	}
	rest := life - time.Since(v.left)
	switch {
	case !slices.Contains(vs.open[v.key], v):
		return false // it has ended otherwise
	case v.users > 0:
		v.idle.Reset(viewIdle)
		return false
	case rest > 0:
		v.idle.Reset(rest)
		return false
	}
	vs.takeOff(v)
	return true
}

// takeOff forgets a view; vs.mu is held.
func (vs *views) takeOff(v *view) {
	vs.count--
	vs.open[v.key] = slices.DeleteFunc(vs.open[v.key], func(one *view) bool { return one == v })
	if len(vs.open[v.key]) == 0 {
		delete(vs.open, v.key)
	}
	maps.DeleteFunc(vs.tasks, func(_ taskKey, one *view) bool { return one == v })
}

// makeRoom ends the view unused longest, when that is long enough; vs.mu is held.
func (vs *views) makeRoom() bool {
	var oldest *view
	for _, some := range vs.open {
		for _, v := range some {
			if v.users == 0 && (oldest == nil || v.left.Before(oldest.left)) {
				oldest = v
			}
		}
	}
	if oldest == nil || time.Since(oldest.left) < idleEnough {
		return false
	}
	if !vs.server.start(func() { oldest.source.Close() }) {
		return false // it ends with the server
	}
	vs.server.log.Warn("ended the view unused longest: too many clients", "limit", vs.server.opts.Sessions)
	oldest.idle.Stop()
	vs.takeOff(oldest)
	return true
}

// enter notes a POST that ends with the views. A set is cheaper than a context that ends
// with either of two.
func (vs *views) enter(x *exchange) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.posts == nil {
		vs.posts = map[*exchange]struct{}{}
	}
	vs.posts[x] = struct{}{}
}

func (vs *views) exit(x *exchange) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	delete(vs.posts, x)
}

// close closes every view, and ends the POSTs that are under way.
func (vs *views) close() {
	vs.mu.Lock()
	all := vs.open
	vs.open, vs.closed = nil, true
	for x := range vs.posts {
		x.cancel(errEnded)
	}
	for _, some := range all {
		for _, v := range some {
			v.idle.Stop()
		}
	}
	vs.mu.Unlock()
	for _, some := range all {
		for _, v := range some {
			v.source.Close()
		}
	}
}

// do carries out a request in a view, and notes the task that it may have created.
func (vs *views) do(ctx context.Context, v *view, req *bridge.Request) bridge.Reply {
	reply := v.source.Do(ctx, req)
	if reply.Err != nil || req.Method != wire.MethodToolsCall || !v.tasking && req.Params.Get(wire.Task) == nil {
		return reply
	}
	id, ok := wire.CreatedTask(reply.Result)
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if ok && len(vs.tasks) < wire.MaxTasks && !vs.closed {
		v.tasks++
		vs.tasks[taskKey{v.key.who, id}] = v
	}
	return reply
}

// task carries out a request about a task where it was created: a source may know it
// nowhere else. Such a request asks nothing.
func (vs *views) task(ctx context.Context, v *view, m *wire.Message) bridge.Reply {
	id, ok := m.Params.Text(wire.TaskID)
	if !ok {
		return invalid("%s: params.taskId is missing or not a string", m.Method)
	}
	vs.mu.Lock()
	if creator := vs.tasks[taskKey{v.key.who, id}]; creator != nil {
		v = creator
	}
	v.users++
	vs.mu.Unlock()
	defer vs.leave(v, false)
	return complete(v.source.Do(ctx, &bridge.Request{Method: m.Method, Params: &m.Params}))
}

func (s *Server) newView(ctx context.Context, key viewKey) (*view, error) {
	v := &view{
		key:       key,
		askable:   string(bridge.Offers([]byte(key.capabilities))) != "{}",
		tasking:   wire.TakesTasks([]byte(key.capabilities)),
		listeners: map[*listener]struct{}{},
		watched:   map[string]*watch{},
	}
	source, err := s.source.Open(ctx, &bridge.Caller{
		ID:           "view " + newID(),
		Principal:    key.who.principal,
		HiddenValue:  key.who.value,
		Capabilities: []byte(key.capabilities),
		Modern:       true,
		Notify:       v.notify,
		Ask: func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
			return nil, toolformat.Errorf(toolformat.Unavailable, "a client of revision %s can be asked only along one of its requests", wire.ModernRevision)
		},
	})
	v.source = source
	return v, err
}

// tool is the definition of a tool. To ask for the list with each call would cost more
// than the rest of what the modern era adds to a small one.
func (v *view) tool(ctx context.Context, name string) (bridge.Item, bool) {
	if l := v.tools.Load(); l != nil {
		if it, ok := l.Find(name); ok {
			return it, true
		}
	}
	asked := new(bridge.List) // gives way to nil when the list changes meanwhile
	v.tools.Store(asked)
	l, err := v.source.List(ctx, bridge.Tools)
	if err != nil {
		return bridge.Item{}, false
	}
	v.tools.CompareAndSwap(asked, l)
	return l.Find(name)
}

// setLevel sets the source's log to the level that a request asks for, when it has not
// been set as low yet.
func (v *view) setLevel(ctx context.Context, level wire.LogLevel) {
	v.mu.Lock()
	lower := level > 0 && (v.level == 0 || level < v.level)
	if lower {
		v.level = level
	}
	v.mu.Unlock()
	if lower {
		params, _ := wire.SplitParams(wire.SetMember([]byte("{}"), "level", wire.AppendString(nil, level.String())))
		reply := v.source.Do(ctx, &bridge.Request{Method: wire.MethodSetLevel, Params: &params})
		reply.Free()
	}
}
