package rates

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Store keeps a text across restarts: how many calls have been made on the latest days. It may be used from many
// goroutines and processes, and must be comparable.
type Store interface {
	// Update replaces the text, nil if there is none, by what change makes of it. No other Update comes
	// between. change may be called more than once; if it fails, the text stays.
	Update(change func(text []byte) ([]byte, error)) error
}

// quota is what is left of a day for the calls of a Rate. A few calls are taken from the store at once, so that few
// calls wait for it; those that are lost in a crash stay used.
type quota struct {
	calls int
	key   string // in the store
	store Store  // nil keeps nothing

	mu    sync.Mutex // guards what follows, and is held while the store is changed
	day   string     // that the rest is about
	used  int        // without a store
	left  int        // calls that have been taken
	again time.Time  // when the store is looked at again, which had nothing left
}

func newQuota(of *key) *quota {
	name := []byte("shared")
	if !of.rate.Shared {
		name = wire.AppendString(nil, of.principal)
	}
	name = wire.AppendString(append(name, ' '), of.profile)
	return &quota{calls: of.rate.Calls, key: string(wire.AppendString(append(name, ' '), of.rate.Match)), store: of.store}
}

// take takes the room of a call, or returns how long the day still is.
func (q *quota) take(time.Duration) (wait time.Duration, fault *toolformat.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now().UTC().Round(0) // by the clock on the wall, which may be set
	day := now.Format(time.DateOnly)
	if day != q.day {
		q.day, q.used, q.left, q.again = day, 0, 0, time.Time{}
	}
	if q.left == 0 && now.Before(q.again) && q.again.Before(now.Add(lookTime+1)) {
		return untilMidnight(now), nil
	}
	if q.left == 0 {
		if err := q.fetch(); err != nil {
			e := toolformat.Errorf(toolformat.Unavailable, "it cannot be counted how many calls were made today, of which there may be %d: whoever runs the bridge finds the reason in its log", q.calls)
			e.NotRun = true
			return 0, e.Because(err)
		}
	}
	if q.left == 0 {
		q.again = now.Add(lookTime)
		return untilMidnight(now), nil
	}
	q.left--
	return 0, nil
}

// lookTime is for how long it is believed that a day is used up: another process may give calls back.
const lookTime = time.Second

func untilMidnight(now time.Time) time.Duration {
	return time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC).Sub(now)
}

// fetch takes some of the calls that are left of the day. q.mu is held.
func (q *quota) fetch() error {
	if q.store == nil {
		q.left, q.used = q.calls-q.used, q.calls
		return nil
	}
	taken := 0
	err := q.change(func(used int) int {
		rest := max(0, q.calls-used)
		taken = min(rest, max(1, min(rest/100, maxPortion)))
		return used + taken
	})
	if err == nil {
		q.left = taken
	}
	return err
}

// maxPortion bounds how many calls are taken at once.
const maxPortion = 64

// give gives the room of a call back that take has taken.
func (q *quota) give() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left++
}

// leave gives the calls back that were not made. After an error they stay used.
func (q *quota) leave() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.store == nil || q.left == 0 {
		return nil
	}
	own := q.left
	err := q.change(func(used int) int { return used - own })
	if err == nil {
		q.left = 0
	}
	return err
}

// GiveBack gives the calls of daily rates back that were taken from the store and not made, within a time: other
// processes may make them. It is for a process whose store goes before its sessions do.
func (b *Buckets) GiveBack(within time.Duration) {
	until := time.Now().Add(within)
	b.mu.Lock()
	var all []*quota
	for _, own := range b.all {
		if q, daily := own.room.(*quota); daily {
			all = append(all, q)
		}
	}
	b.mu.Unlock()
	for _, q := range all {
		if q.leave() != nil || time.Now().After(until) {
			return
		}
	}
}

// full reports whether the quota is as good as a new one.
func (q *quota) full(time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.left == 0 && q.store != nil || q.day != time.Now().UTC().Format(time.DateOnly)
}

// change changes how many calls of the day are used. q.mu is held.
func (q *quota) change(next func(used int) int) error {
	return q.store.Update(func(text []byte) ([]byte, error) {
		var days []dayUse
		if len(text) > 0 {
			if err := json.Unmarshal(text, &days); err != nil {
				return nil, fmt.Errorf("it is not the calls of the latest days, in JSON: remove it, and they count from 0 again: %w", err)
			}
		}
		i := slices.IndexFunc(days, func(d dayUse) bool { return d.Day == q.day })
		if i < 0 {
			days = append(days[max(0, len(days)-maxDays+1):], dayUse{q.day, map[string]int{}})
			i = len(days) - 1
		}
		used := days[i].Used
		if _, known := used[q.key]; !known && len(used) >= maxUsers || used == nil {
			return nil, fmt.Errorf("more than %d quotas are in use today", maxUsers)
		}
		used[q.key] = max(0, next(max(0, used[q.key])))
		return json.Marshal(days)
	})
}

// dayUse is how many calls were made on a day, such as 2026-11-27, by quota.
type dayUse struct {
	Day  string         `json:"day"`
	Used map[string]int `json:"used"`
}

// The days that are kept, as a clock may be set back, and the quotas of each.
const maxDays, maxUsers = 8, 10_000
