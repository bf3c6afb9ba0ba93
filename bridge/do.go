package bridge

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Route says which member a method's request goes to: the one that owns the item of
// Kind that the parameter Key names.
type Route struct {
	Kind ListKind
	Key  wire.Key
}

// Routes is the table of the methods that name their owner. A front fills
// Request.Target with it.
func Routes(method string) (Route, bool) {
	switch method {
	case wire.MethodToolsCall:
		return Route{Tools, wire.Name}, true
	case wire.MethodPromptsGet:
		return Route{Prompts, wire.Name}, true
	case wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe:
		return Route{Resources, wire.URI}, true
	}
	return Route{}, false
}

// Relayed reports whether a Bridge carries out a method that names no owner in a
// parameter of its own.
func Relayed(method string) bool {
	switch method {
	case wire.MethodComplete, wire.MethodSetLevel, wire.NotificationRootsChanged,
		wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel, wire.MethodTasksUpdate, wire.MethodTasksList:
		return true
	}
	return false
}

// Do routes a request to the member that owns its target, or to all of them.
func (s *session) Do(ctx context.Context, req *Request) Reply {
	if r, ok := Routes(req.Method); ok {
		return s.one(ctx, r, req)
	}
	switch req.Method {
	case wire.MethodDiscover:
		return s.discover(ctx, req)
	case wire.MethodComplete:
		return s.complete(ctx, req)
	case wire.MethodSetLevel, wire.NotificationRootsChanged:
		return s.all(ctx, req)
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel, wire.MethodTasksUpdate:
		return s.task(ctx, req)
	case wire.MethodTasksList:
		return s.listTasks(ctx, req)
	}
	return Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %s", req.Method))
}

// one sends the request to the owner of its target.
func (s *session) one(ctx context.Context, by Route, req *Request) Reply {
	r, err := s.find(ctx, by.Kind, req.Target)
	if err != nil {
		return Failed(err)
	}
	if r.key != req.Target {
		below := *req
		below.Target = r.key
		below.Edits = append(slices.Clip(req.Edits), wire.Edit{Key: by.Key, Value: wire.AppendString(nil, r.key)})
		req = &below
	}
	reply := s.send(ctx, r.member, req)
	if len(s.subs) > 1 && reply.Err == nil && (s.tasking || req.Params != nil && req.Params.Get(wire.Task) != nil) {
		s.owners.remember(reply.Result, r.member)
	}
	return reply
}

// send hands a request to a member, when it has room for one more.
func (s *session) send(ctx context.Context, index int, req *Request) Reply {
	m := s.bridge.members[index]
	if err := m.limiter.Enter(ctx, s.bridge.opts.QueueTime); err != nil {
		if err.Code == toolformat.Unavailable {
			err.Message += " (concurrency in its config)"
		}
		return Failed(err)
	}
	defer m.limiter.Leave()
	return s.subs[index].Do(ctx, req)
}

// complete sends a completion to the owner of the prompt or the resource template that
// its ref names.
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
	r, err := s.find(ctx, kind, target)
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

// find looks a target up in the view that the caller has; only a miss looks whether
// there is a newer one.
func (s *session) find(ctx context.Context, kind ListKind, target string) (route, *toolformat.Error) {
	if v := s.views[kind].Load(); v != nil {
		if r, ok := v.routes[target]; ok {
			return r, nil
		}
	}
	if len(s.subs) == 1 && !kinds[kind].named {
		return route{key: target}, nil // its server knows more URIs than it lists
	}
	v, err := s.view(ctx, kind)
	if err == nil {
		v, err = s.await(ctx, kind, target, v)
	}
	if err != nil {
		return route{}, toolformat.AsError(err)
	}
	if r, ok := v.routes[target]; ok {
		return r, nil
	}
	if kind == Resources {
		templates, err := s.view(ctx, Templates)
		if err != nil {
			return route{}, toolformat.AsError(err)
		}
		if r, ok := templates.match(target); ok {
			return r, nil
		}
	}
	e := toolformat.Errorf(toolformat.NotFound, "unknown %s: %s", kind.noun(), target)
	if near := nearest(target, v.list); near != "" {
		e.Message += " (did you mean " + near + "?)"
	}
	return route{}, e
}

// await waits for the member whose prefix a name has that the view lacks, as a lone one is
// waited for, when nothing is known of that member yet. It returns the view then; the error
// says why the member does not come.
func (s *session) await(ctx context.Context, kind ListKind, name string, v *view) (*view, error) {
	if _, ok := v.routes[name]; ok || !kinds[kind].named {
		return v, nil
	}
	for i, p := range v.parts {
		prefix := s.bridge.members[i].prefix(len(s.subs))
		if p.list != nil || prefix == "" || !strings.HasPrefix(name, prefix) {
			continue
		}
		wait, cancel := context.WithTimeout(ctx, s.bridge.opts.Alone)
		l, err := s.subs[i].List(wait, kind)
		cancel()
		if l == nil {
			return nil, err
		}
		return s.view(ctx, kind)
	}
	return v, nil
}

// nearest is the listed key that most likely was meant: the same in other letter case,
// or the same behind a prefix; "" when there is none or more than one.
func nearest(target string, l *List) string {
	found := ""
	for _, it := range l.Items {
		if strings.EqualFold(it.Key, target) || strings.HasSuffix(it.Key, toolformat.PrefixSeparator+target) {
			if found != "" {
				return ""
			}
			found = it.Key
		}
	}
	return found
}

// all sends the request to every member side by side. It succeeds when one of them
// does, or when none has the method, which the bridge itself offers for those that do;
// else the first error in config order is the reply.
func (s *session) all(ctx context.Context, req *Request) Reply {
	replies := s.each(ctx, req)
	best, wanted := 0, false
	for i := range replies {
		if replies[i].Err == nil && replies[best].Err != nil {
			best = i
		}
		wanted = wanted || replies[i].Err == nil || replies[i].Err.Code != toolformat.Unsupported
	}
	for i := range replies {
		if i != best {
			replies[i].Free()
		}
	}
	if !wanted {
		return Result([]byte("{}"), nil)
	}
	return replies[best]
}

// each sends the request to every member side by side, in config order.
func (s *session) each(ctx context.Context, req *Request) []Reply {
	replies := make([]Reply, len(s.subs))
	done := make(chan struct{}, len(s.subs))
	for i, sub := range s.subs {
		go func() {
			replies[i] = sub.Do(ctx, req)
			done <- struct{}{}
		}()
	}
	for range s.subs {
		<-done
	}
	return replies
}

// Capabilities is what a Bridge of MCP servers can do, whether or not they are up:
// MCP's ServerCapabilities. What only some servers can is added when they say so.
const Capabilities = `{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`

// instructionsBytes bounds the gathered instructions of several members: they end up
// in a model's context.
const instructionsBytes = 16 << 10

func (b *Bridge) required() bool {
	return slices.ContainsFunc(b.members, func(m *member) bool { return m.Required })
}

// discover says who the caller talks to, as MCP's server/discover does: serverInfo,
// instructions and capabilities. A lone member speaks for itself; several speak under
// their names.
func (s *session) discover(ctx context.Context, req *Request) Reply {
	wait, cancel := context.WithDeadline(ctx, s.until())
	if s.bridge.required() {
		wait = ctx // each ends its wait with its own connect timeout
	}
	defer cancel()
	replies := s.each(wait, req)
	info, instructions, capabilities := s.bridge.opts.ServerInfo, "", []byte(Capabilities)
	for i := range replies {
		if err := replies[i].Err; err != nil {
			if s.bridge.members[i].Required {
				return Failed(err)
			}
			continue
		}
		for _, name := range []string{"tasks", "extensions", "experimental"} {
			if v := wire.Lookup(replies[i].Result, "capabilities", name); v != nil {
				capabilities = wire.SetMember(capabilities, name, v)
			}
		}
		text, _ := wire.Text(wire.Lookup(replies[i].Result, "instructions"))
		if len(replies) == 1 {
			instructions = text
			if own := wire.Lookup(replies[i].Result, "serverInfo"); own != nil {
				info = own
			}
		} else if text = strings.TrimSpace(text); text != "" && len(instructions)+len(text) <= instructionsBytes {
			instructions += "## " + s.bridge.members[i].Name + "\n\n" + text + "\n\n"
		}
	}
	b := append([]byte(nil), `{"capabilities":`...)
	b = append(append(append(b, capabilities...), `,"serverInfo":`...), info...)
	if instructions != "" {
		b = wire.AppendString(append(b, `,"instructions":`...), strings.TrimRight(instructions, "\n"))
	}
	for i := range replies {
		replies[i].Free()
	}
	return Result(append(b, '}'), nil)
}
