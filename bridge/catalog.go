package bridge

import (
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Conflict is the policy for two items with one name. It never keeps a bridge from starting.
type Conflict uint8

const (
	ConflictPrefix Conflict = iota // prefix the later item in config order
	ConflictFirst                  // show the first item in config order
	ConflictError                  // leave out both
)

// A Problem is the reason why an item is not shown as its source has it.
type Problem struct {
	Text    string
	LeftOut bool // the item is not shown at all

	Key    string // the source's own key of the item; "" if the problem is not about one
	Member string // of a Bridge, that has the item
}

// part is the contribution of a member to a view.
type part struct {
	list *List // nil when no list is known
	away bool  // the items keep their names but are not listed
}

// view is a merged list and the routes of its names.
type view struct {
	list      *List
	routes    map[string]route
	templates []template // of the kind Templates, in config order
	problems  []Problem
	parts     []part
}

// route leads from a name in the merged list to its source.
type route struct {
	member int
	key    string // the member's own name of the item
}

// merge returns the view of lists: the last one of the selection, if it was made of the same.
func (b *Bridge) merge(of *selection, kind ListKind, parts []part) *view {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := of.views[kind].Load(); v != nil && slices.Equal(v.parts, parts) {
		return v
	}
	m := merge{Bridge: b, kind: kind, index: map[string]int{}}
	for i, p := range parts {
		if p.list != nil {
			m.addPart(i, p)
		}
	}
	v := m.view(parts)
	if !v.list.private {
		of.views[kind].Store(v)
	}
	return v
}

// maxLogged bounds the problems of a member that a Bridge logs: a source may report new ones with
// each list.
const maxLogged = 1000

// logOnce logs a problem of a member once in the life of the Bridge. b.mu is held.
func (b *Bridge) logOnce(member *member, text string) {
	if !b.logged[text] && member.logged < maxLogged {
		b.logged[text] = true
		member.logged++
		member.log.Log(slog.LevelWarn, text)
	}
}

// merge is a merge in progress.
type merge struct {
	*Bridge
	kind     ListKind
	entries  []entry
	index    map[string]int // of the entry with a name
	problems []Problem
	private  bool // a part is private
}

type entry struct {
	item     Item
	route    route
	away     bool
	unlisted bool // not shown to this caller
	dropped  bool
}

// maxShown bounds a name in a problem, in bytes.
const maxShown = 100

// addProblem adds and logs a problem of a member's item with a key. Names of any length may be among args.
func (m *merge) addProblem(member *member, key string, leftOut bool, format string, args ...any) {
	for i, arg := range args {
		if name, ok := arg.(string); ok && len(name) > maxShown {
			args[i] = strings.ToValidUTF8(name[:maxShown], "") + "…"
		}
	}
	text := fmt.Sprintf(format, args...)
	m.problems = append(m.problems, Problem{Text: text, LeftOut: leftOut, Key: key, Member: member.Name})
	m.logOnce(member, text)
}

func (m *merge) addPart(index int, p part) {
	member := m.members[index]
	place := func(it Item, unlisted bool) {
		if m.kind != Tools || member.shows(it.Key) {
			e := entry{item: it, route: route{index, it.Key}, away: p.away, unlisted: unlisted}
			m.placeOwn(member, e, m.name(member, it.Key))
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

// name returns the name that an item is shown with.
func (m *merge) name(member *member, key string) string {
	if !kinds[m.kind].named {
		return member.shownURI(key)
	}
	return m.fit(member, key, member.prefix(len(m.members))+m.rename(member, key))
}

// rename returns the configured name of a tool, without its prefix.
func (m *merge) rename(member *member, key string) string {
	if to, ok := member.Rename[key]; ok && m.kind == Tools {
		return to
	}
	return key
}

// fit shortens the name of an item with a key to the limit. An only member keeps its names, however long: no other member
// limits them.
func (m *merge) fit(member *member, key, name string) string {
	if len(m.members) == 1 && member.Prefix == nil {
		return name
	}
	short := toolformat.Shorten(name, m.opts.MaxName)
	if short != name {
		m.addProblem(member, key, false, "%s of %s: its name %s is longer than %d bytes and becomes %s", kinds[m.kind].noun, member.Name, name, m.opts.MaxName, short)
	}
	return short
}

// placeOwn adds an entry with a name, unless the name begins with another member's prefix: then it is
// that member's, whether or not it has such an item.
func (m *merge) placeOwn(member *member, e entry, name string) {
	owner := m.owner(name, member)
	if owner == member || !kinds[m.kind].named {
		m.place(member, e, name)
		return
	}
	noun := kinds[m.kind].noun
	full := m.fit(member, e.route.key, toolformat.Prefix(member.Name)+m.rename(member, e.route.key))
	if _, taken := m.index[full]; taken || m.opts.Conflict != ConflictPrefix || m.owner(full, member) != member {
		m.addProblem(member, e.route.key, true, "%s %s of %s is left out: names with this prefix are those of %s (rename it)", noun, name, member.Name, owner.Name)
		return
	}
	m.addProblem(member, e.route.key, false, "%s %s of %s is shown as %s: names with this prefix are those of %s", noun, name, member.Name, full, owner.Name)
	m.addEntry(member, e, full)
}

// owner returns the member whose prefix a name of member begins with: that with the longest one.
func (m *merge) owner(name string, member *member) *member {
	owner, longest := member, member.claim(name)
	for _, other := range m.members {
		if n := other.claim(name); n > longest {
			owner, longest = other, n
		}
	}
	return owner
}

// Owner returns the name of the member whose prefix the name of a tool or a prompt begins with, "" if
// there is none: such a name is that member's, whether or not it has such an item.
func (b *Bridge) Owner(name string) string {
	m := merge{Bridge: b}
	if owner := m.owner(name, &member{}); owner != nil {
		return owner.Name
	}
	return ""
}

// claim returns the length of the longest prefix of the member's own that a name begins with.
func (m *member) claim(name string) (longest int) {
	for _, prefix := range m.prefixes {
		if len(prefix) > longest && strings.HasPrefix(name, prefix) {
			longest = len(prefix)
		}
	}
	return longest
}

// place adds an entry with a name, or applies the conflict policy.
func (m *merge) place(member *member, e entry, name string) {
	i, taken := m.index[name]
	if !taken {
		m.addEntry(member, e, name)
		return
	}
	other := m.members[m.entries[i].route.member]
	noun := kinds[m.kind].noun
	switch {
	case other == member:
		m.addProblem(member, e.route.key, true, "%s %s: %s lists it twice; the first one is used", noun, name, member.Name)
	case !kinds[m.kind].named:
		m.addProblem(member, e.route.key, false, "%s %s: both %s and %s have it; the one of %s is used", noun, name, other.Name, member.Name, other.Name)
	case m.opts.Conflict == ConflictPrefix:
		full := m.fit(member, e.route.key, toolformat.Prefix(member.Name)+m.rename(member, e.route.key))
		if _, taken := m.index[full]; taken {
			m.addProblem(member, e.route.key, true, "%s %s: both %s and %s have it, and %s is taken too; the one of %s is left out (give %s a prefix of its own)", noun, name, other.Name, member.Name, full, member.Name, member.Name)
			return
		}
		m.addProblem(member, e.route.key, false, "%s %s: both %s and %s have it; the one of %s is shown as %s", noun, name, other.Name, member.Name, member.Name, full)
		m.addEntry(member, e, full)
	case m.opts.Conflict == ConflictFirst:
		m.addProblem(member, e.route.key, true, "%s %s: both %s and %s have it; the one of %s is left out (names.conflict is \"first\")", noun, name, other.Name, member.Name, member.Name)
	case m.opts.Conflict == ConflictError:
		m.addProblem(member, e.route.key, true, "%s %s: both %s and %s have it; both are left out (names.conflict is \"error\": rename one, or give a server a prefix)", noun, name, other.Name, member.Name)
		m.entries[i].dropped = true
	}
}

func (m *merge) addEntry(member *member, e entry, name string) {
	e.item.Key, e.item.Member, e.item.Own = name, member.Name, ""
	if name != e.route.key {
		e.item.Own = e.route.key
		e.item.Raw = wire.SetMember(e.item.Raw, kinds[m.kind].key, wire.AppendString(nil, name))
	}
	if text, ok := member.Describe[e.route.key]; ok && m.kind == Tools {
		e.item.Raw = wire.SetMember(e.item.Raw, "description", wire.AppendString(nil, text))
	}
	if m.kind == Tools {
		e.item.Raw = member.withShownURIs(e.item.Raw)
	}
	m.index[name] = len(m.entries)
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
	if len(parts) == 1 {
		v.list.Extra = parts[0].list.Extra
	}
	if m.kind == Templates {
		v.templates = m.templates()
	}
	v.problems = m.problems
	return v
}

// template is a resource template with the route of its URIs.
type template struct {
	*uritemplate.Template
	route route
}

// maxTemplate bounds a template that URIs are matched with, in bytes, and so its variables: a
// thousand and more cannot become a regular expression.
const maxTemplate = 1 << 10

// templates parses the templates. One that is not a URI template becomes a problem, since it cannot
// route.
func (m *merge) templates() []template {
	var all []template
	for _, e := range m.entries {
		t, err := uritemplate.New(e.item.Key)
		if err == nil && len(e.item.Key) > maxTemplate {
			err = fmt.Errorf("it is longer than %d bytes", maxTemplate)
		}
		if err != nil {
			member := m.members[e.route.member]
			m.addProblem(member, e.route.key, false, "resource template %.80s of %s leads to no resource: %.100v", e.item.Key, member.Name, err)
			continue
		}
		all = append(all, template{t, e.route})
	}
	return all
}

// match returns the route of a URI that a template matches.
func (v *view) match(uri string) (route, bool) {
	for _, t := range v.templates {
		if t.Regexp().MatchString(uri) {
			return route{member: t.route.member, key: uri}, true
		}
	}
	return route{}, false
}

// shows reports whether Include and Exclude admit a tool.
func (m *member) shows(name string) bool {
	return (len(m.Include) == 0 || matchAny(m.Include, name)) && !matchAny(m.Exclude, name)
}

// prefix returns the member's prefix in a Bridge of some members.
func (m *member) prefix(members int) string {
	switch {
	case m.Prefix != nil:
		return *m.Prefix
	case members > 1:
		return toolformat.Prefix(m.Name)
	}
	return ""
}

// Match reports whether a name matches a pattern of path.Match in which a slash is an ordinary
// character: github__* matches every name with that prefix. The error is path.ErrBadPattern, which
// a match with any name finds, also with "".
func Match(pattern, name string) (bool, error) {
	if pattern == "*" { // as most rates have it
		return true, nil
	}
	for i := range len(pattern) {
		if c := pattern[i]; c == '?' || c == '[' || c == '\\' {
			// A slash is special to path.Match. A NUL occurs neither in names nor in patterns.
			return path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
		}
	}
	literal, rest, open := strings.Cut(pattern, "*")
	if !open {
		return name == pattern, nil
	}
	for name, ok := strings.CutPrefix(name, literal); ok; _, name, ok = strings.Cut(name, literal) {
		if literal, rest, open = strings.Cut(rest, "*"); !open {
			return strings.HasSuffix(name, literal), nil
		}
	}
	return false, nil
}

// matchAny reports whether a name matches one of some patterns.
func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := Match(p, name); ok {
			return true
		}
	}
	return false
}
