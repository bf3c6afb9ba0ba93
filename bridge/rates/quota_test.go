package rates_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// memory is a store that several processes have.
type memory struct {
	mu      sync.Mutex // guards what follows
	text    []byte
	changes int
	fault   error
	unkept  error // of what was changed, and cannot be kept
}

func (m *memory) Update(change func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != nil {
		return m.fault
	}
	text, err := change(m.text)
	if err = cmp.Or(err, m.unkept); err == nil {
		m.text, m.changes = text, m.changes+1
	}
	return err
}

// day wraps a fake in a process of its own, in which a principal may make some calls of a tool a day.
func day(store rates.Store, match string, calls int) bridge.Source {
	return new(rates.Buckets).Wrap(sourcetest.NewFake(), rates.Rates{Common: []rates.Rate{{Match: match, Calls: calls, Daily: true}}, Store: store})
}

// What a process has taken ahead it gives back while its sessions are open.
func TestGiveBack(t *testing.T) {
	store, own := &memory{}, new(rates.Buckets)
	of := rates.Rates{Common: []rates.Rate{{Match: "*", Calls: 1000, Daily: true}}, Store: store}
	s := open(t, own.Wrap(sourcetest.NewFake(), of), named("ann", ""))
	call(s, "echo")
	own.GiveBack(time.Minute)
	if got := string(store.text); !strings.HasSuffix(got, `":1}}]`) {
		t.Error(got)
	}
}

// No call passes while its store takes no change, however often that is tried.
func TestQuotaUnkept(t *testing.T) {
	s := open(t, day(&memory{unkept: errors.New("full")}, "*", 1000), named("ann", ""))
	for range 3 {
		if e := call(s, "echo"); e == nil || !strings.HasPrefix(e.Message, "it cannot be counted") {
			t.Errorf("got %v", e)
		}
	}
}

// Quotas keep the contract of a Source.
func TestQuotaContract(t *testing.T) {
	sourcetest.Run(t, func(*testing.T) bridge.Source { return day(&memory{}, "*", 1e6) })
}

// A day has its calls, however often the program is started, and as many as it has processes.
func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(20*time.Hour + 30*time.Minute) // since the midnight at which bubbles begin
		for _, calls := range []int{1, 3, 250} {
			store := &memory{}
			passed := 0
			for passed < 2*calls+10 { // each with a process that ends, or is killed
				s := open(t, day(store, "*", calls), named("ann", ""))
				if call(s, "echo") != nil {
					break
				}
				passed++
				if calls < 250 || passed%2 == 0 {
					s.Close()
				}
			}
			if lost := calls - passed; lost < 0 || lost > calls/3 {
				t.Errorf("%d of %d calls have passed", passed, calls)
			}
			s := open(t, day(store, "*", calls), named("ann", ""))
			e := call(s, "echo")
			if want := fmt.Sprintf("too many calls of tool echo (*): at most %d a day; the day ends at 00:00 UTC, in 4 h", calls); e == nil || e.Message != want || e.After != 210*time.Minute {
				t.Errorf("got %v, want %s", e, want)
			}
			if e := call(open(t, day(store, "*", calls), named("bob", "")), "echo"); e != nil {
				t.Errorf("another principal: %v", e)
			}
			if e := call(open(t, day(store, "*", calls+1000), named("ann", "")), "echo"); e != nil {
				t.Errorf("with a longer quota: %v", e)
			}
			changes := store.changes
			for range 1000 {
				call(s, "echo")
			}
			if store.changes > changes+1 {
				t.Errorf("%d changes of the store by calls that are refused", store.changes-changes)
			}
			s.Close()
		}
		store := &memory{}
		s := open(t, day(store, "echo", 1), named("ann", ""))
		call(s, "echo")
		time.Sleep(3*time.Hour + 29*time.Minute)
		if e := call(s, "echo"); e == nil || !strings.Contains(e.Message, "in 60 s") {
			t.Errorf("before midnight: %v", e)
		}
		time.Sleep(time.Minute)
		if e := call(s, "echo"); e != nil {
			t.Errorf("the next day: %v", e)
		}
		if e := call(s, "spaced"); e != nil {
			t.Errorf("another tool: %v", e)
		}
		s.Close()
	})
}

// A clock that is set finds what was used of the day that it shows.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{text: []byte(`[{"day":"2000-01-01","used":{"\"ann\" \"\" \"*\"":5}},{"day":"2099-01-01","used":{}},{"day":"1999-01-01","used":{}}]`)}
		if e := call(open(t, day(store, "*", 5), named("ann", "")), "echo"); e == nil {
			t.Error("the calls of the day are forgotten")
		}
		store = &memory{text: []byte(`[`)}
		if e := call(open(t, day(store, "*", 5), named("ann", "")), "echo"); e == nil || string(store.text) != "[" {
			t.Errorf("with a file that is broken: %v", e)
		}
		store = &memory{fault: errors.New("disk full")}
		if e := call(open(t, day(store, "*", 5), named("ann", "")), "echo"); e == nil || !strings.Contains(e.Message, "cannot be counted") || strings.Contains(e.Message, "disk") || !e.NotRun {
			t.Errorf("with a disk that is full: %v", e)
		}
	})
}

// Calls at once, of several processes, are counted one by one; a store costs a few of them a change.
func TestQuotaAtOnce(t *testing.T) {
	for _, store := range []rates.Store{&memory{}, nil} {
		var work sync.WaitGroup
		var passed atomic.Int64
		source := day(store, "*", 2000)
		for range 8 {
			if store != nil {
				source = day(store, "*", 2000)
			}
			s := open(t, source, named("ann", ""))
			work.Go(func() {
				defer s.Close()
				for range 1000 {
					if call(s, "echo") == nil {
						passed.Add(1)
					}
				}
			})
		}
		work.Wait()
		if n := passed.Load(); n > 2000 || n < 1900 {
			t.Errorf("%d calls have passed", n)
		}
		if m, ok := store.(*memory); ok && m.changes > 600 {
			t.Errorf("%d changes", m.changes)
		}
	}
}

// A shared rate is that of all callers together, in all processes, and what was used of quotas can be read.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		of := rates.Rates{Store: store, Common: []rates.Rate{
			{Match: "echo", Calls: 3, Daily: true, Shared: true}, {Match: "*", Calls: 2, Daily: true}, {Match: "spaced", Calls: 1, Per: time.Hour, Shared: true},
		}}
		var processes [2]rates.Buckets
		for i, principal := range []string{"ann", "bob", "eve"} {
			if e := call(open(t, processes[i%2].Wrap(sourcetest.NewFake(), of), named(principal, "")), "echo"); e != nil {
				t.Errorf("%s: %v", principal, e)
			}
		}
		ann := open(t, processes[0].Wrap(sourcetest.NewFake(), of), named("ann", ""))
		if e := call(ann, "echo"); e == nil || !strings.HasPrefix(e.Message, "too many calls of tool echo: at most 3 a day of all callers together; the day ends at 00:00 UTC") {
			t.Errorf("the fourth call: %v", e)
		}
		if e := call(ann, "spaced"); e != nil {
			t.Error(e)
		}
		if e := call(open(t, processes[0].Wrap(sourcetest.NewFake(), of), named("max", "")), "spaced"); e == nil || !strings.Contains(e.Message, "at most 1 per hour of all callers together; try again in") {
			t.Errorf("another one within the hour: %v", e)
		}
		want := []rates.Quota{
			{Match: "*", Principal: "ann", Calls: 2, Used: 2}, {Match: "echo", Shared: true, Calls: 3, Used: 3},
			{Match: "*", Principal: "eve", Calls: 2, Used: 1}, {Match: "*", Principal: "max", Calls: 2},
		}
		if got := processes[0].Quotas(); !slices.Equal(got, want) {
			t.Errorf("the quotas are %+v, want %+v", got, want)
		}
		time.Sleep(24 * time.Hour)
		for _, q := range processes[0].Quotas() {
			if q.Used != 0 {
				t.Errorf("on the next day: %+v", q)
			}
		}
	})
}
