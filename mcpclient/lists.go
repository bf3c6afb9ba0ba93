package mcpclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// list returns a list of the server, as last read, or waits for its first reading. After a
// failed attempt to connect it returns the last list together with the error.
func (l *link) list(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l.mu.Lock()
	stale, err := l.stale, l.unavailable()
	l.mu.Unlock()
	if stale {
		return l.lists[kind].Load(), err
	}
	if l.lists[kind].Load() == nil && l.faults[kind].Load() == nil {
		if _, err := l.await(ctx); err != nil {
			return nil, err
		}
	}
	l.freshen(ctx, kind)
	if fault := l.faults[kind].Load(); fault != nil {
		return l.lists[kind].Load(), fault
	}
	return l.lists[kind].Load(), nil
}

// maxPages bounds a server that never stops returning cursors.
const maxPages = 1000

// fetch reads all pages of a list, and notifies callers if it has changed.
func (l *link) fetch(ctx context.Context, c *conn, r *reading) error {
	begun, kind := time.Since(l.born), r.kind
	c.called.And(^listBit(kind))
	r.modern = c.modern
	if known := l.lists[kind].Load(); known != nil {
		r.known = known.Items
	}
	size, cursor, first, second, whole := 0, []byte(nil), []byte(nil), []byte(nil), (*reading)(nil)
	for page := 1; ; page++ {
		result, unusable, err := c.fetchPage(ctx, kind, cursor)
		if err != nil {
			return err
		}
		items, next, more := splitPage(kind, result)
		if page == 1 {
			first, second = items, next
		} else if string(cursor) == `""` && (string(next) == `""` || bytes.Equal(items, first) || bytes.Equal(next, second)) {
			break // some servers end a list with an empty cursor, which begins it anew, changed perhaps
		}
		r.addPage(result, items)
		if !isList(items) {
			r.problems = append(r.problems, bridge.Problem{Text: fmt.Sprintf("%s has no array of %s: none is shown", kind.Method(), kind.Member()), LeftOut: true})
		}
		for _, it := range unusable {
			r.leaveOut(it.name, it.err)
		}
		if page == 1 && more {
			r.extra = extraMembers(kind, result)
		}
		if size += len(result); len(next) == 0 || next[0] != '"' {
			break
		}
		if string(next) == `""` {
			if whole != nil { // it has been read twice, with other cursors
				*r = *whole
				break
			}
			read := *r
			whole = &read
		}
		if bytes.Equal(next, cursor) || page > maxPages || size > l.cfg.MessageBytes {
			return fmt.Errorf("%s does not end: %d pages, %d bytes", kind.Method(), page, size)
		}
		cursor = next
	}
	return l.setList(r, begun)
}

// splitPage returns the items of a page, raw, and the cursor of the next one. more says that it has other
// members, too.
func splitPage(kind bridge.ListKind, result []byte) (items, next []byte, more bool) {
	for key, value := range wire.Members(result) {
		switch key {
		case kind.Member():
			items = value
		case "nextCursor":
			next = value
		default:
			more = true
		}
	}
	return items, next, more
}

// isList reports whether a member of a result is an array, or what some languages write for an empty one.
func isList(items []byte) bool {
	return len(items) == 0 || items[0] == '[' || items[0] == 'n' || items[0] == '{' && wire.FirstMember(items) == 0
}

// maxExtra bounds the members of a list's result beside its items: each page of the list has them.
const maxExtra = 64 << 10

// extraMembers returns the members of a list's result beside its items; nil if it has none or too
// many.
func extraMembers(kind bridge.ListKind, result []byte) []byte {
	for _, key := range []string{kind.Member(), "nextCursor"} {
		result = wire.CutMember(result, key)
	}
	if wire.FirstMember(result) == 0 || len(result) > maxExtra {
		return nil
	}
	return bytes.Clone(result) // without the room for what has been cut
}

// setList replaces a list by one whose fetching began at a time of the link; 0 means that it was not
// fetched. The error is that of lists that take too much memory.
func (l *link) setList(r *reading, begun time.Duration) error {
	kind := r.kind
	list, err := r.list()
	if err != nil {
		l.fetched[kind].Store(int64(begun)) // it is not read again for every caller that lists
		return err
	}
	old := l.lists[kind].Swap(list)
	fault := l.faults[kind].Swap(nil)
	l.fetched[kind].Store(int64(begun))
	if fault != nil || !old.Equal(list) && (old != nil || len(list.Items) > 0) {
		l.notifyChange(kind, r.all)
	}
	if l.cfg.Changed != nil && !r.told && !l.key.own && old != nil && !old.Equal(list) {
		l.cfg.Changed(l.key.owner, kind, digestOf(list))
	}
	return nil
}

// fetchFirst reads a list of a new connection. Of a server that answers with an error everything
// but this list can be used.
func (l *link) fetchFirst(ctx context.Context, c *conn, kind bridge.ListKind) error {
	if kind != bridge.Tools && !c.has(kind) {
		return l.setList(&reading{link: l, kind: kind}, 0)
	}
	err := l.fetch(ctx, c, &reading{link: l, kind: kind})
	fault := answeredError(err)
	switch {
	case fault == nil:
		return err
	case fault.Code == toolformat.Unsupported:
		return l.setList(&reading{link: l, kind: kind}, 0)
	default:
		l.client.report(kind, []bridge.Problem{{Text: err.Error(), LeftOut: true}})
		l.faults[kind].Store(fault)
		l.fetched[kind].Store(int64(time.Since(l.born)))
		c.start(func() { l.retryList(c, kind) })
	}
	return nil
}

// retryList fetches a list that could not be read, again until it can.
func (l *link) retryList(c *conn, kind bridge.ListKind) {
	for delay := time.Second; l.faults[kind].Load() != nil && sleep(&c.life, delay); delay = min(2*delay, time.Minute) {
		l.refetch(c, kind, unannounced)
	}
}

// answeredError returns the error with which a server has answered a request, or that of an answer
// that cannot be used; nil for any other error.
func answeredError(err error) *toolformat.Error {
	var e *toolformat.Error
	if errors.As(err, &e) && (e.Raw != nil || e.Code == toolformat.Internal) {
		return e
	}
	return nil
}

// has reports whether the server has a capability for a kind of list.
func (c *conn) has(kind bridge.ListKind) bool {
	return wire.Lookup(c.about, "capabilities", kind.Capability()) != nil
}

// fetchPage returns the page of a list that follows cursor, without the items that could not be
// read.
func (c *conn) fetchPage(ctx context.Context, kind bridge.ListKind, cursor []byte) ([]byte, []leftOut, error) {
	var params []byte
	if cursor != nil {
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	k := c.newOwn(kind.Method())
	reply, err := c.requestCall(ctx, k, params)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil { // of which err says no more than that it was cancelled
			err = cause
		}
		return nil, nil, fmt.Errorf("%s failed: %w", kind.Method(), err)
	}
	defer reply.Free()
	return bytes.Clone(reply.Result), k.leftOut, nil // items live as long as the list
}

// reading is a list that is being read.
type reading struct {
	link     *link
	kind     bridge.ListKind
	all      bool          // the callers that have not read the list are notified of a change, too
	told     bool          // Relist has caused it
	modern   bool          // from a connection of the modern era
	known    []bridge.Item // of the list as last read, without those that come before what is read now
	items    []bridge.Item
	extra    []byte          // bridge.List.Extra
	bytes    int             // that the list takes
	leftOut  map[string]bool // keys of items that cannot be used
	problems []bridge.Problem
}

// addPage adds the items of a page, except those that cannot be used.
func (r *reading) addPage(page, items []byte) {
	first, used := len(r.items), 0 // used counts the bytes of the page that are items
	for raw := range wire.Elements(items) {
		it, err := r.item(raw)
		if err != nil {
			r.leaveOut(it.Key, err)
			continue
		}
		r.items = append(r.items, it)
		if r.bytes += len(it.Key) + itemBytes; &it.Raw[0] == &raw[0] {
			used += len(raw)
		} else {
			r.bytes += len(it.Raw)
		}
	}
	if used >= len(page)/2 {
		r.bytes += len(page)
		return
	}
	r.bytes += used
	for i := range r.items[first:] { // which would keep the rest of the page in memory
		it := &r.items[first+i]
		it.Raw = bytes.Clone(it.Raw)
	}
}

// item returns an item as callers see it. Most are the same as the last time that the list was read, in the
// same order. The error says why one cannot be used.
func (r *reading) item(raw []byte) (it bridge.Item, err error) {
	if len(r.known) > 0 && string(r.known[0].Raw) == string(raw) {
		it = r.known[0]
		it.Raw = raw // the page that it was in before is no longer needed
	} else if it, err = bridge.NewItem(r.kind, raw); err != nil {
		return it, err
	}
	if len(r.known) > 0 && r.known[0].Key == it.Key {
		r.known = r.known[1:]
	}
	return r.check(it)
}

// leaveOut notes that an item cannot be used.
func (r *reading) leaveOut(key string, err error) {
	r.problems = append(r.problems, bridge.Problem{Text: "left out: " + err.Error(), LeftOut: true, Key: key})
	if r.leftOut == nil {
		r.leftOut = map[string]bool{}
	}
	r.leftOut[key] = true
}

// check returns an item as callers see it. The error says why it cannot be used.
func (r *reading) check(it bridge.Item) (bridge.Item, error) {
	cfg := r.link.cfg
	own, hidden, err := bridge.Visible(r.kind, it)
	if err != nil {
		return it, err
	}
	if hidden != "" {
		r.problems = append(r.problems, bridge.Problem{Text: fmt.Sprintf("%s %.100s: it has hidden characters (%s); in titles and descriptions they are shown as escapes", r.kind.Member(), it.Key, hidden), Key: it.Key})
	}
	own.Untrusted, own.Repeatable = cfg.Untrusted, own.Repeatable && !cfg.Untrusted
	if own.ParamHeaders && r.modern && cfg.URL != "" {
		// A client of the modern era must leave such a tool out (SEP-2243).
		if _, err = wire.ParamHeaders(own.Tool().InputSchema); err != nil {
			return it, fmt.Errorf("tool %s: %w", it.Key, err)
		}
	}
	return own, nil
}

// list makes the list that has been read the link's, and reports what is wrong with it.
func (r *reading) list() (*bridge.List, error) {
	list := bridge.NewList(r.kind, r.items)
	list.Extra = r.extra
	r.bytes += len(r.extra)
	return r.link.client.keep(r, list)
}

// maxReported bounds the problems with a list that are kept and logged.
const maxReported = 1000

// report keeps the problems with a list, each on one line, and logs those that are new.
func (c *Client) report(kind bridge.ListKind, problems []bridge.Problem) {
	problems = problems[:min(len(problems), maxReported)]
	for i := range problems { // with line breaks, what a server says would begin lines of its own
		problems[i].Text = strings.Join(strings.Fields(problems[i].Text), " ")
	}
	before := c.problems[kind].Swap(&problems)
	for _, p := range problems {
		if before == nil || !slices.Contains(*before, p) {
			c.cfg.throttle.Log(slog.LevelWarn, p.Text)
		}
	}
}

// Problems returns the items of the latest lists that are left out or not shown as the server has
// them, with the reasons.
func (c *Client) Problems() []bridge.Problem {
	var all []bridge.Problem
	for kind := range c.problems {
		if problems := c.problems[kind].Load(); problems != nil {
			all = append(all, *problems...)
		}
	}
	return all
}

// reportChanges logs which definitions of tools and prompts differ from those that were known.
func (c *Client) reportChanges(known, list *bridge.List) {
	if known == nil || known.Kind != bridge.Tools && known.Kind != bridge.Prompts {
		return
	}
	var changed []string
	for _, it := range list.Items {
		if old, ok := known.Find(it.Key); ok && !alike(old.Raw, it.Raw) {
			changed = append(changed, it.Key[:min(len(it.Key), 100)])
		}
	}
	if len(changed) > 0 {
		const most = 20
		c.cfg.throttle.Log(slog.LevelWarn, "definitions have changed", "list", known.Kind.Member(), "count", len(changed), "names", changed[:min(len(changed), most)])
	}
}

// alike reports whether two definitions say the same. A server may write them differently in each era.
func alike(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(wire.AppendCanonical(nil, a), wire.AppendCanonical(nil, b))
}

// isStale reports whether an attempt to connect has failed since the lists were read.
func (l *link) isStale() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stale
}

// keptAbout is the member of a lazy server's file that has its description of itself, beside its lists.
const keptAbout = "about"

// listFile returns the file for the lists of a lazy server. What is listed on the links of one principal is not shown to
// another.
func (l *link) listFile(caller *bridge.Caller) string {
	file := l.cfg.ListFile
	if file == "" || l.key.owner == "" {
		return file
	}
	sum, ext := sha256.Sum256([]byte(caller.Principal.Name)), filepath.Ext(file)
	return fmt.Sprintf("%s-%x%s", strings.TrimSuffix(file, ext), sum[:8], ext)
}

// loadLists reads the lists of a lazy server from its file, so that callers see them before the
// server runs.
func (l *link) loadLists() {
	data, err := os.ReadFile(l.file)
	if err != nil || wire.Valid(data) != nil {
		return // it will be written, if the config names one
	}
	for kind := range bridge.ListKinds {
		items := wire.Lookup(data, kind.Member())
		if items == nil {
			continue
		}
		r := reading{link: l, kind: kind}
		r.addPage(data, items)
		if list, err := r.list(); err == nil {
			l.lists[kind].Store(list)
		}
	}
	if about := bytes.Clone(wire.Lookup(data, keptAbout)); about != nil {
		l.about.Store(&about)
	}
}

// saveLists writes the lists of a lazy server to its file. Two of them may have changed at once: what is written last has
// both.
func (l *link) saveLists() {
	l.saving.Lock()
	defer l.saving.Unlock()
	about := l.about.Load()
	if l.file == "" || about == nil {
		return
	}
	data := append([]byte(`{"`+keptAbout+`":`), *about...)
	for kind := range bridge.ListKinds {
		list := l.lists[kind].Load()
		if list == nil {
			continue
		}
		data = append(data, `,"`+kind.Member()+`":[`...)
		for i, it := range list.Items {
			if i > 0 {
				data = append(data, ',')
			}
			data = append(data, it.Raw...)
		}
		data = append(data, ']')
	}
	if err := writeFile(l.file, append(data, "}\n"...)); err != nil {
		l.cfg.Log.Warn("the lists could not be saved", "reason", err)
	} else if l.cfg.ListSaved != nil {
		l.cfg.ListSaved()
	}
}

// writeFile replaces a file as a whole: a reader sees the old or the new one.
func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
