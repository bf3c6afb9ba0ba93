package bridge

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Conflict says what happens when two items would be shown under one name. It never
// keeps a bridge from starting.
type Conflict uint8

const (
	ConflictPrefix Conflict = iota // the later one in config order gets its member's prefix
	ConflictFirst                  // the first one in config order is shown, the other left out
	ConflictError                  // both are left out
)

// A Problem says why an item is not shown as its source has it.
type Problem struct {
	Text    string
	LeftOut bool // the item is not shown at all
}

// catalog merges the members' lists. The last view of each kind is kept, so that all
// callers who see the same share one list and its encoded pages. A view that is one
// caller's is that caller's to keep.
type catalog struct {
	members  []*member
	conflict Conflict
	maxName  int
	log      *slog.Logger

	last [ListKinds]atomic.Pointer[view]
	mu   sync.Mutex // one merge at a time; guards said
	said map[string]bool
}

// part is what one member contributes.
type part struct {
	list *List // nil: nothing is known
	away bool  // its items keep their names but are not listed
}

// view is a merged list and the way back from its names.
type view struct {
	list      *List
	routes    map[string]route
	templates []template // of the kind Templates: in config order
	notes     []Problem
	parts     []part
}

// route leads from a name in the merged list to its source.
type route struct {
	member int
	key    string // what the member calls it
}

func (v *view) madeOf(parts []part) bool {
	for i, p := range parts {
		if v.parts[i] != p {
			return false
		}
	}
	return true
}

func (c *catalog) merge(kind ListKind, parts []part) *view {
	if v := c.last[kind].Load(); v != nil && v.madeOf(parts) {
		return v
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.last[kind].Load(); v != nil && v.madeOf(parts) {
		return v
	}
	m := merge{catalog: c, kind: kind, at: map[string]int{}}
	for i, p := range parts {
		if p.list != nil {
			m.add(i, p)
		}
	}
	v := m.view(parts)
	c.say(v.notes)
	if !v.list.private {
		c.last[kind].Store(v)
	}
	return v
}

// maxSaid bounds the notes that a catalog remembers to have logged. Beyond it nothing new
// is logged: a source that is faulty anew with each of its lists has been heard.
const maxSaid = 1000

// say logs each note once in the life of the catalog.
func (c *catalog) say(notes []Problem) {
	if c.said == nil {
		c.said = map[string]bool{}
	}
	for _, n := range notes {
		if !c.said[n.Text] && len(c.said) < maxSaid {
			c.said[n.Text] = true
			c.log.Warn(n.Text)
		}
	}
}

// merge is one merge under way.
type merge struct {
	*catalog
	kind    ListKind
	entries []entry
	at      map[string]int // index of the entry that holds a name
	notes   []Problem
	private bool // a part is
}

type entry struct {
	item     Item
	route    route
	away     bool
	unlisted bool // for this caller
	dropped  bool
}

func (m *merge) note(leftOut bool, format string, args ...any) {
	m.notes = append(m.notes, Problem{Text: fmt.Sprintf(format, args...), LeftOut: leftOut})
}

func (m *merge) add(index int, p part) {
	member := m.members[index]
	place := func(it Item, unlisted bool) {
		e := entry{item: it, route: route{member: index, key: it.Key}, away: p.away, unlisted: unlisted}
		if m.kind != Tools || member.shows(it.Key) {
			m.place(member, e, m.name(member, it.Key))
		}
	}
	for _, it := range p.list.Items {
		place(it, false)
	}
	for _, it := range p.list.unlisted {
		place(it, true)
	}
	m.private = m.private || p.list.private
}

// name is what an item is shown as: under its member's prefix, when it has a name.
func (m *merge) name(member *member, key string) string {
	if !kinds[m.kind].named {
		return key
	}
	return m.fit(member, member.prefix(len(m.members))+m.rename(member, key))
}

// rename is the name that the configuration gives a tool.
func (m *merge) rename(member *member, key string) string {
	if to, ok := member.Rename[key]; ok && m.kind == Tools {
		return to
	}
	return key
}

// fit shortens a name to the limit. A lone member without renames keeps its names,
// however long: nothing stands between it and its client.
func (m *merge) fit(member *member, name string) string {
	if len(m.members) == 1 && member.Prefix == nil {
		return name
	}
	short := toolformat.Shorten(name, m.maxName)
	if short != name {
		m.note(false, "%s of %s: its name %s is longer than %d bytes and becomes %s", m.kind.noun(), member.Name, name, m.maxName, short)
	}
	return short
}

// place puts an entry under a name, or does what the conflict policy says.
func (m *merge) place(member *member, e entry, name string) {
	i, taken := m.at[name]
	if !taken {
		m.put(member, e, name)
		return
	}
	other := m.members[m.entries[i].route.member]
	noun := m.kind.noun()
	switch {
	case other == member:
		m.note(true, "%s %s: %s lists it twice; the first one is used", noun, name, member.Name)
	case !kinds[m.kind].named:
		m.note(false, "%s %s: both %s and %s have it; the one of %s is used", noun, name, other.Name, member.Name, other.Name)
	case m.conflict == ConflictPrefix:
		full := m.fit(member, toolformat.Prefix(member.Name)+m.rename(member, e.route.key))
		if _, taken := m.at[full]; taken {
			m.note(true, "%s %s: both %s and %s have it, and %s is taken too; the one of %s is left out (give %s a prefix of its own)", noun, name, other.Name, member.Name, full, member.Name, member.Name)
			return
		}
		m.note(false, "%s %s: both %s and %s have it; the one of %s is shown as %s", noun, name, other.Name, member.Name, member.Name, full)
		m.put(member, e, full)
	case m.conflict == ConflictFirst:
		m.note(true, "%s %s: both %s and %s have it; the one of %s is left out (names.conflict is \"first\")", noun, name, other.Name, member.Name, member.Name)
	case m.conflict == ConflictError:
		m.note(true, "%s %s: both %s and %s have it; both are left out (names.conflict is \"error\": rename one, or give a server a prefix)", noun, name, other.Name, member.Name)
		m.entries[i].dropped = true
	}
}

func (m *merge) put(member *member, e entry, name string) {
	e.item.Key = name
	if name != e.route.key {
		e.item.Raw = wire.SetMember(e.item.Raw, kinds[m.kind].key, wire.AppendString(nil, name))
	}
	if text, ok := member.Describe[e.route.key]; ok && m.kind == Tools {
		e.item.Raw = wire.SetMember(e.item.Raw, "description", wire.AppendString(nil, text))
	}
	m.at[name] = len(m.entries)
	m.entries = append(m.entries, e)
}

func (m *merge) view(parts []part) *view {
	v := &view{routes: make(map[string]route, len(m.entries)), parts: parts}
	items := make([]Item, 0, len(m.entries))
	var unlisted []Item
	for _, e := range m.entries {
		if e.dropped {
			continue
		}
		v.routes[e.item.Key] = e.route
		switch {
		case e.unlisted:
			unlisted = append(unlisted, e.item)
		case !e.away:
			items = append(items, e.item)
		}
	}
	v.list = NewList(m.kind, items)
	v.list.unlisted, v.list.private = unlisted, m.private
	if m.kind == Templates {
		v.templates = m.templates()
	}
	v.notes = m.notes
	return v
}

// template leads from the URIs of a resource template to their source.
type template struct {
	*uritemplate.Template
	route route
}

// maxTemplate bounds a template that resources are found by, in bytes. It also bounds its
// variables: of a thousand and more no regular expression can be made.
const maxTemplate = 1 << 10

// templates reads the templates. One that is no URI template is noted: nothing can be
// routed by it.
func (m *merge) templates() []template {
	var all []template
	for _, e := range m.entries {
		t, err := uritemplate.New(e.item.Key)
		if err == nil && len(e.item.Key) > maxTemplate {
			err = fmt.Errorf("it is longer than %d bytes", maxTemplate)
		}
		if err != nil {
			m.note(false, "resource template %.80s of %s leads to no resource: %v", e.item.Key, m.members[e.route.member].Name, err)
			continue
		}
		all = append(all, template{t, e.route})
	}
	return all
}

// match finds the source of a URI.
func (v *view) match(uri string) (route, bool) {
	for _, t := range v.templates {
		if t.Regexp().MatchString(uri) {
			return route{member: t.route.member, key: uri}, true
		}
	}
	return route{}, false
}

// shows reports whether the member's filter lets a tool through.
func (m *member) shows(name string) bool {
	return (len(m.Include) == 0 || matchAny(m.Include, name)) && !matchAny(m.Exclude, name)
}

// prefix is the member's prefix among so many members.
func (m *member) prefix(members int) string {
	switch {
	case m.Prefix != nil:
		return *m.Prefix
	case members > 1:
		return toolformat.Prefix(m.Name)
	}
	return ""
}
