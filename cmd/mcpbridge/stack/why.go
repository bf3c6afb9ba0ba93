package stack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Reasons say why a caller has a tool or does not.
type Reasons struct {
	Ways []Way    `json:"ways"`           // of each tool that the name may mean
	Near string   `json:"near,omitempty"` // the nearest name, if there is no way
	Away []string `json:"away"`           // servers of which it is not known what they have, and why
}

// A Way is that of one tool from its server to a caller.
type Way struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`           // the server's own name of it
	Name   string `json:"name,omitempty"` // by which the caller knows it; "" if it does not
	Steps  []Step `json:"steps"`
}

// A Step says what one layer does to the tool.
type Step struct {
	Layer string `json:"layer"`
	Text  string `json:"text"`
	Ends  bool   `json:"ends,omitempty"` // the tool goes no further
}

// whyTime bounds how long Why waits for lists.
const whyTime = 4 * time.Second

// Why says what becomes of a tool on its way through the layers to a caller. The name may be the one by which
// the operator knows it, or the server's own.
func (s *Stack) Why(ctx context.Context, caller *bridge.Caller, name string) *Reasons {
	ctx, cancel := context.WithTimeout(ctx, whyTime)
	defer cancel()
	l := s.look(ctx, caller)
	r := &Reasons{Ways: []Way{}, Away: []string{}}
	for _, of := range l.meant(name) {
		r.Ways = append(r.Ways, l.way(of))
	}
	if len(r.Ways) == 0 {
		r.Near = toolformat.Closest(name, l.names())
	}
	for _, server := range s.cfg.Servers {
		if own := l.members[server.Name]; own.defined == nil {
			r.Away = append(r.Away, server.Name+": "+s.whyAway(server.Name, own.err))
		}
	}
	return r
}

// Profile returns the name of the profile that a caller has, "" without one.
func (s *Stack) Profile(caller *bridge.Caller) string { return s.access.Of(caller) }

// looked is the tools of a caller in all layers at one time.
type looked struct {
	*Stack
	caller  *bridge.Caller
	members map[string]*lookedMember
	all     []seenList // by Stack.layers
	shown   *bridge.List
}

// lookedMember is the tools of a member of the bridge.
type lookedMember struct {
	layers  layers
	defined *bridge.List // whether or not a caller may have them; nil if that is not known
	err     error        // why
	lists   []seenList   // by layers
}

type seenList struct {
	*bridge.List // nil if there is none
	err          error
}

// look lists the tools in all layers, all at once: it takes as long as the slowest server.
func (s *Stack) look(ctx context.Context, caller *bridge.Caller) *looked {
	l := &looked{Stack: s, caller: caller, members: map[string]*lookedMember{}, all: make([]seenList, len(s.layers))}
	everything := *caller
	everything.Operator, everything.Profile, everything.Profiles, everything.Members = true, "", nil, nil
	var work sync.WaitGroup
	lists := func(of layers, to []seenList) {
		for i := range of {
			work.Go(func() { to[i].List, to[i].err = of[i].list(ctx, caller) })
		}
	}
	for name, of := range s.members {
		own := &lookedMember{layers: of, lists: make([]seenList, len(of))}
		l.members[name] = own
		work.Go(func() { own.defined, own.err = of[0].list(ctx, &everything) })
		lists(of, own.lists)
	}
	lists(s.layers, l.all)
	work.Go(func() { l.shown, _ = s.layers[0].list(ctx, &everything) })
	work.Wait()
	if l.shown == nil {
		l.shown = bridge.NewList(bridge.Tools, nil)
	}
	return l
}

// toolOf identifies a tool by its server, and the server's own name of it.
type toolOf struct{ server, tool string }

// meant returns the tools that a name may mean, each once.
func (l *looked) meant(name string) (all []toolOf) {
	add := func(of toolOf) {
		if !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	for _, list := range []*bridge.List{l.all[len(l.all)-1].List, l.shown} {
		if it, ok := find(list, name); ok && it.Member != "" {
			add(toolOf{it.Member, own(&it)})
		}
	}
	for _, server := range slices.Sorted(maps.Keys(l.members)) {
		for _, own := range []string{name, strings.TrimPrefix(name, toolformat.Prefix(server))} {
			if _, ok := find(l.members[server].defined, own); ok || l.leftOut(server, own) != "" {
				add(toolOf{server, own})
			}
		}
	}
	if len(l.lenders(name)) > 0 {
		add(toolOf{lentTools, name})
	}
	if owner := l.bridge.Owner(name); owner != "" && len(all) == 0 {
		add(toolOf{owner, strings.TrimPrefix(name, toolformat.Prefix(owner))})
	}
	return all
}

// names returns all names by which a tool is known to someone.
func (l *looked) names() (all []string) {
	for _, it := range l.shown.Items {
		all = append(all, it.Key, own(&it))
	}
	for _, own := range l.members {
		if own.defined != nil {
			for _, it := range own.defined.Items {
				all = append(all, it.Key)
			}
		}
	}
	for _, t := range l.pool.lending.Tabs() {
		all = append(all, t.Tools...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// own returns the name that a tool has at its server.
func own(it *bridge.Item) string { return cmp.Or(it.Own, it.Key) }

func find(l *bridge.List, name string) (it bridge.Item, ok bool) {
	if l == nil {
		return bridge.Item{}, false
	}
	return l.Find(name)
}

// way follows a tool from its server to the caller.
func (l *looked) way(of toolOf) Way {
	w := Way{Server: of.server, Tool: of.tool}
	var ok bool
	var it bridge.Item
	if of.server == lentTools {
		text, ends := l.whyLent(of.tool)
		it.Key, ok = of.tool, w.add("lending", text, ends)
	} else {
		it, ok = l.throughMember(&w, of)
	}
	for i := 0; ok && i < len(l.layers); i++ {
		it, ok = l.through(&w, i, it)
	}
	if ok {
		w.Name = it.Key
		w.add("client", "it is listed to this client as "+it.Key+l.whyEra(&it), false)
	}
	return w
}

// add adds a step, and reports whether the tool goes on.
func (w *Way) add(layer, text string, ends bool) (goesOn bool) {
	if text != "" {
		w.Steps = append(w.Steps, Step{layer, text, ends})
	}
	return !ends
}

// throughMember follows a tool through the layers of its server.
func (l *looked) throughMember(w *Way, of toolOf) (it bridge.Item, ok bool) {
	own := l.members[of.server]
	it, ok = find(own.defined, of.tool)
	if text, ends := l.whyDefined(of, ok); !w.add(own.layers[0].name, text, ends) {
		return it, false
	}
	for i, list := range own.lists {
		now, ok := find(list.List, of.tool)
		switch {
		case !ok && i == 0:
			return it, w.add("client functions", "a client carries it out by a function of its own, and this client has no function of this name", true)
		case !ok:
			return it, w.add(own.layers[i].name, own.layers[i].reason(l.caller, &it, list.err), true)
		case string(now.Raw) != string(it.Raw):
			w.add(own.layers[i].name, cmp.Or(problemOf(l.heldBack(of.server), "", of.tool, false), "fills in arguments that the caller does not see"), false)
		}
		it = now
	}
	it.Member = of.server
	return it, true
}

// through follows a tool into a layer of all sources.
func (l *looked) through(w *Way, i int, it bridge.Item) (now bridge.Item, ok bool) {
	layer, list := &l.layers[i], l.all[i]
	if list.List != nil {
		at := slices.IndexFunc(list.Items, func(o bridge.Item) bool {
			return o.Member == it.Member && own(&o) == own(&it)
		})
		if ok = at >= 0; ok {
			now = list.Items[at]
		}
	}
	if !ok && i == 0 && it.Member == "" { // what clients lend is not in the bridge
		return it, true
	}
	if !ok {
		return it, w.add(layer.name, layer.reason(l.caller, &it, list.err), true)
	}
	switch layer.name {
	case "names":
		w.add(layer.name, l.whyShown(&now), false)
	case "rates":
		w.add(layer.name, "may refuse calls that come too often, or too many a day (\"rate\")", false)
	case "profile":
		if name := l.Profile(l.caller); name != "" {
			w.add(layer.name, "profile "+name+" has it", false)
		}
	}
	return now, true
}

// reason says why a tool is not in the layer.
func (l *layer) reason(caller *bridge.Caller, it *bridge.Item, err error) string {
	if l.why != nil {
		named := *it
		named.Member = cmp.Or(it.Member, lentTools)
		if text := l.why(caller, &named); text != "" {
			return text
		}
	}
	if err != nil {
		return err.Error()
	}
	return "leaves it out"
}

// whyDefined says whether a server has a tool.
func (l *looked) whyDefined(of toolOf, has bool) (text string, ends bool) {
	own := l.members[of.server]
	if has {
		return l.whyServed(of.server), false
	}
	if text = l.leftOut(of.server, of.tool); text != "" {
		return text, true
	}
	if own.defined == nil {
		return l.whyAway(of.server, own.err), true
	}
	text = fmt.Sprintf("it does not list %s among its %d tools", of.tool, len(own.defined.Items))
	var names []string
	for _, it := range own.defined.Items {
		names = append(names, it.Key)
	}
	if near := toolformat.Closest(of.tool, names); near != "" {
		text += " (did you mean " + near + "?)"
	}
	return text, true
}

// whyServed says that a server lists a tool, and in which state the server is.
func (l *looked) whyServed(server string) string {
	if server == nativeTools {
		return "the config defines it"
	}
	for _, st := range l.Servers() {
		if st.Name == server && !st.Up() {
			return fmt.Sprintf("the server has listed it, and is %s: %s", st.State, st.Reason)
		} else if st.Name == server && st.Revision != "" {
			return "the server lists it, and speaks MCP " + st.Revision
		}
	}
	return "the server lists it"
}

// whyAway says why it is not known what a server has.
func (s *Stack) whyAway(server string, err error) string {
	for _, st := range s.Servers() {
		if st.Name == server && st.Reason != "" {
			return string(st.State) + ": " + st.Reason
		} else if st.Name == server {
			return "it is " + string(st.State)
		}
	}
	if err != nil {
		return err.Error()
	}
	return "it has no list"
}

// leftOut says why a definition of a server cannot be used, "" if it can.
func (s *Stack) leftOut(server, tool string) string {
	for _, c := range s.clients {
		if c.Name() == server {
			return problemOf(c.Problems(), "", tool, true)
		}
	}
	return ""
}

// whyOf returns what says why a wrapper of a server leaves out a tool.
func (s *Stack) whyOf(server string) func(*bridge.Caller, *bridge.Item) string {
	return func(_ *bridge.Caller, it *bridge.Item) string {
		if text := problemOf(s.heldBack(server), "", it.Key, true); text != "" {
			return text
		}
		for _, g := range s.guards {
			if text := problemOf(g.Problems(), "", it.Key, true); g.server == server && text != "" {
				return text
			}
		}
		return ""
	}
}

// whyNamed says why the Bridge does not show a tool of a member.
func (s *Stack) whyNamed(caller *bridge.Caller, it *bridge.Item) string {
	for _, server := range s.cfg.Servers {
		if server.Name != it.Member {
			continue
		}
		for _, pattern := range server.Exclude {
			if ok, _ := bridge.Match(pattern, own(it)); ok {
				return fmt.Sprintf("%s: \"exclude\" leaves out %s", server.Name, pattern)
			}
		}
		if len(server.Include) > 0 && !slices.ContainsFunc(server.Include, func(pattern string) bool { ok, _ := bridge.Match(pattern, own(it)); return ok }) {
			return fmt.Sprintf("%s: \"include\" has only %s", server.Name, strings.Join(server.Include, ", "))
		}
	}
	if text := problemOf(s.bridge.Problems(), it.Member, own(it), true); text != "" {
		return text
	}
	for _, p := range s.bridge.Problems() { // the other one of a conflict
		if p.LeftOut && strings.Contains(p.Text, " "+it.Member+" ") && strings.Contains(p.Text, own(it)+":") {
			return p.Text
		}
	}
	return ""
}

// whyShown says by which name the Bridge shows a tool.
func (l *looked) whyShown(it *bridge.Item) string {
	if text := problemOf(l.bridge.Problems(), it.Member, own(it), false); text != "" {
		return text
	}
	for _, server := range l.cfg.Servers {
		if to, ok := server.Rename[own(it)]; ok && server.Name == it.Member {
			return fmt.Sprintf("%s: \"rename\" makes %s %s, shown as %s", server.Name, own(it), to, it.Key)
		}
	}
	if it.Own != "" {
		return "it is shown as " + it.Key
	}
	return "it is shown under the server's own name"
}

func problemOf(all []bridge.Problem, member, key string, leftOut bool) string {
	for _, p := range all {
		if p.Key == key && p.Member == member && p.LeftOut == leftOut {
			return p.Text
		}
	}
	return ""
}

// whyEra says what a client of the legacy era does not see of a tool.
func (l *looked) whyEra(it *bridge.Item) string {
	if schema := it.Tool().OutputSchema; !l.caller.Modern && schema != nil && string(wire.Lookup(schema, "type")) != `"object"` {
		return ", without its outputSchema, which is not that of an object: the client is of the era before 2026-07-28"
	}
	return ""
}

// whyNotLent says why a tool that is lent is not shown.
func (s *Stack) whyNotLent(_ *bridge.Caller, it *bridge.Item) string {
	if owner := s.bridge.Owner(it.Key); owner != "" {
		return "names with this prefix are those of " + owner
	}
	return "another tool has this name and is shown instead"
}

// lenders returns the clients that lend a tool.
func (l *looked) lenders(tool string) (all []web.Tab) {
	for _, t := range l.pool.lending.Tabs() {
		if slices.Contains(t.Tools, tool) {
			all = append(all, t)
		}
	}
	return all
}

// whyLent says who lends a tool, and whether the caller is of the same principal.
func (l *looked) whyLent(tool string) (text string, ends bool) {
	var others []string
	for _, t := range l.lenders(tool) {
		by := fmt.Sprintf("tab %s (%s)", t.Tab, cmp.Or(t.Title, t.Client))
		if t.Principal == l.caller.Principal.Name {
			return by + " lends it", !l.cfg.Lending.Enabled
		}
		others = append(others, fmt.Sprintf("%s of %s", by, cmp.Or(t.Principal, "an anonymous client")))
	}
	return "lent by " + strings.Join(others, ", ") + ": only callers of the same principal see it", true
}
