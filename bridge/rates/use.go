package rates

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// A Quota is what a principal, or all callers together, have used of a daily Rate.
type Quota struct {
	Match     string `json:"match"`
	Principal string `json:"principal,omitempty"` // "" of a shared one, and of callers without a name
	Profile   string `json:"profile,omitempty"`   // the profile that has the Rate; "" if it is common
	Shared    bool   `json:"shared,omitempty"`
	Calls     int    `json:"calls"` // calls a day
	Used      int    `json:"used"`  // calls of today, also by other processes
}

// Quotas returns those of the callers that have had a session, the fullest first.
func (b *Buckets) Quotas() (all []Quota) {
	b.mu.Lock()
	daily := map[key]*quota{}
	for of, own := range b.all {
		if q, ok := own.room.(*quota); ok {
			daily[of] = q
		}
	}
	b.mu.Unlock()
	today := time.Now().UTC().Format(time.DateOnly)
	stored := map[Store]map[string]int{}
	for of, q := range daily {
		if stored[of.store] == nil {
			stored[of.store] = usedOn(today, of.store)
		}
		all = append(all, Quota{
			Match: of.rate.Match, Principal: of.principal, Profile: of.profile, Shared: of.rate.Shared,
			Calls: of.rate.Calls, Used: q.usedOn(today, stored[of.store]),
		})
	}
	slices.SortFunc(all, func(a, b Quota) int {
		return cmp.Or(cmp.Compare(b.Used*a.Calls, a.Used*b.Calls), cmp.Compare(a.Match, b.Match), cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Profile, b.Profile))
	})
	return all
}

// usedOn returns what a store, which may be nil, has of a day; nothing if it cannot be read.
func usedOn(day string, s Store) map[string]int {
	var days []dayUse
	if s != nil {
		_ = s.Update(func(text []byte) ([]byte, error) {
			days = nil
			if len(text) == 0 {
				return text, nil
			}
			return text, json.Unmarshal(text, &days)
		})
	}
	for _, d := range days {
		if d.Day == day && d.Used != nil {
			return d.Used
		}
	}
	return map[string]int{}
}

// usedOn returns how many calls of a day have been made.
func (q *quota) usedOn(day string, stored map[string]int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	used, left := stored[q.key], 0
	if q.store == nil && q.day == day {
		used = q.used
	}
	if q.day == day {
		left = q.left
	}
	return max(0, used-left)
}
