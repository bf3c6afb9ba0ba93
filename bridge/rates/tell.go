package rates

import "time"

// A Use is what the callers of one process have used of a Rate that is not daily.
type Use struct {
	Principal string `json:"principal,omitempty"` // none of a Rate that is shared
	Profile   string `json:"profile,omitempty"`   // if the Rate is of that alone
	Rate      Rate   `json:"rate"`
	Calls     int64  `json:"calls"`
}

// OnUsed has f called when there is something that Used returns. f must not block; there is one at a time.
func (b *Buckets) OnUsed(f func()) { b.onUsed.Store(&f) }

// keepUnsent keeps a bucket with uses for Used.
func (b *Buckets) keepUnsent(used *bucket, of key) {
	b.unsent.Store(used, of)
	if f := b.onUsed.Load(); f != nil {
		(*f)()
	}
}

// Used returns what was used since the last call of Used, for the [Buckets.Take] of other processes.
func (b *Buckets) Used() (all []Use) {
	b.unsent.Range(func(k, v any) bool {
		own, of := k.(*bucket), v.(key)
		b.unsent.Delete(own)             // before used is read, as calls after that may add it again
		if n := own.used.Load(); n > 0 { // else calls were given back that have been told of: later ones make up for them
			if own.used.Add(-n) > 0 {
				b.keepUnsent(own, of)
			}
			all = append(all, Use{of.principal, of.profile, of.rate, n})
		}
		return true
	})
	return all
}

// Take takes what callers of another process have used, as its Used says. There need not be room for it: then calls
// wait until there would have been.
func (b *Buckets) Take(all []Use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range all {
		if u.Calls <= 0 || u.Rate.Calls <= 0 || u.Rate.Per <= 0 || u.Rate.Daily { // of another version
			continue
		}
		own := b.at(key{principal: u.Principal, profile: u.Profile, rate: u.Rate})
		own.room.(*bucket).add(time.Since(b.begun), u.Calls)
	}
}

// add takes the room of calls, even if there is not enough.
func (b *bucket) add(now time.Duration, calls int64) {
	more := time.Duration(min(float64(b.every)*float64(calls), float64(longest)))
	for {
		before := b.due.Load()
		due := min(max(time.Duration(before), now), now+longest)
		if b.due.CompareAndSwap(before, int64(due+more)) {
			return
		}
	}
}
