package bridge

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Routes returns which member a request with a method goes to: the owner of the item of a kind that
// the parameter key names; ok is false for other methods. A front sets Request.Target by it.
func Routes(method string) (kind ListKind, key wire.Key, ok bool) {
	switch method {
	case wire.MethodToolsCall:
		return Tools, wire.Name, true
	case wire.MethodPromptsGet:
		return Prompts, wire.Name, true
	case wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe:
		return Resources, wire.URI, true
	}
	return 0, 0, false
}

// relayOf returns what carries out a method that names no owner in a parameter; nil for others.
func relayOf(method string) func(*session, context.Context, *Request) Reply {
	switch method {
	case wire.MethodComplete:
		return (*session).complete
	case wire.MethodSetLevel, wire.NotificationRootsChanged:
		return (*session).broadcast
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel, wire.MethodTasksUpdate:
		return (*session).task
	case wire.MethodTasksList:
		return (*session).listTasks
	}
	return nil
}

// notifies reports whether several members may send a notification of MCP that is not a list change.
func notifies(method string) bool {
	switch method {
	case wire.NotificationMessage, wire.NotificationResourceUpdated, wire.NotificationTaskStatus, wire.NotificationProgress,
		string(mcp.MethodNotificationElicitationComplete):
		return true
	}
	return false
}

// Relayed reports whether a Bridge carries out a method that names no owner in a parameter.
func Relayed(method string) bool { return relayOf(method) != nil }

// Do sends a request to the member that owns its target, or to all members. An only member gets
// requests of any other method too.
func (s *session) Do(ctx context.Context, req *Request) Reply {
	if kind, key, ok := Routes(req.Method); ok {
		return s.toOwner(ctx, kind, key, req)
	}
	if relay := relayOf(req.Method); relay != nil {
		return relay(s, ctx, req)
	}
	if req.Method == wire.MethodDiscover {
		return s.discover(ctx, req)
	}
	if kind, ok := ListKindOf(req.Method); ok && req.Target != "" {
		return s.reach(ctx, kind, req)
	}
	if len(s.subs) == 1 {
		return s.send(ctx, 0, req) // a vendor's method
	}
	return Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %s", req.Method))
}

// toOwner sends the request to the owner of its target.
func (s *session) toOwner(ctx context.Context, kind ListKind, key wire.Key, req *Request) Reply {
	r, err := s.route(ctx, kind, req.Target, req.Method != wire.MethodUnsubscribe)
	if err != nil {
		return Failed(err)
	}
	own := r.key != req.Target
	if own {
		below := *req
		below.Target = r.key
		below.Edits = append(slices.Clip(req.Edits), wire.Edit{Key: key, Value: wire.AppendString(nil, r.key)})
		if kind == Resources {
			below.Take = nil
		}
		req = &below
	}
	reply := s.send(ctx, r.member, req)
	if own && req.Method == wire.MethodResourcesRead {
		s.bridge.members[r.member].showContents(&reply)
	}
	if s.open && reply.Err != nil && reply.Err.Code == toolformat.NotFound && reply.Err.Raw == nil && kinds[kind].named {
		if v, err := s.view(ctx, kind); err == nil {
			reply.Err = v.list.Unknown(req.Target)
			return reply
		}
	}
	if len(s.subs) > 1 {
		s.rememberIn(req, &reply, r.member)
	}
	return reply
}

// Reach looks for an item that the list of a session does not have, and does not use it. It waits for the
// item's source as a call does. An error is that of a call: it says why the source is away. Without an error
// the list is up to date, whether or not it has the item.
func Reach(ctx context.Context, s Session, kind ListKind, key string) Reply {
	reply := s.Do(ctx, &Request{Method: kind.Method(), Target: key})
	reply.Free()
	if reply.Err != nil && reply.Err.NotRun {
		return reply
	}
	reply.Err = nil // the item is unknown, or the source does not have the method
	if l, err := s.List(ctx, kind); l == nil {
		reply.Err = notRun(err)
	}
	return reply
}

// reach answers Reach: it asks the owner of a target for its list.
func (s *session) reach(ctx context.Context, kind ListKind, req *Request) (reply Reply) {
	r, fault := s.route(ctx, kind, req.Target, true)
	if fault != nil {
		return Failed(fault)
	}
	defer func() { reply.Member = s.bridge.members[r.member].Name }()
	sub := s.subs[r.member]
	discovered := sub.Do(ctx, &Request{Method: wire.MethodDiscover}) // which waits for a server that connects
	discovered.Free()
	if _, err := sub.List(ctx, kind); err != nil {
		return Failed(notRun(err))
	}
	below := *req
	below.Target = r.key
	return sub.Do(ctx, &below)
}

var aboutResource = []byte(`"resource`)

// rememberIn remembers the task and the resources that the reply of one of several members names.
func (s *session) rememberIn(req *Request, reply *Reply, member int) {
	if reply.Err != nil {
		return
	}
	if req.Method == wire.MethodToolsCall && (s.tasking || req.Params != nil && req.Params.Get(wire.Task) != nil) {
		s.rememberTask(reply, member)
	}
	if req.Method != wire.MethodResourcesRead && bytes.Contains(reply.Result, aboutResource) {
		s.rememberNamed(reply.Result, member)
	}
}

// queueTime bounds the wait of a request for its member's Concurrency.
const queueTime = 30 * time.Second

// send sends a request to a member, when its Concurrency allows one more.
func (s *session) send(ctx context.Context, index int, req *Request) (reply Reply) {
	m := s.bridge.members[index]
	limiter := m.limiter
	if req.Method == wire.MethodTasksResult {
		limiter = nil // it waits for a task, which runs without it
	}
	queued, err := limiter.enter(ctx, s.caller.Principal, queueTime)
	defer func() {
		reply.Member, reply.Withheld = m.Name, false
		reply.Queued += queued
	}()
	if err != nil {
		if err.Code == toolformat.Unavailable {
			err.Message += " (concurrency in its config)"
		}
		return Failed(err)
	}
	defer limiter.Leave(s.caller.Principal)
	defer s.flushChanges()
	return s.subs[index].Do(ctx, req)
}

// complete sends a completion to the owner of the prompt or resource template that its ref names.
func (s *session) complete(ctx context.Context, req *Request) Reply {
	var ref []byte
	if req.Params != nil {
		ref = req.Params.Get(wire.Ref)
	}
	kind, member := Prompts, "name"
	if t, _ := wire.Text(wire.Lookup(ref, "type")); t == "ref/resource" {
		kind, member = Templates, "uri"
	} else if t != "ref/prompt" {
		return Failed(toolformat.Errorf(toolformat.Invalid, "%s: params.ref.type is %.40q, expected ref/prompt or ref/resource", req.Method, t))
	}
	target, ok := wire.Text(wire.Lookup(ref, member))
	if !ok {
		return Failed(toolformat.Errorf(toolformat.Invalid, "%s: params.ref.%s is missing or not a string", req.Method, member))
	}
	r, err := s.route(ctx, kind, target, true)
	if err != nil {
		return Failed(err)
	}
	if r.key == target {
		return s.send(ctx, r.member, req)
	}
	below := *req
	below.Edits = append(slices.Clip(req.Edits), wire.Edit{Key: wire.Ref, Value: wire.SetMember(ref, member, wire.AppendString(nil, r.key))})
	return s.send(ctx, r.member, &below)
}

// route looks a target up in the view that the caller has; a miss looks for a newer view, for which seek asks the
// members. An only member knows more than it lists.
func (s *session) route(ctx context.Context, kind ListKind, target string, seek bool) (route, *toolformat.Error) {
	if s.open || len(s.subs) == 1 && !kinds[kind].named && s.selection.has[0] {
		return route{key: target}, nil
	}
	if r, ok := s.bridge.uiOwner(target); ok && !kinds[kind].named && s.selection.has[r.member] {
		return r, nil // a page need not be listed
	}
	if v := s.views[kind].Load(); v != nil {
		if r, ok := v.routes[target]; ok {
			return r, nil
		}
	}
	v, r, ok, err := s.find(ctx, kind, target)
	var away error
	if err == nil && !ok && seek {
		away = s.reread(ctx, kind, target, v)
		v, r, ok, err = s.find(ctx, kind, target)
	}
	switch {
	case err != nil:
		return route{}, notRun(err)
	case ok:
		return r, nil
	case away != nil:
		return route{}, notRun(away)
	}
	return route{}, v.list.Unknown(target)
}

// notRun is toolformat.AsError for what keeps a call from reaching its member.
func notRun(err error) *toolformat.Error {
	own := *toolformat.AsError(err)
	own.NotRun = true
	return &own
}

// find looks a target up in the members' current lists. One of a completion, whose kind is Templates, may be the URI of a
// resource as well.
func (s *session) find(ctx context.Context, kind ListKind, target string) (v *view, r route, ok bool, err error) {
	if v, err = s.view(ctx, kind); err != nil {
		return nil, route{}, false, err
	}
	if r, ok = v.routes[target]; ok || kinds[kind].named {
		return v, r, ok, nil
	}
	resources, templates := v, v
	if kind == Templates {
		resources, err = s.view(ctx, Resources)
	} else {
		templates, err = s.view(ctx, Templates)
	}
	if err != nil {
		return nil, route{}, false, err
	}
	if r, ok = resources.routes[target]; ok {
		return v, r, true, nil
	}
	if r, ok = templates.match(target); ok {
		return v, r, true, nil
	}
	name, _ := s.memory.named.owner(target)
	member := s.index(name)
	return v, route{member, target}, member >= 0, nil
}

// reread handles a name that no list has. A member whose list has never been read is waited for, up
// to Options.Alone, if the name may be one of its own: it has the member's prefix, or neither has a
// prefix. The error says why such a member is away. The other members that may have the target are asked for their
// lists again: a server may not notify of a change, and one that is lazy may have to be started.
func (s *session) reread(ctx context.Context, kind ListKind, target string, v *view) error {
	wait, cancel := context.WithTimeout(ctx, s.bridge.opts.Alone)
	defer cancel()
	failures := make([]error, len(s.subs))
	prefixed := slices.ContainsFunc(s.bridge.members, func(m *member) bool {
		prefix := m.prefix(len(s.subs))
		return prefix != "" && strings.HasPrefix(target, prefix)
	})
	s.forAll(func(i int, sub Session) {
		prefix := s.bridge.members[i].prefix(len(s.subs))
		p, own := v.parts[i], prefix != "" && strings.HasPrefix(target, prefix)
		switch {
		case p.list == nil && (own || prefix == "" && !prefixed) && kinds[kind].named:
			if l, err := sub.List(wait, kind); l == nil {
				failures[i] = err
			}
		case p.list != nil && (own || prefix == "" || !kinds[kind].named):
			key := target
			if own {
				key = target[len(prefix):]
			}
			reply := sub.Do(wait, &Request{Method: kind.Method(), Target: key})
			reply.Free()
		}
	})
	return cmp.Or(failures...)
}

// broadcast sends the request to every member in parallel. It succeeds when a member does, or when
// none has the method, which the bridge offers for members that have it; else the first error in
// config order is the reply.
func (s *session) broadcast(ctx context.Context, req *Request) Reply {
	if len(s.subs) == 1 && s.selection.has[0] {
		return s.subs[0].Do(ctx, req)
	}
	replies := s.doAll(ctx, req)
	succeeded := func(r Reply) bool { return r.Err == nil }
	wanted := func(r Reply) bool { return r.Err == nil || r.Err.Code != toolformat.Unsupported }
	if !slices.ContainsFunc(replies, wanted) {
		return Result([]byte("{}"), nil)
	}
	return replies[max(slices.IndexFunc(replies, succeeded), 0)]
}

// doAll sends the request to every member in parallel. The replies are in config order.
func (s *session) doAll(ctx context.Context, req *Request) []Reply {
	below, replies := *req, make([]Reply, len(s.subs))
	below.Take = nil
	s.forAll(func(i int, sub Session) { replies[i] = sub.Do(ctx, &below) })
	return replies
}

// bridgeCapabilities are the ServerCapabilities of a Bridge, whether or not its members are up.
// Those that only some servers have are added when the servers declare them.
const bridgeCapabilities = `{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`

// maxInstructions bounds the instructions of several members, in bytes, which go into a model's
// context.
const maxInstructions = 16 << 10

// discover answers MCP's server/discover. The answer of an only member that is up is its own. Else
// it has serverInfo, capabilities and the instructions of all members, under their names.
func (s *session) discover(ctx context.Context, req *Request) Reply {
	wait, cancel := context.WithDeadline(ctx, s.waitEnd())
	if slices.ContainsFunc(s.bridge.members, func(m *member) bool { return m.Required }) {
		wait = ctx // each member bounds the wait by its connect timeout
	}
	defer cancel()
	replies := s.doAll(wait, req)
	if len(replies) == 1 && replies[0].Err == nil {
		return s.bridge.discovered(replies[0])
	}
	instructions, capabilities := "", []byte(bridgeCapabilities)
	for i, reply := range replies {
		m := s.bridge.members[i]
		if reply.Err != nil {
			if m.Required && s.selection.has[i] {
				return reply
			}
			continue
		}
		for _, name := range []string{"tasks", "extensions", "experimental"} {
			if v := wire.Lookup(reply.Result, "capabilities", name); v != nil {
				capabilities = wire.SetMember(capabilities, name, v)
			}
		}
		text, _ := wire.Text(wire.Lookup(reply.Result, "instructions"))
		if text = strings.TrimSpace(text); text != "" && len(instructions)+len(text) <= maxInstructions {
			instructions += "## " + m.Name + "\n\n" + text + "\n\n"
		}
	}
	b := append([]byte(nil), `{"capabilities":`...)
	b = append(append(append(b, capabilities...), `,"serverInfo":`...), s.bridge.opts.ServerInfo...)
	if instructions != "" {
		b = wire.AppendString(append(b, `,"instructions":`...), strings.TrimRight(instructions, "\n"))
	}
	return Result(append(b, '}'), nil)
}

// discovered completes the description that an only member gives of itself. Its lists may change
// without its doing, since the bridge may lose and find it.
func (b *Bridge) discovered(reply Reply) Reply {
	defer reply.Free()
	own := reply.Result
	if wire.Lookup(own, "serverInfo") == nil {
		own = wire.SetMember(own, "serverInfo", b.opts.ServerInfo)
	}
	capabilities := wire.Lookup(own, "capabilities")
	if tools := wire.Lookup(capabilities, "tools"); tools != nil {
		tools = wire.SetMember(tools, "listChanged", []byte("true"))
		own = wire.SetMember(own, "capabilities", wire.SetMember(capabilities, "tools", tools))
	}
	return Result(slices.Clone(own), nil)
}
