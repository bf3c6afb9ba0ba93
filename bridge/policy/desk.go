package policy

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/rounds"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// DeskOptions are the settings of a Desk.
type DeskOptions struct {
	Expiry time.Duration // after which an undecided Approval ends, and a decision that no call has found; default 10 min
	Most   int           // Approvals at once; default 1000
	Each   int           // of a principal; default 100

	// Ask is called for each new Approval, in a goroutine of its own, to tell a person of it; may be nil.
	Ask func(Approval)

	// Here asks the person who runs this program about a call whose client cannot be asked; decided is false
	// if nobody has answered until ctx ends. nil means that nobody is there.
	Here func(ctx context.Context, a Approval) (answer Answer, decided bool)

	// Alone means that nobody looks at the Desk: a call that neither its client nor Here decides about is
	// denied at once.
	Alone bool
}

// A Desk has the Approvals of all callers. It may be used from many goroutines.
type Desk struct {
	stopped atomic.Pointer[stop]   // the one that callers are told of; nil without any
	running atomic.Int64           // calls that nobody has to decide about any more
	pages   atomic.Pointer[string] // of SetPages
	asking  rounds.Calls[approved] // that run, and whose clients are asked for input

	mu    sync.Mutex // guards what follows
	opts  DeskOptions
	stops map[string]stop // by who has stopped all calls
	book  Book            // nil means that nobody else has Approvals of these callers
	all   []*request      // the oldest first
	open  map[key]*request
}

// request is an Approval of which a call may yet find the decision.
type request struct {
	Approval // what changes in it, which includes its arguments, and answer below are guarded by Desk.mu
	key      key
	revision uint64                       // of what the Book has of it
	until    time.Time                    // when it expires without an answer
	vet      func(arguments []byte) error // says why a person cannot set them; nil for a call at another Desk
	answer   Answer
	decided  chan struct{} // closed when there is an answer, or no time left
	turn     chan struct{} // holds one while a client is asked
}

func (r *request) isDecided() bool {
	select {
	case <-r.decided:
		return true
	default:
		return false
	}
}

// now returns the Approval of a request as it is now.
func (d *Desk) now(r *request) Approval {
	d.mu.Lock()
	defer d.mu.Unlock()
	return r.Approval
}

// NewDesk returns a Desk without Approvals.
func NewDesk(opts DeskOptions) *Desk {
	d := &Desk{open: map[key]*request{}, stops: map[string]stop{}}
	d.Configure(opts)
	return d
}

// Configure changes the settings, for Approvals to come.
func (d *Desk) Configure(opts DeskOptions) {
	opts.Expiry = cmp.Or(opts.Expiry, 10*time.Minute)
	opts.Most, opts.Each = cmp.Or(opts.Most, 1000), cmp.Or(opts.Each, 100)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opts = opts
}

// options returns the settings.
func (d *Desk) options() DeskOptions {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opts
}

// Stop denies all calls from now on, for a reason that callers are told, which is not "", and the Approvals that
// are undecided, which stay denied: with a Book at all Desks, a moment later. Resume with the same who ends it. Stop
// returns how many Approvals there were, and how many calls run, which go on.
func (d *Desk) Stop(who, reason string) (denied, running int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stops[who] = stop{reason: reason}
	d.heedStops()
	d.expire(time.Now())
	for _, r := range d.all {
		if r.State != Pending {
			continue
		}
		if denied++; d.book == nil {
			d.settle(r, Answer{Note: stoppedNote + reason}, byOperator)
		} else {
			go d.denyShared(r, Answer{Note: stoppedNote + reason})
		}
	}
	return denied, int(d.running.Load())
}

const byOperator = "the operator"

// Hold refuses all calls while it is not known whether they may run: callers are told why, and to call again. It ends
// with Resume or Stop.
func (d *Desk) Hold(who, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stops[who] = stop{reason: why, held: true}
	d.heedStops()
}

// stop is what keeps all calls from running.
type stop struct {
	reason string
	held   bool // for a moment, as Hold says
}

// stoppedNote begins what a caller is told while all calls are stopped.
const stoppedNote = "all calls are stopped: "

// Resume ends what Stop or Hold has begun.
func (d *Desk) Resume(who string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.stops, who)
	d.heedStops()
}

// heedStops makes stopped what stops says; d.mu is held.
func (d *Desk) heedStops() {
	var first *stop
	for _, who := range slices.Sorted(maps.Keys(d.stops)) {
		if s := d.stops[who]; first == nil || first.held && !s.held {
			first = &s
		}
	}
	d.stopped.Store(first)
}

// Stopped returns why no call runs; "" if they do.
func (d *Desk) Stopped() string {
	if s := d.stopped.Load(); s != nil {
		return s.reason
	}
	return ""
}

// Held reports whether no call runs because of [Desk.Hold] alone.
func (d *Desk) Held() bool {
	s := d.stopped.Load()
	return s != nil && s.held
}

// refusal is the reply to a call while none run.
func (s *stop) refusal() bridge.Reply {
	if !s.held {
		return denied("", stoppedNote+s.reason, "")
	}
	e := toolformat.Errorf(toolformat.Unavailable, "%s", s.reason)
	e.NotRun, e.After = true, holdTime
	return bridge.Failed(e)
}

// holdTime is when callers are told to call again while calls are held.
const holdTime = time.Second

// SetPages sets where a person decides about an Approval in a browser: a URL, less the ID at its end.
func (d *Desk) SetPages(url string) { d.pages.Store(&url) }

// PageOf returns the URL at which a person decides about the Approval with an ID; "" without one.
func (d *Desk) PageOf(id string) string {
	if url := d.pages.Load(); url != nil {
		return *url + id
	}
	return ""
}

// Approvals returns the Approvals that are undecided, or of which no call has found the decision yet, and
// those that have ended within the last minutes. The oldest comes first.
func (d *Desk) Approvals() (all []Approval) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire(time.Now())
	for _, r := range d.all {
		all = append(all, r.Approval)
	}
	return all
}

// Find returns an Approval; letter case does not count in its ID. The error, for people, says that there is none.
func (d *Desk) Find(id string) (Approval, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, err := d.find(id)
	if err != nil {
		return Approval{}, err
	}
	return r.Approval, nil
}

// find returns a request; d.mu is held.
func (d *Desk) find(id string) (*request, error) {
	d.expire(time.Now())
	for _, r := range d.all {
		if strings.EqualFold(r.ID, id) {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no approval %.40q: it has expired, or there has never been one", id)
}

// accept returns why arguments cannot be sent in place of those that were asked about.
func (r *request) accept(arguments json.RawMessage) error {
	switch {
	case !r.Edit:
		return fmt.Errorf("its rule (%s) does not let the arguments be changed", r.Rule)
	case !isObject(arguments):
		return errors.New("the arguments are not a JSON object")
	}
	if r.vet == nil {
		return nil // the call is refused then
	}
	return r.vet(arguments)
}

// Decide decides about an Approval, once. by says who has decided, for records. After an error about the
// arguments of the answer it is still Pending.
func (d *Desk) Decide(id string, answer Answer, by string) (Approval, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, err := d.find(id)
	switch {
	case err != nil:
		return Approval{}, err
	case r.State != Pending:
		return r.Approval, fmt.Errorf("approval %s is %s: it was decided by %s", r.ID, r.State, cmp.Or(r.By, "nobody"))
	case answer.Arguments != nil:
		if err := r.accept(answer.Arguments); err != nil {
			return r.Approval, &argumentsError{r.ID, err}
		}
	}
	if d.book == nil {
		d.settle(r, answer, by)
		return r.Approval, nil
	}
	decided, book, revision := r.Approval, d.book, r.revision
	decided.settle(answer, by, d.opts.Expiry)
	d.mu.Unlock()
	changed, err := d.change(book, r, &decided, revision)
	d.mu.Lock()
	if err == nil && !changed {
		err = fmt.Errorf("approval %s: it is being decided at another node", id)
	}
	return r.Approval, err
}

// argumentsError is the error of Decide for arguments that cannot be sent.
type argumentsError struct {
	id  string
	why error
}

func (e *argumentsError) Error() string { return fmt.Sprintf("approval %s: %v", e.id, e.why) }
func (e *argumentsError) Unwrap() error { return e.why }

// settle decides about a request that is Pending; d.mu is held.
func (d *Desk) settle(r *request, answer Answer, by string) {
	r.Approval.settle(answer, by, d.opts.Expiry)
	r.answer = answer
	close(r.decided)
}

// settle decides about an Approval, which a call can find for as long as keep.
func (a *Approval) settle(answer Answer, by string, keep time.Duration) {
	a.State, a.By, a.Note, a.Changed, a.Expires = Denied, by, answer.Note, answer.Arguments, time.Now().Add(keep)
	if answer.Approve {
		a.State = Approved
	}
}

func isObject(raw json.RawMessage) bool {
	return wire.Valid(raw) == nil && len(raw) > 0 && raw[0] == '{'
}

// ask puts a call on the desk, or returns the request of an equal one. vet is that of a request.
func (d *Desk) ask(ctx context.Context, a Approval, vet func(arguments []byte) error) (*request, *toolformat.Error) {
	own := keyOf(&a)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.expire(now)
	if r := d.open[own]; r != nil {
		if r.vet == nil {
			r.vet = vet
		}
		return r, nil
	}
	of, size := 0, len(a.Arguments)
	for _, r := range d.open {
		if r.Principal == a.Principal {
			of++
			size += len(r.Arguments) + len(r.Changed)
		}
	}
	if len(d.open) >= d.opts.Most || of >= d.opts.Each || of > 0 && size > maxEach {
		return nil, toolformat.Errorf(toolformat.Unavailable, "%s needs approval, and too many calls wait for it already: try again when some are decided", a.Target)
	}
	a.ID, a.State, a.Asked, a.Expires = newID(), Pending, now, now.Add(d.opts.Expiry)
	if book := d.book; book != nil {
		d.mu.Unlock()
		r, err := d.add(ctx, book, a)
		d.mu.Lock()
		if r != nil && r.vet == nil {
			r.vet = vet
		}
		return r, err
	}
	r := newRequest(a, own)
	r.vet = vet
	d.put(r)
	d.tell(a)
	return r, nil
}

// maxEach bounds the arguments of the Approvals of a principal, in bytes, unless it has only one.
const maxEach = 64 << 20

// put puts a request on the Desk; d.mu is held.
func (d *Desk) put(r *request) {
	if len(d.all) >= 2*d.opts.Most { // many have been decided in a short time
		d.all = slices.DeleteFunc(d.all, func(r *request) bool { return d.open[r.key] != r })
	}
	d.all, d.open[r.key] = append(d.all, r), r
}

func newID() string { return rand.Text()[:8] }

func newRequest(a Approval, own key) *request {
	return &request{Approval: a, key: own, until: a.Expires, decided: make(chan struct{}), turn: make(chan struct{}, 1)}
}

// tell tells a person of a new Approval; d.mu is held.
func (d *Desk) tell(a Approval) {
	if d.opts.Ask != nil {
		go d.opts.Ask(a)
	}
}

// errUndecided is the error of use for a request without an answer.
var errUndecided = errors.New("undecided")

// use returns the answer of a request for one call; ok is false if another one has it.
func (d *Desk) use(r *request) (answer Answer, by string, ok bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.book != nil && (r.State == Approved || r.State == Denied) {
		used, book, revision, answer := r.Approval, d.book, r.revision, r.answer
		used.State = Used
		d.mu.Unlock()
		changed, err := d.change(book, r, &used, revision)
		d.mu.Lock()
		if !answer.Approve {
			return answer, used.By, true, nil
		}
		return answer, used.By, changed, err
	}
	answer = r.answer
	switch r.State {
	case Approved:
		r.State = Used
		d.close(r)
		return answer, r.By, true, nil
	case Denied: // which is told to all equal calls that wait
		d.close(r)
		return answer, r.By, true, nil
	case Used:
		return Answer{}, "", false, nil
	}
	return Answer{}, "", false, errUndecided
}

// close ends the time in which an equal call finds the request, whose arguments are kept only if they are short; d.mu
// is held.
func (d *Desk) close(r *request) {
	if d.open[r.key] == r {
		delete(d.open, r.key)
	}
	if r.vet = nil; len(r.Arguments)+len(r.Changed) > maxEnded {
		r.Arguments, r.Changed, r.answer.Arguments = nil, nil, nil
	}
}

// maxEnded bounds the arguments of an Approval that are kept after its end, in bytes.
const maxEnded = 4 << 10

// expire ends what has lasted too long; d.mu is held.
func (d *Desk) expire(now time.Time) {
	d.all = slices.DeleteFunc(d.all, func(r *request) bool {
		if now.Before(r.Expires) {
			return false
		}
		if r.State == Pending {
			r.State = Expired
			close(r.decided)
		}
		d.close(r)
		return true
	})
}
