package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/itemcache"
)

// A Scanner is rules that are ready for use. The nil Scanner has none.
type Scanner struct {
	rules    []Rule
	words    *vocabulary
	anything known // what is not known to be about an item
	defines  bool  // a rule is about definitions
}

// Compile makes a Scanner of rules, nil of none. The error names each rule that cannot be used, and why.
func Compile(rules []Rule) (*Scanner, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	s := &Scanner{words: newVocabulary()}
	var faults []error
	for i, r := range rules {
		r.Name = cmp.Or(r.Name, fmt.Sprintf("scan %d", i+1))
		if err := r.check(); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", r.Name, err))
		}
		s.rules = append(s.rules, r)
	}
	for i := range s.rules {
		s.anything.plans.add(&s.rules[i])
	}
	s.defines = !s.anything.definitions.none()
	return s, errors.Join(faults...)
}

// Wrap wraps a source: what its callers send and get is looked at as the rules say. Without rules it is the source
// itself.
func (s *Scanner) Wrap(source bridge.Source) bridge.Source {
	if s == nil {
		return source
	}
	return &scanned{source, s}
}

type scanned struct {
	source  bridge.Source
	scanner *Scanner
}

// Open implements bridge.Source.
func (s *scanned) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	own := &session{Scanner: s.scanner}
	var err error
	if own.Session, err = s.source.Open(ctx, own.items.Follow(caller)); err != nil {
		return nil, err
	}
	return own, nil
}

// session is the view of a caller whose calls are scanned.
type session struct {
	bridge.Session // below
	*Scanner
	items itemcache.Cache[itemKey, *known]
}

type itemKey struct {
	kind bridge.ListKind
	key  string
}

// known is an item, and what the rules say about it.
type known struct {
	plans
	kind    bridge.ListKind
	server  string // that has it; "" if it is not listed
	refused bool   // its definition
}

// known returns what is known of an item. The rules of all servers hold for one that is not listed.
func (s *session) known(ctx context.Context, kind bridge.ListKind, key string) *known {
	items := s.items.Now()
	if k, ok := items.Load(itemKey{kind, key}); ok {
		return k
	}
	k := &known{kind: kind}
	l, _ := s.Session.List(ctx, kind)
	if l != nil {
		if it, ok := l.Find(key); ok {
			k.plans, k.server = s.plan(kind, key, &it), it.Member
			_, shown := s.define(kind, it)
			k.refused = !shown
			items.Store(itemKey{kind, key}, k)
			return k
		}
	}
	k.plans = s.plan(kind, key, nil)
	return k
}

// List implements bridge.Session.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, err := s.Session.List(ctx, kind)
	if l != nil && s.defines {
		l = l.Derive(s.Scanner, func(it bridge.Item) (bridge.Item, bool) { return s.define(kind, it) })
	}
	return l, err
}

// define returns an item as callers see it; false for one that they do not.
func (s *Scanner) define(kind bridge.ListKind, it bridge.Item) (bridge.Item, bool) {
	p := s.plan(kind, it.Key, &it).definitions
	if p.none() {
		return it, true
	}
	r := s.scan(it.Raw, p)
	if len(r.all) == 0 {
		return it, true
	}
	if r.refused != nil {
		return it, false
	}
	own, err := bridge.NewItem(kind, describe(r.raw, note(Definitions, r.all)))
	if err != nil || own.Key != it.Key { // a name is not to be changed
		return it, false
	}
	it.Raw = own.Raw
	return it, true
}
