package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// GuardOptions are the settings of a Guard. The zero value does nothing.
type GuardOptions struct {
	// Hidden names the properties that callers neither see nor set, in any letter case and at any
	// depth: they are removed from the tools' schemas and from the arguments sent, and set from
	// Caller.HiddenValue wherever the schema has them, typed by it. A call for which a value is
	// missing is a failed result and does not reach the source. No error shows a value.
	Hidden []string

	// SharedValue looks up values that Caller.HiddenValue does not know, the same for all callers;
	// may be nil.
	SharedValue func(name string) (value []byte, ok bool)

	// Validate checks arguments against their tool's schema before the call, and sends them as
	// toolformat's Checker.Arguments has corrected them.
	Validate bool

	Log *slog.Logger // nil discards
}

// A Guard wraps a source: for each call it fills in hidden arguments, validates the others, or
// both. It may be used from many goroutines.
type Guard struct {
	Source  // opens sessions of the guard
	opts    GuardOptions
	folded  []string           // opts.Hidden, to compare keys with
	lowered [][]byte           // the same with the bit set in each byte that a small letter has, for mayBeIn
	least   int                // the length of the shortest of them, in characters
	without *toolformat.Binder // for tools whose definitions do not contain these names; nil without Hidden
	last    atomic.Pointer[guardedList]
}

// NewGuard returns a guard of a source, which stays its owner's to close.
func NewGuard(source Source, opts GuardOptions) *Guard {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	g := &Guard{opts: opts, least: math.MaxInt}
	for _, name := range opts.Hidden {
		name = fold(name)
		g.least = min(g.least, utf8.RuneCountInString(name))
		lowered := []byte(name)
		for i := range lowered {
			lowered[i] |= 0x20
		}
		g.folded, g.lowered = append(g.folded, name), append(g.lowered, lowered)
	}
	if len(opts.Hidden) > 0 {
		g.without, _ = toolformat.NewFiller([]byte(anyArguments), opts.Hidden, nil)
	}
	g.Source = &guardSource{g, source}
	return g
}

// guardSource opens sessions of a guard, which learn when the list of the source below changes.
type guardSource struct {
	guard *Guard
	below Source
}

func (o *guardSource) Open(ctx context.Context, caller *Caller) (Session, error) {
	s := &guardSession{guard: o.guard, caller: caller}
	for _, name := range o.guard.opts.Hidden {
		if value, ok := caller.lasting(o.guard.opts.SharedValue, name); ok {
			s.secrets = s.secrets.with(value)
		}
	}
	below := *caller
	below.Notify = func(method string, params []byte) {
		if method == wire.NotificationToolsChanged {
			s.outdated.Store(true)
		}
		caller.notify(method, s.secrets.hideNotification(params))
	}
	var err error
	s.Session, err = o.below.Open(ctx, &below)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Problems names the tools of the last list that are left out, since their schema cannot be read or
// shown without hidden properties, and the hidden properties that no tool has.
func (g *Guard) Problems() []Problem {
	if v := g.last.Load(); v != nil {
		return v.problems
	}
	return nil
}

// guardedList is a rewritten tool list.
type guardedList struct {
	from, list *List
	tools      map[string]*guardedTool
	problems   []Problem
}

type guardedTool struct {
	check  *toolformat.Checker // of the visible arguments; nil without Validate
	hidden *toolformat.Binder  // takes the hidden properties away and sets them; nil without Hidden
	has    bool                // its schema has hidden properties
	alike  bool                // which get the same values in each call
	names  []string            // of them
}

// guarded rewrites a tool list; equal lists share a result.
func (g *Guard) guarded(from *List) *guardedList {
	last := g.last.Load()
	if last != nil && !from.private && last.from.Equal(from) {
		same := *last
		same.from = from
		return &same
	}
	v := &guardedList{from: from, tools: make(map[string]*guardedTool, len(from.Items))}
	v.list = from.rewrite(func(it Item) (Item, bool) {
		own, tool, err := g.tool(it)
		if err != nil {
			v.problems = append(v.problems, Problem{Text: fmt.Sprintf("tool %s: %v", it.Key, err), LeftOut: true, Key: it.Key})
			return it, false
		}
		if v.tools[it.Key] == nil { // the first of two tools with one name counts
			v.tools[it.Key] = tool
		}
		return own, true
	})
	for _, name := range g.opts.Hidden {
		has := func(t *guardedTool) bool { return slices.Contains(t.names, name) }
		if len(v.tools) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(v.tools)), has) {
			v.problems = append(v.problems, Problem{Text: fmt.Sprintf("context: no tool has a property %s", name)})
		}
	}
	g.last.Store(v)
	if last == nil || !slices.Equal(last.problems, v.problems) {
		for _, p := range v.problems {
			g.opts.Log.Warn(p.Text)
		}
	}
	return v
}

// tool returns a tool without its hidden arguments. The error says why they cannot be removed.
func (g *Guard) tool(it Item) (Item, *guardedTool, error) {
	t := &guardedTool{hidden: g.without}
	mentions := g.mayBeInDefinition(it.Raw)
	if !mentions && !g.opts.Validate {
		return it, t, nil
	}
	schema := json.RawMessage(wire.Lookup(it.Raw, "inputSchema"))
	if schema == nil {
		schema = json.RawMessage(anyArguments)
	}
	var err error
	if mentions {
		if it.Raw, err = g.hide(it, t, schema); err != nil {
			return it, nil, err
		}
		schema = t.hidden.Visible()
	}
	if g.opts.Validate {
		t.check, _, err = toolformat.NewChecker(schema)
	}
	return it, t, err
}

// hide returns the definition of a tool without its hidden properties.
func (g *Guard) hide(it Item, t *guardedTool, schema json.RawMessage) (raw []byte, err error) {
	raw = it.Raw
	if t.hidden, err = toolformat.NewFiller(schema, g.opts.Hidden, nil); err != nil {
		return nil, err
	}
	if visible := t.hidden.Visible(); !bytes.Equal(visible, schema) {
		t.has, t.alike, raw = true, t.hidden.Alike(), wire.SetMember(raw, "inputSchema", visible)
		for _, name := range g.opts.Hidden {
			if bytes.Contains(bytes.ToLower(schema), wire.AppendString(nil, strings.ToLower(name))) {
				t.names = append(t.names, name)
			}
		}
	}
	output := wire.Lookup(it.Raw, "outputSchema")
	if output == nil {
		return raw, nil
	}
	visible, err := toolformat.HideProperties(output, g.opts.Hidden)
	if err == nil && !bytes.Equal(visible, output) {
		raw = wire.SetMember(raw, "outputSchema", visible)
	}
	return raw, err
}

// filledMembers are what is filled in each call of a tool: members of an object with commas between. They do not
// change any more.
type filledMembers map[*guardedTool][]byte

// guardSession is a caller's view of a Guard.
type guardSession struct {
	Session
	guard   *Guard
	caller  *Caller
	secrets *Secrets                    // the hidden values that are the same for all calls; nil means none
	seen    atomic.Pointer[guardedList] // of the last list
	filled  atomic.Pointer[filledMembers]

	spare atomic.Pointer[keptRequest] // for the next call

	outdated atomic.Bool // there is another list than the last one
}

func (s *guardSession) List(ctx context.Context, kind ListKind) (*List, error) {
	l, err := s.Session.List(ctx, kind)
	if fault, ok := err.(*toolformat.Error); ok {
		err = s.secrets.hideReply(Failed(fault)).Err
	}
	if kind != Tools || l == nil {
		return l, err
	}
	return s.guarded(l).list, err
}

func (s *guardSession) guarded(l *List) *guardedList {
	v := s.seen.Load()
	if v == nil || v.from != l {
		v = s.guard.guarded(l)
		s.seen.Store(v)
		s.filled.Store(nil)
	}
	return v
}

// tool returns the tool of a name. It reads the list only if that has changed, or lacks the name.
func (s *guardSession) tool(ctx context.Context, name string) (*guardedTool, *toolformat.Error) {
	if v := s.seen.Load(); v != nil && !s.outdated.Load() {
		if tool := v.tools[name]; tool != nil {
			return tool, nil
		}
	}
	for again := false; ; again = true {
		s.outdated.Store(false)
		l, fault := listTools(ctx, s.Session)
		if fault != nil {
			s.outdated.Store(true)
			return nil, notRun(fault) // only a list was asked for
		}
		v := s.guarded(l)
		if tool := v.tools[name]; tool != nil {
			return tool, nil
		}
		if again {
			return nil, v.list.Unknown(name)
		}
		if reply := Reach(ctx, s.Session, Tools, name); reply.Err != nil {
			return nil, reply.Err
		}
	}
}

func (s *guardSession) Do(ctx context.Context, req *Request) Reply {
	switch req.Method {
	case wire.MethodToolsCall:
		return s.call(ctx, req)
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel, wire.MethodTasksUpdate, wire.MethodTasksList:
		return s.task(ctx, req)
	default:
		return s.secrets.hideError(s.doKeeping(ctx, req, s.secrets))
	}
}

// keptRequest is a request below a Guard.
type keptRequest struct {
	Request
	edits [2]wire.Edit // as many as there are in general
}

// doKeeping carries out a request of which no message shows the secrets, with more edits.
func (s *guardSession) doKeeping(ctx context.Context, req *Request, secrets *Secrets, more ...wire.Edit) Reply {
	if secrets == nil && len(more) == 0 {
		return s.Session.Do(ctx, req)
	}
	own := s.spare.Swap(nil)
	if own == nil {
		own = &keptRequest{}
	}
	own.Request = *req
	own.Edits = append(append(own.edits[:0], req.Edits...), more...)
	if secrets != nil {
		own.Secrets, own.Take = secrets, nil
		if req.Back != nil {
			own.Back = &secretBack{req.Back, secrets} // its own memory: a server may still notify when the call has ended
		}
	}
	reply := s.Session.Do(ctx, &own.Request)
	*own = keptRequest{}
	s.spare.Store(own)
	return reply
}

// call calls a tool with arguments that are checked and have the hidden values.
func (s *guardSession) call(ctx context.Context, req *Request) Reply {
	tool, fault := s.tool(ctx, req.Target)
	if fault != nil {
		return s.secrets.hideReply(Failed(fault))
	}
	sent := req.Params.Edited(wire.Arguments, req.Edits)
	if len(sent) == 0 || string(sent) == "null" {
		sent = []byte("{}")
	}
	arguments, added, secrets, err := s.arguments(ctx, tool, req.Target, sent)
	if err != nil {
		return Result(toolformat.TextResult(err.Error(), true).JSON, nil)
	}
	var all [2]wire.Edit
	edits := all[:0]
	if !bytes.Equal(arguments, sent) {
		edits = append(edits, wire.Edit{Key: wire.Arguments, Value: arguments})
	}
	if len(added) > 0 {
		edits = append(edits, wire.Edit{Key: wire.Arguments, Add: true, Value: added})
	}
	return secrets.hideCall(s.doKeeping(ctx, req, secrets, edits...))
}

// task answers a request about a task, of which it is not known which hidden values its tool got.
func (s *guardSession) task(ctx context.Context, req *Request) Reply {
	secrets := s.secrets
	for _, name := range s.guard.opts.Hidden {
		if value, _, ok := s.caller.hidden(ctx, s.guard.opts.SharedValue, name); ok {
			secrets = secrets.with(value)
		}
	}
	return secrets.hideTask(s.doKeeping(ctx, req, secrets))
}

// arguments returns the arguments that the tool gets, members that are added to these, and the secrets of the call.
// The error is for the model.
func (s *guardSession) arguments(ctx context.Context, t *guardedTool, tool string, sent json.RawMessage) (arguments, added json.RawMessage, _ *Secrets, err error) {
	if t.hidden == nil {
		sent, err := t.checked(tool, sent)
		return sent, nil, s.secrets, err
	}
	if sent[0] != '{' { // hidden arguments in a string could not be removed
		return nil, nil, nil, fmt.Errorf("invalid arguments for tool %s: expected an object", tool)
	}
	mentioned := s.guard.isMentioned(sent)
	if mentioned {
		sent, err = t.hidden.Bind(tool, sent, nil)
	}
	if err == nil {
		sent, err = t.checked(tool, sent)
	}
	changed := mentioned || t.check != nil
	if err != nil || !t.has && !(changed && s.guard.isMentioned(sent)) { // else the arguments keep their bytes
		return sent, nil, s.secrets, err
	}
	return s.fill(ctx, t, tool, sent)
}

// fill sets the hidden values in arguments that have none of their names. It returns the arguments, members that are
// still to be added to these, and the secrets of the call: the session's, and those values that are the call's own.
func (s *guardSession) fill(ctx context.Context, t *guardedTool, tool string, sent json.RawMessage) (arguments, added json.RawMessage, _ *Secrets, err error) {
	before := s.filled.Load()
	if before != nil {
		if members, ok := (*before)[t]; ok {
			return sent, members, s.secrets, nil
		}
	}
	secrets, into := s.secrets, sent
	if t.alike {
		into = json.RawMessage("{}")
	}
	filled, err := t.hidden.Bind(tool, into, func(name string) (json.RawMessage, bool) {
		value, lasts, ok := s.caller.hidden(ctx, s.guard.opts.SharedValue, name)
		if ok && !lasts {
			secrets = secrets.with(value)
		}
		return value, ok
	})
	if err != nil || !t.alike {
		return filled, nil, secrets, err
	}
	members := filled[1 : len(filled)-1]
	if secrets == s.secrets {
		after := filledMembers{t: members}
		if before != nil {
			maps.Copy(after, *before)
		}
		s.filled.CompareAndSwap(before, &after)
	}
	return sent, members, secrets, nil
}

// checked returns arguments as the Checker has corrected them.
func (t *guardedTool) checked(tool string, arguments json.RawMessage) (json.RawMessage, error) {
	if t.check == nil {
		return arguments, nil
	}
	return t.check.Arguments(tool, arguments)
}

// isMentioned reports whether a value has a key with a hidden name in it, at any depth.
func (g *Guard) isMentioned(value json.RawMessage) bool {
	if !g.mayBeIn(value) {
		return false
	}
	for written := range keysIn(value) {
		if len(written)-len(`""`) < g.least || !g.mayBeIn(written) {
			continue
		}
		key, _ := wire.Text(written)
		key = fold(key)
		if slices.ContainsFunc(g.folded, func(name string) bool { return strings.Contains(key, name) }) {
			return true
		}
	}
	return false
}

// mayBeIn reports whether a value may have a hidden name in it. It is quick for the small values that are most.
func (g *Guard) mayBeIn(value []byte) bool {
	const each = 0x0101010101010101
	var lowered [256]byte
	if len(value) > len(lowered) {
		return true
	}
	text := lowered[:0]
	for ; len(value) >= 8; value = value[8:] {
		eight := binary.LittleEndian.Uint64(value)
		if backslash := eight ^ '\\'*each; (eight|(backslash-each)&^backslash)&(0x80*each) != 0 { // it may stand for a letter
			return true
		}
		text = binary.LittleEndian.AppendUint64(text, eight|0x20*each)
	}
	for _, c := range value {
		if c == '\\' || c >= utf8.RuneSelf {
			return true
		}
		text = append(text, c|0x20)
	}
	return slices.ContainsFunc(g.lowered, func(name []byte) bool { return bytes.Contains(text, name) })
}

// mayBeInDefinition reports whether a definition may have a hidden name in it.
func (g *Guard) mayBeInDefinition(raw []byte) bool {
	if len(g.folded) == 0 {
		return false
	}
	if bytes.Contains(raw, []byte(`\u`)) || !isASCII(raw) { // they may stand for letters
		return true
	}
	lower := bytes.ToLower(raw)
	return slices.ContainsFunc(g.folded, func(name string) bool { return bytes.Contains(lower, []byte(name)) })
}

// fold maps texts that differ in letter case only to one.
func fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }
