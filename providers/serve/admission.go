package serve

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// minBytes bounds the bytes of the requests in progress, unless Options.MaxBody is more than a
// quarter of it.
const minBytes = 256 << 20

// errCrowded is why a request is refused whose body has no room beside those of others.
var errCrowded = errors.New("too many bytes of requests are in progress: try again later")

// admission bounds the completions in progress and the bytes of their requests, for all
// principals and for each.
type admission struct {
	mu  sync.Mutex // guards what follows
	all use
	own map[string]*use // of the principals with completions in progress

	most, share use
}

// use is what completions use.
type use struct {
	completions int
	bytes       int64
}

// fits reports whether there is no more of anything than in most.
func (u *use) fits(most *use) bool { return u.completions <= most.completions && u.bytes <= most.bytes }

// newAdmission returns the admission for some principals. Of several each has half.
func newAdmission(o *Options) *admission {
	a := &admission{own: map[string]*use{}}
	a.set(o)
	return a
}

// set changes the bounds. What is in progress beyond them goes on.
func (a *admission) set(o *Options) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most = use{o.AtOnce, max(minBytes, 4*o.MaxBody)}
	a.share = a.most
	if o.Principals > 1 {
		a.share = use{(a.most.completions + 1) / 2, a.most.bytes / 2}
	}
}

// bounds returns how many completions may be in progress, and how many of each principal.
func (a *admission) bounds() (most, share int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most.completions, a.share.completions
}

// take adds to what a principal uses, unless there is no room for it.
func (a *admission) take(principal string, more use) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, own := a.all, use{}
	if now := a.own[principal]; now != nil {
		own = *now
	}
	for _, u := range []*use{&all, &own} {
		u.completions += more.completions
		u.bytes += more.bytes
	}
	if !all.fits(&a.most) || !own.fits(&a.share) {
		return false
	}
	a.all, a.own[principal] = all, &own
	return true
}

// running returns how many completions are in progress.
func (a *admission) running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.completions
}

// give subtracts what take added.
func (a *admission) give(principal string, less use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.own[principal]
	for _, u := range []*use{&a.all, own} {
		u.completions -= less.completions
		u.bytes -= less.bytes
	}
	if *own == (use{}) {
		delete(a.own, principal)
	}
}

// A visit is a request that is being read, and then a completion in progress.
type visit struct {
	*admission
	principal string
	used      use
}

// enter begins a completion, which must leave.
func (a *admission) enter(principal string) (*visit, error) {
	v := &visit{admission: a, principal: principal}
	if err := v.begin(); err != nil {
		return nil, err
	}
	return v, nil
}

// arrive begins the visit of a request that is to be read before it is a completion. It must leave. What has yet to
// come takes no place, but where there is none now the request is refused at once.
func (a *admission) arrive(principal string) (*visit, error) {
	v, err := a.enter(principal)
	if err == nil {
		v.leave()
	}
	return v, err
}

// begin counts a completion until the visit leaves, if there is room for it.
func (v *visit) begin() error {
	if v.add(use{completions: 1}) {
		return nil
	}
	most, share := v.bounds()
	if share != most {
		return fmt.Errorf("too many chat completions are in progress: at most %d, of which %d for each token (limits.completions in the config); try again later", most, share)
	}
	return fmt.Errorf("too many chat completions are in progress: at most %d (limits.completions in the config); try again later", most)
}

// leave ends the use of everything.
func (v *visit) leave() {
	if v.used != (use{}) {
		v.give(v.principal, v.used)
		v.used = use{}
	}
}

// add adds to what the visit uses, if there is room for it.
func (v *visit) add(more use) bool {
	if !v.take(v.principal, more) {
		return false
	}
	v.used.completions += more.completions
	v.used.bytes += more.bytes
	return true
}

// grow counts more bytes until the visit leaves, if there is room for them.
func (v *visit) grow(n int64) bool { return n == 0 || v.add(use{bytes: n}) }

// counted returns a body whose bytes count until the visit leaves. Reading it fails with
// errCrowded where there is no room.
func (v *visit) counted(body io.Reader) io.Reader { return &countedBody{body, v} }

type countedBody struct {
	io.Reader
	visit *visit
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if !b.visit.grow(int64(n)) {
		return 0, errCrowded
	}
	return n, err
}
