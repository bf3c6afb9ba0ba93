package mcpserver

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// viewPool holds the views of one connection, or of all HTTP clients. The modern era has no
// sessions: what a client sees of the source is kept between its requests in a view, which all
// requests of one identity with the same capabilities share.
type viewPool struct {
	server *Server
	ctx    context.Context // of the connection, or of the Server
	source bridge.Source   // of this connection alone, also for its legacy session; nil means that of the Server

	mu     sync.Mutex // guards the fields below, and those of the views that say so
	views  map[viewKey][]*view
	tasks  map[taskKey]*view      // the view in which a task was created
	order  map[*account][]taskKey // of tasks, oldest first, by the account of their principal
	posts  map[*http.Request]post // of the Server's pool alone
	closed bool
}

type viewKey struct {
	sender       identity
	capabilities string
	client       string // its clientInfo
}

// size returns the bytes that a client chooses.
func (k *viewKey) size() int { return len(k.capabilities) + len(k.client) }

type taskKey struct {
	sender identity
	id     string
}

// view is what one identity with certain capabilities sees of the source.
type view struct {
	key           viewKey
	account       *account      // of the sender's principal
	askable       bool          // the client offers to be asked something
	takesTasks    bool          // the client accepts a task for a result
	opened        chan struct{} // closed when source or failure is set
	source        bridge.Session
	failure       *toolformat.Error
	subscriptions subscriptions
	tools         knownTools
	level         atomic.Int32           // wire.LogLevel of the source's log
	token         atomic.Pointer[string] // that the sender has now: later requests about a task, or a parked call, may have another

	// The fields below are guarded by viewPool.mu.
	users  int       // requests, and the opening of the source
	leased bool      // to a call that may ask something: a question is that call's then
	left   time.Time // when the last request ended
	tasks  int       // created in the view
	given  bool      // what it takes of its account is given back
	idle   *time.Timer
}

const (
	viewIdle = time.Minute // how long a view outlives its last request
	taskIdle = time.Hour   // the same for a view in which a task was created, which no other view knows
	maxViews = 100         // views of one identity with the same capabilities
)

// use returns a view of the source. release must be called when the request has ended.
func (p *viewPool) use(ctx context.Context, sender identity, capabilities, client []byte) (*view, *toolformat.Error) {
	p.mu.Lock()
	if views := p.views[viewKey{sender, string(capabilities), string(client)}]; len(views) > 0 && views[0].source != nil {
		views[0].users++
		p.mu.Unlock()
		return views[0], nil
	}
	p.mu.Unlock()
	return p.claim(ctx, viewKey{sender, string(capabilities), string(client)}, false)
}

// claim finds or adds a view and waits until its source is open. A lease is for a call that may
// ask something: no other such call has the view until its release.
func (p *viewPool) claim(ctx context.Context, key viewKey, lease bool) (*view, *toolformat.Error) {
	v, err := p.findOrAdd(key, lease)
	if err != nil {
		return nil, err
	}
	select {
	case <-v.opened:
		err = v.failure
	case <-ctx.Done():
		err = toolformat.Errorf(toolformat.Canceled, "canceled")
	}
	if err != nil {
		p.release(v, lease)
		return nil, err
	}
	return v, nil
}

func (p *viewPool) findOrAdd(key viewKey, lease bool) (v *view, err *toolformat.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.views[key], func(v *view) bool { return !lease || !v.leased }); i >= 0 {
		v = p.views[key][i]
	} else if v, err = p.addView(key); err != nil {
		return nil, err
	}
	v.users++
	v.leased = v.leased || lease
	return v, nil
}

// addView adds a view whose source is opened in the background: a slow one holds up nothing but the
// requests for this view. p.mu is held.
func (p *viewPool) addView(key viewKey) (*view, *toolformat.Error) {
	own := p.server.opts().accounts.of(key.sender.principal)
	switch {
	case p.closed:
		return nil, shuttingDown(nil)
	case len(p.views[key]) >= maxViews:
		return nil, unavailable("too many pending calls that may ask something: %d", maxViews)
	case !own.take(openViews, 1) && !(p.evict(own) && own.take(openViews, 1)):
		return nil, own.exhausted("clients of revision "+wire.ModernRevision, openViews)
	case !own.hold(key.size()):
		own.give(openViews, 1)
		return nil, own.exhausted("bytes in flight", heldBytes)
	}
	v := &view{
		key:        key,
		account:    own,
		askable:    string(bridge.Offers([]byte(key.capabilities))) != "{}",
		takesTasks: wire.TakesTasks([]byte(key.capabilities)),
		opened:     make(chan struct{}),
		users:      1,

		subscriptions: subscriptions{listeners: map[*listener]struct{}{}, watched: map[string]*watch{}},
	}
	v.token.Store(&key.sender.token)
	if !p.server.start(func() { p.open(v) }) {
		v.giveBack()
		return nil, shuttingDown(nil)
	}
	if p.views == nil {
		p.views, p.tasks, p.order = map[viewKey][]*view{}, map[taskKey]*view{}, map[*account][]taskKey{}
	}
	p.views[key] = append(p.views[key], v)
	v.idle = time.AfterFunc(viewIdle, func() { p.expire(v) })
	return v, nil
}

// open opens the source for a view, and removes the view when that fails.
func (p *viewPool) open(v *view) {
	caller := v.key.sender.caller()
	if caller.Token != nil {
		caller.Token = func() string { return *v.token.Load() }
	}
	caller.ID, caller.Modern, caller.Revision, caller.Notify = "view "+newID(), true, wire.ModernRevision, v.notify
	caller.Info, caller.Capabilities = []byte(v.key.client), []byte(v.key.capabilities)
	caller.Ask = func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
		return nil, unavailable("a client of revision %s can be asked only during one of its requests", wire.ModernRevision)
	}
	source, failure := p.server.open(p.ctx, p.source, &caller)
	p.mu.Lock()
	if failure == nil && p.closed {
		failure = shuttingDown(nil)
		defer source.Close()
	}
	if failure == nil {
		v.source, v.subscriptions.source = source, source
	} else {
		v.failure = failure
		p.drop(v)
	}
	v.users--
	v.left = time.Now()
	close(v.opened)
	p.mu.Unlock()
}

// release ends a request's use of a view.
func (p *viewPool) release(v *view, lease bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lease {
		v.leased = false
	}
	v.users--
	v.left = time.Now()
}

// drop removes a view; p.mu is held.
func (p *viewPool) drop(v *view) {
	v.idle.Stop()
	v.giveBack()
	if rest := slices.DeleteFunc(p.views[v.key], func(other *view) bool { return other == v }); len(rest) > 0 {
		p.views[v.key] = rest
	} else {
		delete(p.views, v.key)
	}
	if v.tasks > 0 {
		maps.DeleteFunc(p.tasks, func(_ taskKey, creator *view) bool { return creator == v })
		p.order[v.account] = slices.DeleteFunc(p.order[v.account], func(k taskKey) bool { return p.tasks[k] == nil })
	}
}

// expire closes a view that is unused for long, and looks again later at one that is not. A timer
// set by each request would cost more.
func (p *viewPool) expire(v *view) {
	p.mu.Lock()
	rest := viewIdle
	switch {
	case v.users > 0:
	case v.tasks > 0:
		rest = taskIdle - time.Since(v.left)
	default:
		rest -= time.Since(v.left)
	}
	open := slices.Contains(p.views[v.key], v)
	if open && rest > 0 {
		v.idle.Reset(rest)
	} else if open {
		p.drop(v)
	}
	p.mu.Unlock()
	if open && rest <= 0 {
		v.source.Close()
	}
}

// giveBack gives back what the view takes of its account; p.mu is held.
func (v *view) giveBack() {
	if v.given {
		return
	}
	v.given = true
	v.account.give(openViews, 1)
	v.account.free(v.key.size())
}

// evict closes the view unused longest to make room, and reports whether it could: one of the same
// principal or, if that has not used up its share, of any. p.mu is held.
func (p *viewPool) evict(own *account) bool {
	if !own.maySearch(openViews) {
		return false
	}
	oldest := p.oldest(own)
	if oldest == nil && own.used[openViews].Load() < own.most[openViews].Load() {
		oldest = p.oldest(nil)
	}
	if oldest == nil || !p.server.start(func() { oldest.source.Close() }) {
		own.searchedInVain(openViews)
		return false
	}
	p.server.log.Log(slog.LevelWarn, "ended the view unused longest: too many clients", "principal", oldest.key.sender.principal.Name, "limit", own.most[openViews].Load())
	p.drop(oldest)
	return true
}

// oldest returns the view of a principal, or of any for nil, that is unused longest, and for at
// least idleEnough. p.mu is held.
func (p *viewPool) oldest(own *account) (oldest *view) {
	for _, views := range p.views {
		for _, v := range views {
			older := oldest == nil || v.left.Before(oldest.left)
			if older && (own == nil || v.account == own) && v.users == 0 && time.Since(v.left) >= idleEnough {
				oldest = v
			}
		}
	}
	return oldest
}

// addPost makes close and shutOut cancel an HTTP request, until removePost. A map is cheaper than a context
// that ends with either of two.
func (p *viewPool) addPost(r *http.Request, sender identity, cancel context.CancelCauseFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts[r] = post{cancel, sender}
	switch { // that may have been while its body came
	case p.closed:
		cancel(errClosing)
	case !p.server.opts().admits(&sender):
		cancel(errShutOut)
	}
}

func (p *viewPool) removePost(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.posts, r)
}

// close closes every view, and cancels the HTTP requests. Views that are being opened close later.
func (p *viewPool) close() {
	p.mu.Lock()
	views := slices.Concat(slices.Collect(maps.Values(p.views))...)
	p.views, p.closed = nil, true
	for _, v := range views {
		v.giveBack()
	}
	for _, pending := range p.posts {
		pending.cancel(errClosing)
	}
	for _, v := range views {
		v.idle.Stop()
	}
	p.mu.Unlock()
	p.server.parking.end(func(c *parkedCall) bool { return c.views == p })
	for _, v := range views {
		if v.source != nil {
			v.source.Close()
		}
	}
}

func (p *viewPool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// do carries out a request in a view, and records the task that it may create.
func (p *viewPool) do(ctx context.Context, v *view, req *bridge.Request) bridge.Reply {
	reply := v.source.Do(ctx, req)
	if reply.Err != nil || req.Method != wire.MethodToolsCall || !v.takesTasks && req.Params.Get(wire.Task) == nil {
		return reply
	}
	id, ok := wire.CreatedTask(reply.Result)
	if !ok {
		return reply
	}
	if p.sealsTasks() {
		reply = nameTask(reply, p.server.opts().Nodes.Seal(sealedTask, []byte(id)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.addTask(v, taskKey{v.key.sender.anyToken(), id})
	}
	return reply
}

// addTask remembers the view in which a task was created. Of a principal's tasks the oldest are
// forgotten first. p.mu is held.
func (p *viewPool) addTask(v *view, key taskKey) {
	if before := p.tasks[key]; before != nil {
		before.tasks--
	} else {
		p.order[v.account] = append(p.order[v.account], key)
	}
	v.tasks++
	p.tasks[key] = v
	if order := p.order[v.account]; len(order) > wire.MaxTasks {
		p.tasks[order[0]].tasks--
		delete(p.tasks, order[0])
		p.order[v.account] = order[1:]
	}
}

// tool returns the definition of a tool.
func (v *view) tool(ctx context.Context, name string) (bridge.Item, bool) {
	return v.tools.find(ctx, v.source, name)
}

// knownTools keeps the list of a session's tools: to read it for each call would cost more than the rest of what the
// server adds to a small call.
type knownTools struct {
	last atomic.Pointer[bridge.List] // nil when it has changed since
}

// find returns the definition of a tool of the session.
func (k *knownTools) find(ctx context.Context, source bridge.Session, name string) (bridge.Item, bool) {
	if l := k.last.Load(); l != nil {
		if it, ok := l.Find(name); ok {
			return it, true
		}
	}
	reading := new(bridge.List) // replaced by nil when the list changes meanwhile
	k.last.Store(reading)
	l, err := source.List(ctx, bridge.Tools)
	if err != nil {
		return bridge.Item{}, false
	}
	k.last.CompareAndSwap(reading, l)
	return l.Find(name)
}

// notified takes a notification of the session.
func (k *knownTools) notified(method string) {
	if method == wire.NotificationToolsChanged {
		k.last.Store(nil)
	}
}

// notify takes a notification of the source that belongs to no request.
func (v *view) notify(method string, params []byte) {
	v.tools.notified(method)
	v.subscriptions.notify(method, params)
}

// lowerLevel sets the level of the source's log to that of a request, if that is lower.
func (v *view) lowerLevel(ctx context.Context, level wire.LogLevel) {
	for level > 0 {
		current := v.level.Load()
		if current > 0 && current <= int32(level) {
			return
		}
		if v.level.CompareAndSwap(current, int32(level)) {
			sendParam(ctx, v.source, wire.MethodSetLevel, "level", level.String())
			if ctx.Err() != nil { // the source may not have got it: the next request sends it again
				v.level.CompareAndSwap(int32(level), 0)
			}
			return
		}
	}
}
