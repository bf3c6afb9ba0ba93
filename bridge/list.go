package bridge

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A ListKind is a kind of item that MCP lists.
type ListKind uint8

// The kinds, and their number.
const (
	Tools ListKind = iota
	Prompts
	Resources
	Templates
	ListKinds
)

type listKind struct {
	method, changed, member string
	key                     string // the member of an item that identifies it
	noun                    string // in sentences
	capability              string // of a server
	named                   bool   // keys are names, which may be changed; URIs may not
}

var kinds = [ListKinds]listKind{
	Tools:     {wire.MethodToolsList, wire.NotificationToolsChanged, "tools", "name", "tool", "tools", true},
	Prompts:   {wire.MethodPromptsList, wire.NotificationPromptsChanged, "prompts", "name", "prompt", "prompts", true},
	Resources: {wire.MethodResourcesList, wire.NotificationResourcesChanged, "resources", "uri", "resource", "resources", false},
	Templates: {wire.MethodTemplatesList, wire.NotificationResourcesChanged, "resourceTemplates", "uriTemplate", "resource template", "resources", false},
}

// Method returns the list method of the kind.
func (k ListKind) Method() string { return kinds[k].method }

// Changed returns the notification for a changed list of the kind.
func (k ListKind) Changed() string { return kinds[k].changed }

// Member returns the member of a list result that holds the items.
func (k ListKind) Member() string { return kinds[k].member }

// Capability returns the server capability for the kind.
func (k ListKind) Capability() string { return kinds[k].capability }

// ListKindOf returns the kind that a list method lists; ok is false for any other method.
func ListKindOf(method string) (k ListKind, ok bool) {
	switch method {
	case wire.MethodToolsList:
		return Tools, true
	case wire.MethodPromptsList:
		return Prompts, true
	case wire.MethodResourcesList:
		return Resources, true
	case wire.MethodTemplatesList:
		return Templates, true
	}
	return 0, false
}

// An Item is one entry of a list.
type Item struct {
	Key string // the name or URI by which the list's reader knows the item
	Raw []byte // the definition, raw JSON, with Key

	Member string // of a Bridge that has the item; "" elsewhere. Of nested Bridges the outermost sets it
	Own    string // the name or URI that Member has for it, if the Bridge shows another one

	Untrusted    bool   // what the annotations say decides nothing
	Repeatable   bool   // the tool is annotated as read-only or idempotent
	ParamHeaders bool   // arguments may be repeated in HTTP headers (x-mcp-header, SEP-2243)
	Function     string // the caller's function that carries the tool out; "" when the bridge does
}

// NewItem parses an item of a list result. It fails when the definition is not an object with the
// kind's key, or has members that readers understand differently.
func NewItem(kind ListKind, raw []byte) (Item, error) {
	var name, annotations []byte
	var keys definitionKeys
	for key, value := range wire.Members(raw) {
		keys.check(key)
		switch key {
		case kinds[kind].key:
			name = value
		case "annotations":
			annotations = value
		}
	}
	key, ok := wire.Text(name)
	switch {
	case !ok:
		return Item{}, fmt.Errorf("an item of %s has no %q: %.80s", kind.Method(), kinds[kind].key, raw)
	case keys.fault != "":
		return Item{Key: key}, fmt.Errorf("%s %.100s: its key %s", kinds[kind].noun, key, keys.fault)
	}
	return Item{Key: key, Raw: raw, Repeatable: string(wire.Lookup(annotations, "readOnlyHint")) == "true" ||
		string(wire.Lookup(annotations, "idempotentHint")) == "true",
		ParamHeaders: bytes.Contains(raw, []byte(`"x-mcp-header"`))}, nil
}

var knownKeys = [...]string{"name", "uri", "uriTemplate", "title", "description", "inputSchema", "outputSchema", "annotations", "arguments"}

// definitionKeys are the keys of a definition. The fault says which of them is there twice, or in another
// letter case: decoders take the first, the last, the variant, or fail for the whole list.
type definitionKeys struct {
	seen  [len(knownKeys)]bool
	fault string // the first; "" without one
}

func (d *definitionKeys) check(key string) {
	i := slices.IndexFunc(knownKeys[:], func(k string) bool { return strings.EqualFold(k, key) })
	switch {
	case i < 0 || d.fault != "":
	case key != knownKeys[i]:
		d.fault = fmt.Sprintf("%.40q is a variant of %q", key, knownKeys[i])
	case d.seen[i]:
		d.fault = fmt.Sprintf("%q occurs twice", key)
	default:
		d.seen[i] = true
	}
}

// equal reports whether two items are the same in every field.
func (it Item) equal(other Item) bool {
	return it.Key == other.Key && it.Member == other.Member && it.Own == other.Own && it.Function == other.Function && it.Untrusted == other.Untrusted && it.Repeatable == other.Repeatable &&
		it.ParamHeaders == other.ParamHeaders && string(it.Raw) == string(other.Raw)
}

// Tool parses the definition of a tool. The annotations of an untrusted item are left out.
func (it Item) Tool() toolformat.Tool {
	extra := it.Raw
	if it.Untrusted {
		extra = wire.CutMember(extra, "annotations")
	}
	description, _ := wire.Text(wire.Lookup(it.Raw, "description"))
	return toolformat.Tool{
		Name:         it.Key,
		Description:  description,
		InputSchema:  wire.Lookup(it.Raw, "inputSchema"),
		OutputSchema: wire.Lookup(it.Raw, "outputSchema"),
		Extra:        extra,
	}
}

// maxPage bounds a page of a list, in bytes. It is large, since many clients ignore cursors.
const maxPage = 1 << 20

// A List is an immutable list of one kind. Its pages are encoded once, on first use.
type List struct {
	Kind  ListKind
	Items []Item
	Extra []byte // members of the list's result beside the items, as a raw JSON object; may be nil

	unlisted []Item // not shown to this caller, while their names are taken
	private  bool   // the view of a single caller

	index map[string]int // of an item by key

	encoding sync.Once // guards pages and digest
	pages    [][]byte
	digest   string // in cursors

	mu      sync.Mutex // guards derived, and is held while a list is derived
	derived map[any]*List
}

// NewList returns a list of items, which it takes over. Find returns the first of items with the
// same key.
func NewList(kind ListKind, items []Item) *List {
	l := &List{Kind: kind, Items: items, index: make(map[string]int, len(items))}
	for i := len(items) - 1; i >= 0; i-- {
		l.index[items[i].Key] = i
	}
	return l
}

// Derive returns the list of what change makes of each item, without the items for which it returns
// false. It calls change once in the life of l for each key: a key, comparable, stands for one
// change.
func (l *List) Derive(key any, change func(Item) (Item, bool)) *List {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.derived[key]
	if d == nil {
		if d = l.rewrite(change); l.derived == nil {
			l.derived = map[any]*List{}
		}
		l.derived[key] = d
	}
	return d
}

// rewrite is Derive without its memory. A list that does not change is returned as it is.
func (l *List) rewrite(change func(Item) (Item, bool)) *List {
	changed := false
	rewrite := func(items []Item) []Item {
		kept := make([]Item, 0, len(items))
		for _, it := range items {
			own, ok := change(it)
			changed = changed || !ok || !own.equal(it)
			if ok {
				kept = append(kept, own)
			}
		}
		return kept
	}
	items, unlisted := rewrite(l.Items), rewrite(l.unlisted)
	if !changed {
		return l
	}
	d := NewList(l.Kind, items)
	d.Extra, d.unlisted, d.private = l.Extra, unlisted, l.private
	return d
}

// Find returns the item with a key.
func (l *List) Find(key string) (it Item, ok bool) {
	i, ok := l.index[key]
	if !ok {
		return Item{}, false
	}
	return l.Items[i], true
}

// Unknown returns the error for a key that the list does not have. It names a near one that it has.
func (l *List) Unknown(key string) *toolformat.Error {
	e := toolformat.Errorf(toolformat.NotFound, "unknown %s: %s", kinds[l.Kind].noun, key)
	if near := toolformat.Closest(key, l.keys()); near != "" {
		e.Message += " (did you mean " + near + "?)"
	}
	return e
}

// keys returns the keys of all items, in order.
func (l *List) keys() []string {
	keys := make([]string, len(l.Items))
	for i, it := range l.Items {
		keys[i] = it.Key
	}
	return keys
}

// Equal reports whether the definitions of two lists are equal, byte for byte.
func (l *List) Equal(other *List) bool {
	if l == nil || other == nil {
		return l == other
	}
	equal := func(a, b Item) bool { return string(a.Raw) == string(b.Raw) }
	return l == other || l.Kind == other.Kind && slices.EqualFunc(l.Items, other.Items, equal)
}

// Page returns the result of the list method for a cursor ("" for the first page), raw JSON that
// must not be changed. A cursor of another version of the list is an Invalid error.
func (l *List) Page(cursor string) ([]byte, *toolformat.Error) {
	l.encoding.Do(l.encode)
	if cursor == "" {
		return l.pages[0], nil
	}
	decoded, _ := base64.RawURLEncoding.DecodeString(cursor)
	digest, number, _ := strings.Cut(string(decoded), ":")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 1:
		return nil, toolformat.Errorf(toolformat.Invalid, "unknown cursor: it is not one that %s gave out", l.Kind.Method())
	case digest != l.digest || n >= len(l.pages):
		return nil, toolformat.Errorf(toolformat.Invalid, "the list has changed since this cursor was given out: call %s again without a cursor", l.Kind.Method())
	}
	return l.pages[n], nil
}

func (l *List) encode() {
	var starts []int // of each page, in items
	size := maxPage + 1
	for i, it := range l.Items {
		if size += len(it.Raw) + 1; size > maxPage {
			starts, size = append(starts, i), len(it.Raw)
		}
	}
	if len(starts) == 0 {
		starts = []int{0} // an empty list has a page too
	}
	if len(starts) > 1 {
		h := fnv.New64a()
		for _, it := range l.Items {
			h.Write(it.Raw)
		}
		l.digest = strconv.FormatUint(h.Sum64(), 36)
	}
	l.pages = make([][]byte, len(starts))
	for p, start := range starts {
		end, next := len(l.Items), ""
		if p+1 < len(starts) {
			end, next = starts[p+1], base64.RawURLEncoding.EncodeToString([]byte(l.digest+":"+strconv.Itoa(p+1)))
		}
		l.pages[p] = l.encodePage(l.Items[start:end], next)
	}
}

func (l *List) encodePage(items []Item, next string) []byte {
	size := len(l.Extra) + 64
	for _, it := range items {
		size += len(it.Raw) + 1
	}
	b := append(make([]byte, 0, size), `{"`...)
	b = append(append(b, l.Kind.Member()...), `":[`...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it.Raw...)
	}
	b = append(b, ']')
	for key, raw := range wire.Members(l.Extra) {
		b = append(append(wire.AppendString(append(b, ','), key), ':'), raw...)
	}
	if next != "" {
		b = wire.AppendString(append(b, `,"nextCursor":`...), next)
	}
	return append(b, '}')
}
