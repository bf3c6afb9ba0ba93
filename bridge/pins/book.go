package pins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Bounds of a Book. Of a definition beyond them only the digest is kept, and of a new tool or prompt
// nothing.
const (
	maxDefinition = 64 << 10
	maxBook       = 16 << 20
	maxPins       = 20000 // of one kind
)

// A Book is what is kept of a server. A kind that is nil has not been seen.
type Book struct {
	Tools   map[string]*Pin `json:"tools,omitzero"`
	Prompts map[string]*Pin `json:"prompts,omitzero"`
	Texts   map[string]*Pin `json:"texts,omitzero"` // the server's instructions
}

// A Pin is what is kept of a tool, a prompt or a text.
type Pin struct {
	Accepted *Definition `json:"accepted,omitempty"` // nil if it is new
	Held     *Definition `json:"held,omitempty"`     // a newer one that is held back; nil without one
	Shown    bool        `json:"shown,omitzero"`     // Held has been shown to a person
}

// A Definition is one that a server has listed.
type Definition struct {
	Digest string          `json:"digest"`
	Raw    json.RawMessage `json:"definition,omitempty"` // nil if it is too long to be kept
}

// is reports whether raw says the same as the definition. d may be nil.
func (d *Definition) is(raw []byte) bool {
	return d != nil && (bytes.Equal(d.Raw, raw) || d.Digest == digest(raw))
}

// A Change is a definition that is held back.
type Change struct {
	Kind bridge.ListKind
	Name string
	Pin
}

// Texts is the kind of a server's instructions, in a Book.
const Texts = bridge.ListKind(bridge.ListKinds)

// instructions is their name, and that of their member.
const instructions = "instructions"

// Noun returns what a Change is one of: tool, prompt or text.
func (c *Change) Noun() string { return noun(c.Kind) }

func noun(kind bridge.ListKind) string {
	if kind == Texts {
		return "text"
	}
	return strings.TrimSuffix(kind.Member(), "s")
}

// Parse reads the text of a store; there may be none.
func Parse(text []byte) (*Book, error) {
	b := &Book{}
	if text == nil {
		return b, nil
	}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, err
	}
	for kind := range keptKinds() {
		for name, p := range *b.kind(kind) {
			if p == nil || p.Accepted == nil && p.Held == nil {
				return nil, fmt.Errorf("%ss: %.100q has neither an accepted definition nor one that is held", noun(kind), name)
			}
		}
	}
	return b, nil
}

// keptKinds yields the kinds of what is kept.
func keptKinds() func(func(bridge.ListKind) bool) {
	return slices.Values([]bridge.ListKind{bridge.Tools, bridge.Prompts, Texts})
}

// pinnedKinds yields the kinds whose items are pinned.
func pinnedKinds() func(func(bridge.ListKind) bool) {
	return slices.Values([]bridge.ListKind{bridge.Tools, bridge.Prompts})
}

func isPinned(kind bridge.ListKind) bool { return kind == bridge.Tools || kind == bridge.Prompts }

// kind returns the pins of a kind.
func (b *Book) kind(kind bridge.ListKind) *map[string]*Pin {
	switch kind {
	case bridge.Prompts:
		return &b.Prompts
	case Texts:
		return &b.Texts
	}
	return &b.Tools
}

// text returns the text of a store.
func (b *Book) text() ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(b)
	return text.Bytes(), err
}

// Held returns what is held back, in order.
func (b *Book) Held() (all []Change) {
	for kind := range keptKinds() {
		pins := *b.kind(kind)
		for _, name := range slices.Sorted(maps.Keys(pins)) {
			if pins[name].Held != nil {
				all = append(all, Change{kind, name, *pins[name]})
			}
		}
	}
	return all
}

// show notes that what is held back under a name, or all if that is "", has been shown, and returns it.
func (b *Book) show(name string) (shown []Change) {
	for _, c := range b.Held() {
		if name == "" || name == c.Name {
			shown = append(shown, c)
			(*b.kind(c.Kind))[c.Name] = &Pin{c.Accepted, c.Pin.Held, true}
		}
	}
	return shown
}

// Show returns what is held back in the text of a store, for someone to look at who then may accept it. It
// is for [Store.Update].
func Show(text []byte) (after []byte, held []Change, err error) {
	b, err := Parse(text)
	if err != nil {
		return nil, nil, err
	}
	if held = b.show(""); !slices.ContainsFunc(held, func(c Change) bool { return !c.Shown }) {
		return text, held, nil
	}
	after, err = b.text()
	return after, held, err
}

// Accept accepts what is held back under a name, or all if that is "", for [Store.Update]. What has not been
// shown as it is now is not accepted but returned as unseen: the caller shows it.
func Accept(text []byte, name string) (after []byte, accepted, unseen []Change, err error) {
	b, err := Parse(text)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, c := range b.show(name) {
		if !c.Shown {
			unseen = append(unseen, c)
			continue
		}
		accepted = append(accepted, c)
		(*b.kind(c.Kind))[c.Name] = &Pin{Accepted: c.Pin.Held}
	}
	if accepted == nil && unseen == nil {
		return text, nil, nil, nil
	}
	after, err = b.text()
	return after, accepted, unseen, err
}

// AcceptShown accepts what is held back and was shown to a person, for [Store.Update]. What is no longer held
// back as it was shown is returned as changed, and not accepted.
func AcceptShown(text []byte, shown []Change) (after []byte, accepted, changed []Change, err error) {
	b, err := Parse(text)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, c := range shown {
		pins := *b.kind(c.Kind)
		if p := pins[c.Name]; p == nil || p.Held == nil || c.Held == nil || p.Held.Digest != c.Held.Digest {
			changed = append(changed, c)
			continue
		}
		accepted = append(accepted, c)
		pins[c.Name] = &Pin{Accepted: pins[c.Name].Held}
	}
	if accepted == nil {
		return text, nil, changed, nil
	}
	after, err = b.text()
	return after, accepted, changed, err
}

// note takes a list into the book: the first one of a kind is accepted, of another one what is new or has
// changed is held. It reports whether that changes the book. complete says that the list is the server's
// current one.
func (b *Book) note(kind bridge.ListKind, l *bridge.List, complete bool, h history, digest func(raw []byte) string) (changed bool) {
	pins := b.kind(kind)
	first := *pins == nil
	if first {
		if len(l.Items) == 0 && (kind == bridge.Tools || !complete) {
			return false
		}
		*pins = map[string]*Pin{}
	}
	size := b.size()
	keep := func(raw []byte) *Definition {
		if len(raw) > maxDefinition || size+len(raw) > maxBook {
			return &Definition{Digest: digest(raw)}
		}
		size += len(raw)
		return &Definition{digest(raw), raw}
	}
	hold := func(raw []byte) *Definition {
		d := keep(raw)
		if _, ended := h[d.Digest]; ended {
			h[d.Digest] = true
		}
		changed = true
		return d
	}
	for _, it := range l.Items {
		p := (*pins)[it.Key]
		switch {
		case p == nil && len(*pins) >= maxPins:
		case p == nil && first:
			(*pins)[it.Key] = &Pin{Accepted: keep(it.Raw)}
		case p == nil:
			(*pins)[it.Key] = &Pin{Held: hold(it.Raw)}
		case p.Accepted.is(it.Raw), p.Held.is(it.Raw), h.stays(p.Held):
		default:
			h.end(p.Held)
			(*pins)[it.Key] = &Pin{Accepted: p.Accepted, Held: hold(it.Raw)}
		}
	}
	return changed || first
}

// drop forgets what is held and not in a list any more, which is the server's current one. It reports whether
// that changes the book.
func (b *Book) drop(kind bridge.ListKind, l *bridge.List, h history) (changed bool) {
	pins, offered := *b.kind(kind), map[string]bool{}
	for _, it := range l.Items {
		if p := pins[it.Key]; p != nil && p.Held.is(it.Raw) {
			offered[it.Key] = true
		}
	}
	for name, p := range pins {
		switch {
		case p.Held == nil || offered[name] || h.stays(p.Held):
			continue
		case p.Accepted == nil:
			delete(pins, name)
		default:
			pins[name] = &Pin{Accepted: p.Accepted}
		}
		h.end(p.Held)
		changed = true
	}
	return changed
}

// A history has the digests of definitions that were held back until a list did not have them. It is true of those
// that were listed again: callers see different lists, and what is held is not to change with each of them.
type history map[string]bool

// stays reports whether a definition stays held back, whatever lists have. d may be nil.
func (h history) stays(d *Definition) bool { return d != nil && h[d.Digest] }

// end notes that a definition is not held back any more. d may be nil.
func (h history) end(d *Definition) {
	if d == nil || h[d.Digest] {
		return
	}
	if len(h) >= maxPins {
		clear(h)
	}
	h[d.Digest] = false
}

// size returns how many bytes of definitions the book has.
func (b *Book) size() (n int) {
	for kind := range keptKinds() {
		for _, p := range *b.kind(kind) {
			for _, d := range []*Definition{p.Accepted, p.Held} {
				if d != nil {
					n += len(d.Raw)
				}
			}
		}
	}
	return n
}
