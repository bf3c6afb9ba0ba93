package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// group is the clients of one principal that lend tools, and the sessions that see these.
type group struct {
	lending   *Lending
	principal bridge.Principal
	users     int // guarded by lending.mu

	offered atomic.Pointer[offered]

	mu       sync.Mutex // guards the fields below, and those of tabs that say so
	sessions map[*session]struct{}
	lenders  []*tab // that lend tools
	tabs     []*tab // the newest one of each page, in the order in which the pages came
	clock    int64  // the latest of the times that tabs have
}

// offered is the tools of a group. It is immutable.
type offered struct {
	tools  []toolformat.Tool
	shown  []shown // of each of tools
	byName map[string]*offer
	tabs   int
}

// shown identifies a definition as it is listed.
type shown struct {
	raw     string
	several bool
}

// offer is a tool, and the tabs that have it, newest first: those whose definition of it is the newest one.
type offer struct {
	tool *lentTool
	tabs []*tab
}

// A Tab describes a page, or another client that lends tools, to callers.
type Tab struct {
	Principal string `json:"-"` // of the client, and of the callers

	Tab     string   `json:"tab"`
	Title   string   `json:"title,omitempty"`
	URL     string   `json:"url,omitempty"`
	Client  string   `json:"client,omitempty"`
	Focused bool     `json:"focused"`
	Tools   []string `json:"tools"`
}

// Tools implements bridge.Functions.
func (g *group) Tools() []toolformat.Tool { return g.offered.Load().tools }

func (g *group) addSession(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sessions[s] = struct{}{}
}

func (g *group) removeSession(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, s)
}

// admit returns those of a tab's tools for which the group has room, and the others.
func (g *group) admit(t *tab, tools []*lentTool, most int) (admitted []*lentTool, crowded []refused) {
	names := map[string]bool{}
	for _, other := range g.tabs {
		if other != t {
			for _, tool := range other.tools {
				names[tool.name] = true
			}
		}
	}
	for _, tool := range tools {
		if names[tool.name] = true; len(names) > most {
			delete(names, tool.name)
			crowded = append(crowded, refused{tool.name, fmt.Sprintf("the clients of one principal lend at most %d tools (lending.tools in the bridge's config)", most)})
			continue
		}
		admitted = append(admitted, tool)
	}
	return admitted, crowded
}

// listTime bounds the wait for the tools of servers before a client's tools are taken.
const listTime = 2 * time.Second

// untaken returns those of a client's tools whose names nothing else has in its view, and the others.
func (g *group) untaken(ctx context.Context, client *bridge.Caller, tools []*lentTool) (untaken []*lentTool, taken []refused) {
	view := g.viewOf(client)
	if view == nil { // there is nobody yet to whom another tool could be shown
		return tools, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	list, _ := view.List(ctx, bridge.Tools)
	if list == nil { // nobody can be shown another tool now
		return tools, nil
	}
	for _, tool := range tools {
		if owner := view.owner(list, tool.name); owner != "" {
			taken = append(taken, refused{tool.name, owner})
		} else {
			untaken = append(untaken, tool)
		}
	}
	return untaken, taken
}

// viewOf returns the session of a client, else another one with its profile; nil if there is none.
func (g *group) viewOf(client *bridge.Caller) (view *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s := range g.sessions {
		if s.caller.ID == client.ID {
			return s
		}
		if s.caller.Profile == client.Profile {
			view = s
		}
	}
	return view
}

// update makes the tools of the tabs those offered after a change of one, and tells the sessions what has changed, and
// the other nodes what has of the tabs of this one. g.mu is held.
func (g *group) update(changed *tab) {
	here := g.here()
	g.arrange()
	before, now := g.offered.Load(), &offered{byName: map[string]*offer{}, tabs: len(g.tabs)}
	for _, t := range slices.Backward(g.tabs) {
		for _, tool := range t.tools {
			o := now.byName[tool.name]
			if o == nil {
				o = &offer{tool: tool}
				now.byName[tool.name] = o
			}
			if string(o.tool.raw) == string(tool.raw) {
				o.tabs = append(o.tabs, t)
			}
		}
	}
	for _, t := range g.tabs {
		for _, tool := range t.tools {
			o := now.byName[tool.name]
			if o.tabs[len(o.tabs)-1] != t {
				continue // the first that came has it: the order of tools does not depend on others
			}
			definition, several := o.tool.alone, len(o.tabs) > 1
			if several {
				definition = o.tool.several
			}
			now.tools, now.shown = append(now.tools, definition), append(now.shown, shown{string(o.tool.raw), several})
		}
	}
	same := slices.Equal(before.shown, now.shown)
	if same {
		now.tools, now.shown = before.tools, before.shown // the same slice is the same list, at once
	}
	g.offered.Store(now)
	if !same {
		g.notify(bridge.Tools.Changed(), nil)
	}
	if (before.tabs == 0) != (now.tabs == 0) {
		g.notify(bridge.Resources.Changed(), nil)
	}
	g.notify(wire.NotificationResourceUpdated, tabsUpdated)
	if changed.node == nil || !slices.Equal(here, g.here()) {
		g.lending.tellOthers(g)
	}
}

// here returns the tabs that are connected to this node. g.mu is held.
func (g *group) here() (all []*tab) {
	for _, t := range g.tabs {
		if t.node == nil {
			all = append(all, t)
		}
	}
	return all
}

// arrange sets the tabs. g.mu is held.
func (g *group) arrange() {
	newest := map[string]*tab{} // by page
	for _, t := range g.lenders {
		if other := newest[t.id]; other == nil || other.since < t.since {
			newest[t.id] = t
		}
	}
	g.tabs = nil
	for _, t := range g.lenders {
		if t.id == "" || newest[t.id] == t {
			g.tabs = append(g.tabs, t)
		}
	}
	slices.SortFunc(g.tabs, func(a, b *tab) int { return cmp.Or(cmp.Compare(a.came, b.came), cmp.Compare(a.info.Tab, b.info.Tab)) })
}

// tick returns a time, in nanoseconds since 1970 or more, that is later than all that this node knows of for the group:
// with it the nodes of a cluster agree on an order, whatever their clocks say. g.mu is held.
func (g *group) tick() int64 {
	g.clock = max(g.clock+1, time.Now().UnixNano())
	return g.clock
}

// runLength is how many characters begin the handles of a run, with a full stop behind them.
const runLength = 6

// newHandle returns a handle that no tab has had.
func (l *Lending) newHandle() string {
	handle := strconv.FormatInt(l.handles.Add(1), 10)
	if run := l.run.Load(); run != nil {
		return *run + handle
	}
	return handle
}

// isHandle reports whether text may be a handle, of this run or another one.
func isHandle(text string) bool {
	if run, number, ok := strings.Cut(text, "."); ok && len(run) == runLength {
		text = number
	}
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// describe returns what callers are told of the tabs.
func (g *group) describe() []Tab {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, now, latest := []Tab{}, g.offered.Load(), g.latest(g.tabs)
	for _, t := range g.tabs {
		info := t.info
		info.Focused, info.Tools = t == latest, []string{}
		for _, tool := range t.tools {
			if slices.Contains(now.byName[tool.name].tabs, t) {
				info.Tools = append(info.Tools, tool.name)
			}
		}
		all = append(all, info)
	}
	return all
}

// notify tells the sessions. g.mu is held.
func (g *group) notify(method string, params []byte) {
	for s := range g.sessions {
		if s.caller.Notify != nil && (method != wire.NotificationResourceUpdated || s.watching.Load()) {
			s.caller.Notify(method, params)
		}
	}
}

// latest returns the tab that was focused last, of several the one that came last if none was.
func (g *group) latest(tabs []*tab) (latest *tab) {
	for _, t := range tabs {
		if latest == nil || t.focused > latest.focused || t.focused == latest.focused && t.came > latest.came {
			latest = t
		}
	}
	return latest
}

// focus takes note of when a tab was focused, and tells the sessions if that changes which is the latest. g.mu is held.
func (g *group) focus(t *tab, at int64) {
	first, before := t.focused == 0, g.latest(g.tabs)
	if t.focused = at; first || g.latest(g.tabs) != before {
		g.notify(wire.NotificationResourceUpdated, tabsUpdated) // the tools are what they were
	}
}

// Call implements bridge.Functions.
func (g *group) Call(ctx context.Context, name string, arguments json.RawMessage) (*toolformat.Result, error) {
	o := g.offered.Load().byName[name]
	if o == nil {
		return nil, toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", name)
	}
	t, arguments, err := g.choose(o, arguments)
	if err != nil {
		return nil, err
	}
	return t.call(ctx, o.tool, arguments, func(progress, total float64, message string) { bridge.Progress(ctx, progress, total, message) })
}

const mostNamed = 10 // tabs, in an error

// choose returns the tab that carries out a call, and the arguments without its handle. The error is for the
// model.
func (g *group) choose(o *offer, arguments json.RawMessage) (*tab, json.RawMessage, error) {
	handle, ok := wire.Text(wire.Lookup(arguments, o.tool.argument))
	if len(o.tabs) == 1 && !(ok && isHandle(handle)) { // a tool of one tab may have such an argument that its schema does not name
		return o.tabs[0], arguments, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok {
		return g.latest(o.tabs), arguments, nil
	}
	var known []string
	for _, t := range slices.Backward(o.tabs) {
		if t.info.Tab == handle {
			return t, wire.CutMember(arguments, o.tool.argument), nil
		}
		known = append(known, strings.TrimSuffix(fmt.Sprintf("%s %.60q", t.info.Tab, t.info.Title), ` ""`))
	}
	if more := len(known) - mostNamed; more > 0 {
		known = append(known[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return nil, nil, fmt.Errorf("tool %s: no tab %.40q has it; those that do are %s", o.tool.name, handle, strings.Join(known, ", "))
}
