package policy_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
)

// memory is a Book.
type memory struct {
	mu       sync.Mutex // guards what follows
	away     bool
	values   map[string][]byte
	revision map[string]uint64
	last     uint64
	watchers []chan func(func(string, []byte, uint64))
}

var errAway = errors.New("away")

func (m *memory) Add(_ context.Context, key string, value []byte, _ time.Duration) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch existing := m.values[key]; {
	case m.away:
		return nil, 0, errAway
	case existing != nil:
		return existing, m.revision[key], nil
	}
	return nil, m.set(key, value), nil
}

func (m *memory) Change(_ context.Context, key string, value []byte, revision uint64, _ time.Duration) (uint64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.away:
		return 0, false, errAway
	case m.revision[key] != revision:
		return 0, false, nil
	}
	return m.set(key, value), true, nil
}

func (m *memory) set(key string, value []byte) uint64 {
	m.last++
	revision := m.last
	m.values[key], m.revision[key] = value, revision
	if value == nil {
		delete(m.values, key)
		delete(m.revision, key)
	}
	for _, changes := range m.watchers {
		changes <- func(f func(string, []byte, uint64)) { f(key, value, revision) }
	}
	return revision
}

func (m *memory) Watch(ctx context.Context, f func(string, []byte, uint64)) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(m.values)) {
		f(key, m.values[key], m.revision[key])
	}
	changes := make(chan func(func(string, []byte, uint64)), 100)
	m.watchers = append(m.watchers, changes)
	go func() {
		for {
			select {
			case tell := <-changes:
				tell(f)
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// shared returns two setups whose Desks share a Book.
func shared(t *testing.T, rules ...policy.Rule) (book *memory, one, two *setup) {
	book = &memory{values: map[string][]byte{}, revision: map[string]uint64{}}
	one, two = newSetup(t, rules...), newSetup(t, rules...)
	for _, s := range []*setup{one, two} {
		s.desk.Share(t.Context(), book)
	}
	return book, one, two
}

// What one Desk asks, another decides, and a decision is found by an equal call at any of them, once.
func TestBook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, one, two := shared(t, asks)
		replies := make(chan bridge.Reply, 3)
		call := func(s *setup) {
			session := s.open("ann", incapable)
			go func() { replies <- s.call(t.Context(), session, "echo", `{}`, nil) }()
			synctest.Wait()
		}
		decide := func(s *setup, answer policy.Answer) {
			t.Helper()
			all := s.desk.Approvals()
			if _, err := s.desk.Decide(all[len(all)-1].ID, answer, "op"); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		call(one)
		decide(two, policy.Answer{Approve: true})
		one.expect(<-replies, "")

		call(one)
		call(two)
		decide(two, policy.Answer{Approve: true})
		time.Sleep(time.Second)
		ran := one.fake.Calls("echo") + two.fake.Calls("echo")
		if ran != 2 || len(replies) != 1 {
			t.Errorf("of two calls that wait %d have run after one approval", ran-1)
		}
		decide(one, policy.Answer{Note: "no"})
		one.expect(<-replies, "")
		one.expect(<-replies, "denied by op (payments): no")

		call(one)
		call(one)
		call(two)
		decide(two, policy.Answer{Note: "no"})
		for range 3 { // a no is enough for all
			one.expect(<-replies, "denied by op (payments): no")
		}

		book.away = true
		one.expect(one.call(t.Context(), one.open("ann", incapable), "echo", `{"b":1}`, nil), "the nodes cannot agree on it now")
		if n := one.fake.Calls("echo") + two.fake.Calls("echo"); n != 2 {
			t.Errorf("%d calls have run", n)
		}
	})
}

// A Desk that stops all calls denies what is undecided at all Desks, also those that begin later. Without the Book it does so
// at this one.
func TestBookStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, one, two := shared(t, asks)
		session, replies := one.open("ann", incapable), make(chan bridge.Reply)
		call := func(ctx context.Context, arguments string) {
			go func() { replies <- one.call(ctx, session, "echo", arguments, nil) }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		call(ctx, `{"a":1}`)
		cancel() // nobody waits for the decision
		<-replies
		call(t.Context(), `{}`)
		if denied, _ := two.desk.Stop("here", "an incident"); denied != 2 {
			t.Errorf("%d denied", denied)
		}
		one.expect(<-replies, "denied by the operator (payments): all calls are stopped: an incident")
		synctest.Wait()
		three := newSetup(t, asks)
		three.desk.Share(t.Context(), book)
		for i, s := range []*setup{one, two, three} {
			if a := s.desk.Approvals()[0]; a.State != policy.Denied {
				t.Errorf("at desk %d it is %s", i+1, a.State)
			}
		}
		call(t.Context(), `{"b":1}`)
		book.away = true
		two.desk.Stop("here", "an incident")
		time.Sleep(5 * time.Second)
		if all := two.desk.Approvals(); all[len(all)-1].State != policy.Denied {
			t.Errorf("without the book it is %s", all[len(all)-1].State)
		}
		<-replies
	})
}

// An Approval outlives its Desk, and one that was used is used for all.
func TestBookKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, one, two := shared(t, asks)
		ctx, cancel := context.WithCancel(t.Context())
		session := one.open("ann", incapable)
		go one.call(ctx, session, "echo", `{}`, nil)
		synctest.Wait()
		cancel() // its node ends
		synctest.Wait()
		three := newSetup(t, asks)
		three.desk.Share(t.Context(), book)
		if _, err := three.desk.Decide(three.desk.Approvals()[0].ID, policy.Answer{Approve: true}, "op"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		two.expect(two.call(t.Context(), two.open("ann", incapable), "echo", `{}`, nil), "")
		synctest.Wait()
		for _, s := range []*setup{one, two, three} {
			if a := s.desk.Approvals()[0]; a.State != policy.Used || len(s.desk.Approvals()) != 1 {
				t.Errorf("it is %s", a.State)
			}
		}
	})
}

// Arguments that were changed where nobody could check them are checked where the call is.
func TestBookVets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, one, two := shared(t, deniesNine, asks)
		reply := make(chan bridge.Reply)
		session := one.open("ann", incapable)
		go func() { reply <- one.call(t.Context(), session, "echo", `{"a":1}`, nil) }()
		synctest.Wait()
		if _, err := two.desk.Decide(two.desk.Approvals()[0].ID, policy.Answer{Approve: true, Arguments: []byte(`{"a":9}`)}, "op"); err != nil {
			t.Error(err)
		}
		one.expect(<-reply, "denied by policy (nine): never")
	})
}
