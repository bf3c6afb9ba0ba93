package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Heading describes a conversation in a list.
type Heading struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"`
	Provider string    `json:"provider,omitempty"` // the name of the candidate used last
	Model    string    `json:"model,omitempty"`
	System   string    `json:"system,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`
}

// A Transcript is a conversation as data. Its JSON has a "version" and the members of Heading
// and Run.
type Transcript struct {
	Heading
	Run
}

// transcriptJSON is the JSON of a Transcript.
type transcriptJSON struct {
	Version string `json:"version"`
	*Heading
	*plainRun
}

// MarshalJSON writes the transcript with its version.
func (t *Transcript) MarshalJSON() ([]byte, error) {
	return marshal(transcriptJSON{formatVersion, &t.Heading, t.plain()})
}

// UnmarshalJSON reads the JSON of MarshalJSON, of a known version, and repairs it as
// [Run.UnmarshalJSON] does.
func (t *Transcript) UnmarshalJSON(data []byte) error {
	var read Transcript
	err := read.unmarshal(data, &transcriptJSON{Heading: &read.Heading, plainRun: (*plainRun)(&read.Run)})
	if err != nil {
		return fmt.Errorf("conversation: %w", err)
	}
	*t = read
	return nil
}

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
