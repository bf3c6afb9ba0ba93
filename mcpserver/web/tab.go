package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// tab is a client that lends tools: a page, or any other client on a connection.
type tab struct {
	group   *group
	client  *bridge.Caller  // nil where it is connected to another node
	node    *node           // that node, else nil
	limiter *bridge.Limiter // of its calls

	// The fields below are guarded by group.mu.
	left      bool
	id        string // by which a page that connects again is known
	info      Tab
	came      int64 // when its page did, as group.tick says, which orders the tabs; 0 while it lends nothing
	since     int64 // when its connection did
	focused   int64 // when it was; 0 if never
	loans     int   // counts the changes of info and tools
	tools     []*lentTool
	lastToken int64
	calls     map[int64]progress // by the token of their progress
}

// progress takes note of the progress of a call, as bridge.Progress does, and never blocks.
type progress func(progress, total float64, message string)

// loan is the params of a request that lends tools.
type loan struct {
	Page struct {
		ID      string `json:"id"`
		Title   string `json:"title"`
		URL     string `json:"url"`
		Focused bool   `json:"focused"`
	} `json:"page"`
	Tools []json.RawMessage `json:"tools"`
}

// refused is a tool that is not taken.
type refused struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// maxShown bounds what a client says of itself, in bytes.
const maxShown = 500

// Lend implements mcpserver.Lender.
func (t *tab) Lend(ctx context.Context, params *wire.Params) bridge.Reply {
	var given loan
	if err := json.Unmarshal(params.Raw, &given); err != nil || given.Tools == nil {
		return bridge.Failed(toolformat.Errorf(toolformat.Invalid, `mcpbridge/lend: expected params such as {"page": {"id": "x", "title": "Shop"}, "tools": [{"name": "find", "description": "…"}]}`))
	}
	g := t.group
	limits := g.lending.limits.Load()
	if len(given.Tools) > 4*limits.ClientTools { // also one that is refused takes its time
		return bridge.Failed(toolformat.Errorf(toolformat.Invalid, "mcpbridge/lend: %d tools: a client lends at most %d (lending.clientTools in the bridge's config)", len(given.Tools), limits.ClientTools))
	}
	tools, refusals := limits.readTools(given.Tools)
	tools, taken := g.untaken(ctx, t.client, tools)
	refusals = append(refusals, taken...)
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.left {
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "the connection has ended"))
	}
	if t.came == 0 && len(g.tabs) >= limits.Clients && g.indexOf(given.Page.ID) < 0 {
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "%d clients of one principal lend tools already (lending.clients in the bridge's config)", len(g.tabs)))
	}
	tools, crowded := g.admit(t, tools, limits.Tools)
	refusals = append(refusals, crowded...)
	if t.enter(&given) || !slices.EqualFunc(t.tools, tools, func(a, b *lentTool) bool { return string(a.raw) == string(b.raw) }) {
		t.tools = tools
		t.loans++
	}
	g.update(t)
	result, _ := json.Marshal(map[string]any{"tab": t.info.Tab, "refused": refusals}) // cannot fail: strings
	return bridge.Result(result, nil)
}

// readTools returns the tools of a loan that can be had, and why the others cannot.
func (l *Limits) readTools(definitions []json.RawMessage) (tools []*lentTool, refusals []refused) {
	refusals = []refused{}
	size := 0
	for _, raw := range definitions {
		tool, err := newLentTool(raw, l.ToolBytes)
		size += len(raw)
		switch {
		case err != nil:
		case slices.ContainsFunc(tools, func(other *lentTool) bool { return other.name == tool.name }):
			err = fmt.Errorf("there is another tool of this name")
		case len(tools) >= l.ClientTools:
			err = fmt.Errorf("a client lends at most %d tools (lending.clientTools in the bridge's config)", l.ClientTools)
		case size > l.ClientBytes:
			err = fmt.Errorf("the tools of a client have at most %d bytes (lending.clientBytes in the bridge's config)", l.ClientBytes)
		}
		if err != nil {
			refusals = append(refusals, refused{tool.name, err.Error()})
			continue
		}
		if !tool.debugging { // it is for those who look at the page
			tools = append(tools, tool)
		}
	}
	return tools, refusals
}

// enter makes the tab one of the group, in place of an earlier connection of the same page, and reports whether what
// callers are told of it has changed. group.mu is held.
func (t *tab) enter(given *loan) (changed bool) {
	g, handle := t.group, t.info.Tab
	if t.came == 0 {
		t.since = g.tick()
		t.came = t.since
		if i := g.indexOf(given.Page.ID); i >= 0 {
			handle, t.came, t.focused = g.tabs[i].info.Tab, g.tabs[i].came, g.tabs[i].focused
		} else {
			handle = g.lending.newHandle()
		}
		g.lenders = append(g.lenders, t)
	}
	id, info := t.id, t.info
	t.id = clip(given.Page.ID)
	name, _ := wire.Text(wire.Lookup(t.client.Info, "name"))
	t.info = Tab{Principal: g.principal.Name, Tab: handle, Title: clip(given.Page.Title), URL: clip(given.Page.URL), Client: clip(name), Tools: []string{}}
	if given.Page.Focused {
		t.focused = g.tick()
	}
	return t.id != id || !reflect.DeepEqual(t.info, info)
}

// indexOf returns the place of an earlier connection of a page, or -1. g.mu is held.
func (g *group) indexOf(page string) int {
	page = clip(page)
	return slices.IndexFunc(g.tabs, func(t *tab) bool { return page != "" && t.id == page })
}

// clip returns a text as it may be shown.
func clip(text string) string {
	visible, _ := toolformat.Visible(text)
	if len(visible) > maxShown {
		visible = visible[:maxShown]
	}
	return visible
}

// Notify implements mcpserver.Lender.
func (t *tab) Notify(method string, params *wire.Params) {
	g := t.group
	g.mu.Lock()
	if method != wire.NotificationProgress {
		defer g.mu.Unlock()
		if t.came > 0 && !t.left {
			g.focus(t, g.tick())
			g.lending.tellOthers(g) // though it was the latest here: others may know of a later one
		}
		return
	}
	token, _ := strconv.ParseInt(string(params.Get(wire.ProgressToken)), 10, 64)
	tell := t.calls[token]
	g.mu.Unlock()
	if tell == nil {
		return
	}
	var p struct {
		Progress, Total float64
		Message         string
	}
	if json.Unmarshal(params.Raw, &p) == nil {
		tell(p.Progress, p.Total, p.Message)
	}
}

// Leave implements mcpserver.Lender.
func (t *tab) Leave() {
	t.withdraw()
	t.group.release()
}

// withdraw takes back what the client lends, for good.
func (t *tab) withdraw() {
	g := t.group
	g.mu.Lock()
	defer g.mu.Unlock()
	t.left = true
	if i := slices.Index(g.lenders, t); i >= 0 {
		g.lenders = slices.Delete(g.lenders, i, i+1)
		g.update(t)
	}
}

// call has the client carry out a call, when it is the turn of that.
func (t *tab) call(ctx context.Context, tool *lentTool, arguments json.RawMessage, tell progress) (*toolformat.Result, error) {
	if err := t.limiter.Enter(ctx, t.group.principal, t.group.lending.limits.Load().Timeout); err != nil {
		return nil, err
	}
	defer t.limiter.Leave(t.group.principal)
	if t.node != nil {
		return t.node.call(ctx, t, tool.name, arguments, tell)
	}
	token, ok := t.begin(tell)
	if !ok {
		return nil, goneBefore(tool.name)
	}
	defer t.end(token)
	params := wire.AppendString([]byte(`{"name":`), tool.name)
	params = append(append(params, `,"arguments":`...), arguments...)
	params = append(strconv.AppendInt(append(params, `,"_meta":{"progressToken":`...), token, 10), "}}"...)
	result, failure := t.client.Ask(ctx, wire.MethodToolsCall, params)
	if failure == nil {
		return tool.result(result), nil
	}
	if errors.Is(failure.Cause, net.ErrClosed) && ctx.Err() == nil {
		t.withdraw() // Leave may come later; who knows that the client has gone must not see its tools any more
		return nil, toolformat.Errorf(toolformat.Unavailable, "tool %s: %s: it is unknown whether the call ran", tool.name, failure.Message)
	}
	return nil, failure
}

// goneBefore returns the error of a call that surely has not run.
func goneBefore(tool string) *toolformat.Error {
	gone := toolformat.Errorf(toolformat.Unavailable, "tool %s: the client that has it has gone before the call: call again", tool)
	gone.NotRun = true
	return gone
}

func (t *tab) begin(tell progress) (token int64, ok bool) {
	t.group.mu.Lock()
	defer t.group.mu.Unlock()
	t.lastToken++
	t.calls[t.lastToken] = tell
	return t.lastToken, !t.left
}

func (t *tab) end(token int64) {
	t.group.mu.Lock()
	defer t.group.mu.Unlock()
	delete(t.calls, token)
}
