package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Store keeps conversations. It may be used from many goroutines at once.
type Store interface {
	// Save stores a conversation and replaces the one with its ID.
	Save(ctx context.Context, t *Transcript) error

	// Load returns the conversation with an ID. The error wraps ErrNoConversation if the
	// store does not have it.
	Load(ctx context.Context, id string) (*Transcript, error)

	// List returns the conversations, those updated last first, up to most; 0 or less
	// means 100.
	List(ctx context.Context, most int) ([]Heading, error)
}

// ErrNoConversation is the error for an ID that a Store does not have.
var ErrNoConversation = errors.New("no such conversation")

// A Memory is a Store in memory. The zero value works.
type Memory struct {
	Most int // conversations, beyond which the oldest is evicted; 0 or less means 1,000

	mu   sync.Mutex // guards what follows
	kept map[string]*Transcript
}

// Save implements Store.
func (m *Memory) Save(_ context.Context, t *Transcript) error {
	own := *t
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]*Transcript{}
	}
	m.kept[t.ID] = &own
	if len(m.kept) > cmp.Or(max(0, m.Most), 1000) {
		var oldest *Transcript
		for _, other := range m.kept {
			if other != &own && (oldest == nil || other.Updated.Before(oldest.Updated)) {
				oldest = other
			}
		}
		delete(m.kept, oldest.ID)
	}
	return nil
}

// Load implements Store.
func (m *Memory) Load(_ context.Context, id string) (*Transcript, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.kept[id]; t != nil {
		own := *t
		return &own, nil
	}
	return nil, fmt.Errorf("%w: %.60q", ErrNoConversation, id)
}

// List implements Store.
func (m *Memory) List(_ context.Context, most int) ([]Heading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Heading
	for _, t := range m.kept {
		all = append(all, t.Heading)
	}
	slices.SortFunc(all, func(a, b Heading) int { return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID)) })
	return all[:min(len(all), cmp.Or(max(0, most), 100))], nil
}
