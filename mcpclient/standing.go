package mcpclient

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What a caller asks for once and a server remembers, the resources it is told of and
// the level of its log, is kept here: a shared link asks its server once for all of
// them, and a new connection is asked again.

// levels are the severities of MCP's log messages, lowest first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// subscribe notes that a caller wants to be told of a resource; only the first one of a
// link is sent to the server.
func (l *link) subscribe(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	l.mu.Lock()
	first := len(l.watched[req.Target]) == 0
	if first {
		l.watched[req.Target] = map[*session]struct{}{}
	}
	l.watched[req.Target][s] = struct{}{}
	l.mu.Unlock()
	if !first {
		return bridge.Result([]byte("{}"), nil)
	}
	c, err := l.readyFor(ctx)
	if err != nil {
		l.unwatch(s, req.Target)
		return bridge.Failed(err)
	}
	if !c.legacy {
		l.watchModern(c, req.Target)
		return bridge.Result([]byte("{}"), nil)
	}
	reply := l.call(ctx, req, s)
	if reply.Err != nil {
		l.unwatch(s, req.Target)
	}
	return reply
}

// unsubscribe is the reverse: only the last one of a link is sent.
func (l *link) unsubscribe(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	if !l.unwatch(s, req.Target) {
		return bridge.Result([]byte("{}"), nil)
	}
	if c := l.conn.Load(); c != nil && !c.legacy {
		l.unwatchModern(req.Target)
		return bridge.Result([]byte("{}"), nil)
	}
	return l.call(ctx, req, s)
}

// unwatch forgets that a caller wants to be told of a resource; it reports whether
// nobody does any more.
func (l *link) unwatch(s *session, uri string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watched[uri], s)
	if len(l.watched[uri]) > 0 {
		return false
	}
	delete(l.watched, uri)
	return true
}

// updated tells the callers who asked for it that a resource has changed.
func (l *link) updated(params []byte) {
	uri, _ := wire.Text(wire.Lookup(params, "uri"))
	l.mu.Lock()
	defer l.mu.Unlock()
	for watched, sessions := range l.watched {
		// A server may name a part of what was subscribed to (2025-11-25, resources).
		if uri != watched && !strings.HasPrefix(uri, strings.TrimSuffix(watched, "/")+"/") {
			continue
		}
		for s := range sessions {
			s.notify(wire.NotificationResourceUpdated, params)
		}
	}
}

// maxTasks bounds the tasks of a link whose creators are remembered.
const maxTasks = 10_000

// noteTask notes who has created the task of a result, and is told of its status.
func (l *link) noteTask(result []byte, s *session) {
	if id, ok := wire.Text(wire.Lookup(result, "task", "taskId")); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.tasks) < maxTasks {
			l.tasks[id] = s
		}
	}
}

// task carries out a request about a task. On a shared link a caller reaches only the
// tasks that it has created.
func (l *link) task(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	if l.key.own {
		return l.call(ctx, req, s)
	}
	mine := func(id string) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.tasks[id] == s
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
	s := l.tasks[id]
	l.mu.Unlock()
	if s != nil {
		s.notify(wire.NotificationTaskStatus, params)
	}
}

// setLevel notes the level that a caller wants; the server is asked for the lowest of
// all.
func (l *link) setLevel(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	word, _ := wire.Text(wire.Lookup(req.Params.Raw, "level"))
	s.level.Store(int32(slices.Index(levels, word) + 1))
	lowest := l.lowest()
	if c := l.conn.Load(); c == nil || !c.legacy {
		return bridge.Result([]byte("{}"), nil) // a new connection will be told, or each request will say
	}
	if lowest == "" || lowest == word { // an unknown one is for the server to refuse
		return l.call(ctx, req, s)
	}
	return bridge.Result([]byte("{}"), nil)
}

// lowest is the lowest level that a caller of the link wants; "" when none has said.
func (l *link) lowest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	low := int32(0)
	for s := range l.sessions {
		if level := s.level.Load(); level > 0 && (low == 0 || level < low) {
			low = level
		}
	}
	if low == 0 {
		return ""
	}
	return levels[low-1]
}

// wants reports whether a caller wants a log message: one that has named no level gets
// what the server sends.
func (s *session) wants(message []byte) bool {
	word, _ := wire.Text(wire.Lookup(message, "level"))
	return int32(slices.Index(levels, word)+1) >= s.level.Load()
}

// forget drops what a caller asked for, and tells the server what nobody wants any
// more.
func (l *link) forget(s *session) {
	l.mu.Lock()
	var gone []string
	for uri, sessions := range l.watched {
		if _, ok := sessions[s]; ok && len(sessions) == 1 {
			gone = append(gone, uri)
		}
		delete(sessions, s)
	}
	for _, uri := range gone {
		delete(l.watched, uri)
	}
	maps.DeleteFunc(l.tasks, func(_ string, creator *session) bool { return creator == s })
	l.mu.Unlock()
	c := l.conn.Load()
	switch {
	case c == nil || len(gone) == 0:
	case !c.legacy:
		for _, uri := range gone {
			l.unwatchModern(uri)
		}
	default:
		c.background(func(ctx context.Context) {
			for _, uri := range gone {
				c.quietly(ctx, wire.MethodUnsubscribe, "uri", uri)
			}
		})
	}
}

// restore asks a new connection for what callers had asked the last one for.
func (l *link) restore(c *conn) {
	l.mu.Lock()
	uris := make([]string, 0, len(l.watched))
	for uri := range l.watched {
		uris = append(uris, uri)
	}
	l.mu.Unlock()
	level := l.lowest()
	if !c.legacy {
		for _, uri := range uris {
			l.watchModern(c, uri)
		}
		return
	}
	if level == "" && len(uris) == 0 {
		return
	}
	c.background(func(ctx context.Context) {
		if level != "" {
			c.quietly(ctx, wire.MethodSetLevel, "level", level)
		}
		for _, uri := range uris {
			c.quietly(ctx, wire.MethodSubscribe, "uri", uri)
		}
	})
}

// quietly sends a request of one string parameter for nobody's sake.
func (c *conn) quietly(ctx context.Context, method, key, value string) {
	params := wire.SetMember([]byte("{}"), key, wire.AppendString(nil, value))
	reply, err := c.request(ctx, method, params)
	if err != nil {
		c.flood.Log(slog.LevelWarn, "a request could not be repeated on the new connection", "method", method, key, value, "reason", err)
		return
	}
	reply.Free()
}
