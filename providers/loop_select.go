package providers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Selection names tools of a Loop. One whose Match is empty, but not nil, has none.
type Selection struct {
	Member string   // of a Bridge that has the tools; "" means any
	Match  []string // globs of tool names (see bridge.Match); with a Member also of the names that it has for them; nil means all
	Except []string // globs of names that are left out
	From   string   // where a request has the selection, for errors
}

// includes reports whether a selection has an item.
func (s *Selection) includes(it *bridge.Item) bool {
	if s.Member != "" && it.Member != s.Member {
		return false
	}
	named := func(globs []string) bool {
		return matches(globs, it.Key) || s.Member != "" && it.Own != "" && matches(globs, it.Own)
	}
	return (s.Match == nil || named(s.Match)) && !named(s.Except)
}

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, _ := bridge.Match(glob, name)
		return ok
	})
}

// validateSelection returns the error of a task whose selection has a pattern that is not one.
func validateSelection(task *Task) error {
	for _, glob := range task.Options.Tools {
		if !isGlob(glob) {
			return fmt.Errorf("tools: %q: expected a glob of tool names", glob)
		}
	}
	for _, s := range task.Select {
		for _, glob := range slices.Concat(s.Match, s.Except) {
			if !isGlob(glob) {
				return toolformat.Errorf(toolformat.Invalid, "%s: %.200q: expected a glob of tool names", s.From, glob)
			}
		}
	}
	return nil
}

// maxSelected bounds the selections whose tools are kept.
const maxSelected = 64

// selected returns the tools of a list that a task selects, of those to offer to a model.
func (l *toolList) selected(task *Task, model string) *ToolSet {
	all := l.accepted(model)
	if task.Options.Tools == nil && task.Select == nil || l.list == nil {
		return all
	}
	key := fmt.Sprintf("%s\x00%#v\x00%#v", model, task.Options.Tools, task.Select)
	l.mu.Lock()
	kept := l.picked[key]
	l.mu.Unlock()
	if kept != nil {
		return kept
	}
	names := []string{}
	for i := range l.list.Items {
		it := &l.list.Items[i]
		if task.Options.Tools != nil && !matches(task.Options.Tools, it.Key) {
			continue
		}
		if task.Select == nil || slices.ContainsFunc(task.Select, func(s Selection) bool { return s.includes(it) }) {
			names = append(names, it.Key)
		}
	}
	set := all.only(names)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.picked) >= maxSelected {
		clear(l.picked)
	}
	l.picked[key] = set
	return set
}

// checkSelection returns the error of a request that selects nothing, and notes a pattern of the options
// that matches no tool: its server may be away.
func (r *runner) checkSelection() error {
	if r.listed.list == nil {
		return nil
	}
	items := r.listed.list.Items
	for _, glob := range r.task.Options.Tools {
		if !slices.ContainsFunc(items, func(it bridge.Item) bool { return matches([]string{glob}, it.Key) }) {
			r.note("no tool matches %s", glob)
		}
	}
	for _, s := range r.task.Select {
		if s.Match != nil && len(s.Match) == 0 || slices.ContainsFunc(items, func(it bridge.Item) bool { return s.includes(&it) }) {
			continue
		}
		if s.Member == "" {
			return toolformat.Errorf(toolformat.Invalid, "%s: no tool matches %.200s", s.From, strings.Join(s.Match, ", "))
		}
		return toolformat.Errorf(toolformat.Invalid, "%s: no tools of a server %.100q are available%s", s.From, s.Member, otherMembers(items, s.Member))
	}
	return nil
}

// items returns what is listed of the tools of a set. Those of the request are of no member.
func (r *runner) items(set *ToolSet) []bridge.Item {
	listed := map[string]bridge.Item{}
	if r.listed.list != nil {
		for _, it := range r.listed.list.Items {
			listed[it.Key] = it
		}
	}
	own := r.task.Request.Tools
	items := make([]bridge.Item, set.Len())
	for i, tool := range set.Tools() {
		items[i].Key = tool.Name
		if own.Find(tool.Name) == nil {
			items[i] = listed[tool.Name]
		}
	}
	return items
}

// narrowed returns the tools of a set that the task leaves.
func (r *runner) narrowed(set *ToolSet) *ToolSet {
	if r.task.Only == nil {
		return set
	}
	names := []string{}
	for _, it := range r.items(set) {
		if slices.ContainsFunc(r.task.Only, func(s Selection) bool { return s.includes(&it) }) {
			names = append(names, it.Key)
		}
	}
	return set.only(names)
}

// checkOnly returns the error of a task that leaves a tool which does not exist.
func (r *runner) checkOnly() error {
	if r.task.Only == nil {
		return nil
	}
	items := r.items(r.set)
	for _, s := range r.task.Only {
		switch {
		case slices.ContainsFunc(items, func(it bridge.Item) bool { return s.includes(&it) }):
		case s.Member == "":
			return toolformat.Errorf(toolformat.NotFound, "%s: %s", s.From, r.unknownTool(strings.Join(s.Match, ", ")))
		default:
			return notOffered(&s)
		}
	}
	return nil
}

// notOffered returns the error of a selection of a member whose tools are not offered.
func notOffered(s *Selection) error {
	return toolformat.Errorf(toolformat.Invalid, "%s: no such tool of the server %.100q is offered", s.From, s.Member)
}

// selectedFrom returns the member that has a tool, and the tool's name there, if the task selects that member.
func (r *runner) selectedFrom(tool string) (member, own string) {
	if r.task.Select == nil || r.listed.list == nil {
		return "", ""
	}
	for i := range r.listed.list.Items {
		it := &r.listed.list.Items[i]
		if it.Key == tool && it.Member != "" && slices.ContainsFunc(r.task.Select, func(s Selection) bool { return s.Member == it.Member }) {
			return it.Member, cmp.Or(it.Own, it.Key)
		}
	}
	return "", ""
}

// offeredFrom returns the tools of the members that the task selects.
func (r *runner) offeredFrom() (items []bridge.Item) {
	if r.task.Select == nil || r.listed.list == nil {
		return nil
	}
	for _, it := range r.listed.list.Items {
		if slices.ContainsFunc(r.task.Select, func(s Selection) bool { return s.Member != "" && s.includes(&it) }) {
			items = append(items, it)
		}
	}
	return items
}

// mustCall returns the names of the offered tools of which the model must call one in the first turn; nil if it need not.
func (r *runner) mustCall() (names []string) {
	if r.task.Must == nil || r.listed.list == nil {
		return nil
	}
	for i := range r.listed.list.Items {
		if it := &r.listed.list.Items[i]; r.task.Must.includes(it) && r.set.Find(it.Key) != nil {
			names = append(names, it.Key)
		}
	}
	return names
}

// otherMembers says which members there are, unless it is the wanted one that has no such tool.
func otherMembers(items []bridge.Item, wanted string) string {
	var names []string
	for i := range items {
		if items[i].Member == wanted {
			return " under these names"
		}
		if items[i].Member != "" && !slices.Contains(names, items[i].Member) {
			names = append(names, items[i].Member)
		}
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	return ": the servers are " + strings.Join(names[:min(len(names), maxNamed)], ", ")
}
