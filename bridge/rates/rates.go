package rates

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/decision"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/internal/rounds"
	"github.com/mcpbridge/mcpbridge/bridge/internal/spell"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Rate bounds the calls of the tools that match a pattern, in all.
type Rate struct {
	Match  string        // of bridge.Match
	Calls  int           // that may come in Per, in the long run
	Per    time.Duration // more than 0, unless Daily
	Burst  int           // calls that may come at once; 0 means Calls
	Daily  bool          // Calls are those of a day of UTC, however they are spread; Per and Burst have no meaning
	Shared bool          // all callers that have the Rate share it, in place of the sessions of one principal
}

// Rates are those of all callers.
type Rates struct {
	Common   []Rate            // of callers without a profile that has its own
	Profiles map[string][]Rate // by profile
	Store    Store             // keeps what was used of a day; nil forgets it when the program ends
}

// Buckets are what the callers have used of their rates, whatever the sources that they call. The zero value
// is ready. It may be used from many goroutines.
type Buckets struct {
	mu    sync.Mutex // guards what follows, and the users of buckets
	begun time.Time  // times are counted from it
	all   map[key]*shared
	most  int // buckets, before those that are not needed are removed

	asking rounds.Calls[struct{}] // that have been counted, and whose clients are asked for input

	unsent sync.Map               // of *bucket to key: those with uses that Used has not told of
	onUsed atomic.Pointer[func()] // nil does nothing
}

// key identifies a bucket: a rate of a principal, and of a profile if that has rates of its own.
type key struct {
	principal, profile string
	rate               Rate
	store              Store // of a day; else nil
}

// shared is the bucket or the quota of a rate, which the sessions of a principal share.
type shared struct {
	room
	rate  Rate
	users int // sessions; guarded by Buckets.mu
}

// counts reports whether calls of a tool count in the bucket.
func (s *shared) counts(tool string) bool {
	ok, _ := bridge.Match(s.rate.Match, tool)
	return ok
}

// room is a bucket or a quota.
type room interface {
	take(now time.Duration) (wait time.Duration, fault *toolformat.Error)
	give()
	full(now time.Duration) bool
}

// fewest is how many buckets are kept without a look at them.
const fewest = 1024

// Wrap returns a source in front of another one that refuses calls which come too often. Without rates it
// is the source itself.
func (b *Buckets) Wrap(source bridge.Source, rates Rates) bridge.Source {
	if len(rates.Common)+len(rates.Profiles) == 0 {
		return source
	}
	return bridge.Wrap(&listed{source, rates}, func(below bridge.Session, caller *bridge.Caller) (bridge.Session, error) {
		own, profile := rates.of(caller)
		if len(own) == 0 {
			return below, nil
		}
		s := &session{Session: below, buckets: b, caller: caller}
		s.own, s.begun = b.use(key{principal: caller.Principal.Name, profile: profile}, own, rates.Store)
		return s, nil
	})
}

// of returns the rates of a caller, and its profile if they are of that alone.
func (r *Rates) of(caller *bridge.Caller) (own []Rate, profile string) {
	if caller.Operator {
		return nil, ""
	}
	if own, has := r.Profiles[caller.Profile]; has {
		return own, caller.Profile
	}
	return r.Common, ""
}

// listed lets callers with rates of certain tools call only what is listed: the only server of a Bridge may
// know a tool under names that no pattern matches.
type listed struct {
	bridge.Source
	rates Rates
}

// Open implements bridge.Source.
func (l *listed) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	own, _ := l.rates.of(caller)
	if caller.Members == nil && slices.ContainsFunc(own, func(r Rate) bool { return r.Match != "*" }) {
		below := *caller
		below.Members = func(string) bool { return true }
		caller = &below
	}
	return l.Source.Open(ctx, caller)
}

// use returns the buckets for rates, and when their time begins. leave must be called for them.
func (b *Buckets) use(of key, rates []Rate, store Store) (all []*shared, begun time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rate := range rates {
		of := key{principal: of.principal, profile: of.profile, rate: rate}
		if rate.Shared {
			of.principal = ""
		}
		if rate.Daily {
			of.store = store
		}
		own := b.at(of)
		own.users++
		all = append(all, own)
	}
	return all, b.begun
}

// at returns the bucket of a key, and makes it if it does not exist. b.mu is held.
func (b *Buckets) at(of key) *shared {
	if b.all == nil {
		b.all, b.begun, b.most = map[key]*shared{}, time.Now(), fewest
	}
	own := b.all[of]
	if own == nil {
		if len(b.all) >= b.most {
			b.clear()
		}
		own = &shared{room: newRoom(&of), rate: of.rate}
		if bucket, ok := own.room.(*bucket); ok {
			bucket.first = func() { b.keepUnsent(bucket, of) }
		}
		b.all[of] = own
	}
	return own
}

// longest bounds times, so that sums of them do not overflow.
const longest = 100 * 365 * 24 * time.Hour

func newRoom(of *key) room {
	if of.rate.Daily {
		return newQuota(of)
	}
	return newBucket(of.rate)
}

func newBucket(r Rate) *bucket {
	every := r.Per / time.Duration(r.Calls)
	ahead := float64(every) * float64(cmp.Or(r.Burst, r.Calls)-1)
	return &bucket{every: every, ahead: time.Duration(min(ahead, float64(longest)))}
}

// clear removes the buckets that nobody uses and that are full. b.mu is held.
func (b *Buckets) clear() {
	now := time.Since(b.begun)
	for of, own := range b.all {
		if own.users == 0 && own.full(now) {
			delete(b.all, of)
			if bucket, ok := own.room.(*bucket); ok {
				b.unsent.Delete(bucket)
			}
		}
	}
	b.most = max(fewest, 2*len(b.all))
}

func (b *Buckets) leave(all []*shared) {
	var unused []*quota
	b.mu.Lock()
	for _, own := range all {
		own.users--
		if q, daily := own.room.(*quota); daily && own.users == 0 {
			unused = append(unused, q)
		}
	}
	b.mu.Unlock()
	for _, q := range unused {
		q.leave()
	}
}

// session is the view of a caller with rates.
type session struct {
	bridge.Session
	buckets *Buckets
	caller  *bridge.Caller
	own     []*shared
	begun   time.Time
	ended   sync.Once
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method != wire.MethodToolsCall {
		return s.Session.Do(ctx, req)
	}
	call, goesOn := s.buckets.asking.Take(s.caller, req)
	if !goesOn {
		if fault := s.take(req.Target); fault != nil {
			return decision.Withheld(bridge.Failed(fault), match.Owner(ctx, s.Session, bridge.Tools, req.Target))
		}
	}
	reply := s.Session.Do(ctx, req)
	if rounds.Asks(&reply) {
		s.buckets.asking.Keep(s.caller, req, &reply, call)
	}
	return reply
}

// take takes the room of a call of a tool from each of the buckets that it counts in, or from none.
func (s *session) take(tool string) *toolformat.Error {
	now := time.Since(s.begun)
	for i, own := range s.own {
		if !own.counts(tool) {
			continue
		}
		wait, fault := own.take(now)
		if wait > 0 {
			fault = refused(tool, &own.rate, wait)
		}
		if fault != nil {
			for _, before := range s.own[:i] {
				if before.counts(tool) {
					before.give()
				}
			}
			return fault
		}
	}
	return nil
}

// refused is the error for a call that comes too early. A model reads it.
func refused(tool string, r *Rate, wait time.Duration) *toolformat.Error {
	what := "tool " + tool
	if r.Match != tool {
		what += " (" + r.Match + ")"
	}
	of := ""
	if r.Shared {
		of = " of all callers together"
	}
	bound := fmt.Sprintf("%d per %s%s; try again in %s", r.Calls, unit(r.Per), of, spell.Duration(wait))
	if r.Daily {
		bound = fmt.Sprintf("%d a day%s; the day ends at 00:00 UTC, in %s", r.Calls, of, spell.Duration(wait))
	}
	e := toolformat.Errorf(toolformat.Unavailable, "too many calls of %s: at most %s", what, bound)
	e.After, e.NotRun = wait, true
	return e
}

// unit returns a length of time as it follows "per".
func unit(d time.Duration) string {
	switch d {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	case 24 * time.Hour:
		return "day"
	}
	return d.String()
}

// Close implements bridge.Session.
func (s *session) Close() error {
	s.ended.Do(func() { s.buckets.leave(s.own) })
	return s.Session.Close()
}
