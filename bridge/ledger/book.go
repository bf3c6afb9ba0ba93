package ledger

import (
	"context"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Call is one that may change something.
type Call struct {
	ID         string
	Begun      time.Time
	Ended      time.Time // zero without an outcome on record
	Principal  string    // "" for an anonymous caller
	Client     string    // the program, by its own account; may be ""
	Server     string    // "" if it is not known
	Tool       string    // as the caller named it
	Arguments  string    // a digest
	Key        string    // a digest of the idempotency key; "" without one
	Outcome    Outcome
	Failed     bool // it ran, and the result has isError or the server has answered with an error
	repeatable bool // calling the tool twice has the effect of one call
}

// An Outcome says whether a call ran.
type Outcome string

// The outcomes.
const (
	Ran     Outcome = "ran"     // the tool has answered
	NotRun  Outcome = "not_run" // it surely had no effect
	Unknown Outcome = "unknown" // the answer was lost, or has not come yet
)

// entry is what is known of a call.
type entry struct {
	Call
	answer answer
	moves  int // of the file that has its line

	own       bool          // this process makes the call
	unwritten bool          // its line is not in the file yet
	err       error         // why it is not
	prior     *entry        // whose line is before it in the file, and keeps it from being made
	done      chan struct{} // closed when an own call with a key has ended; nil without a key
}

// scope is a principal's use of a tool, with one idempotency key or with one digest of arguments.
type scope struct{ principal, tool, digest string }

func (c *Call) keyed() scope { return scope{c.Principal, c.Tool, c.Key} }
func (c *Call) same() scope  { return scope{c.Principal, c.Tool, c.Arguments} }

// begin writes a call of a tool down, which gets an entry: end must be called for it. Without one, the call must not
// be made, and the reply says why or is what the same call was answered with before.
func (b *Book) begin(ctx context.Context, t *tool, arguments, key string) (*entry, bridge.Reply) {
	for again := false; ; again = true {
		e := &entry{Call: t.Call, own: true}
		e.Arguments, e.Key = arguments, key
		own, busy, reply := b.enter(e, t, again)
		if busy == nil {
			return own, reply
		}
		var late <-chan time.Time
		if !busy.own {
			late = time.After(maxBehind)
		}
		select {
		case <-busy.done:
		case <-late:
			b.catch()
		case <-ctx.Done():
			e := toolformat.Errorf(toolformat.Canceled, "canceled").Because(ctx.Err())
			e.NotRun = true
			return nil, bridge.Failed(e)
		}
	}
}

// maxBehind is for how long it is taken for possible that another process has yet to write how a call has ended.
const maxBehind = 10 * maxLate

// enter adds an entry, and returns it, or that of the call that is to be waited for, if there is one. Another process's
// call that is unknown is, unless again is set.
func (b *Book) enter(e *entry, t *tool, again bool) (own, busy *entry, reply bridge.Reply) {
	b.write(func(of *batch) bool {
		if e.prior = b.prior(&e.Call); e.prior != nil {
			return false
		}
		b.add(e)
		of.begin(e, t)
		return true
	})
	switch {
	case e.err != nil:
		return nil, nil, bridge.Failed(b.unwritten(&e.Call, e.err))
	case e.prior == nil:
		return e, nil, reply
	case e.Key == "" && !e.prior.own && !again:
		return nil, e.prior, reply
	}
	busy, reply = b.refuse(&e.Call, e.prior)
	return nil, busy, reply
}

// add adds a call that begins. b.mu is held.
func (b *Book) add(e *entry) {
	b.number++
	e.ID, e.Begun, e.Outcome = id(b.instance, b.number), time.Now(), Unknown
	if e.Key != "" {
		e.done = make(chan struct{})
		b.keys[e.keyed()] = e
	}
}

// remove removes a call that is not made. b.mu is held.
func (b *Book) remove(e *entry) {
	if e.Key == "" {
		return
	}
	if b.keys[e.keyed()] == e {
		delete(b.keys, e.keyed())
	}
	close(e.done)
}

// prior returns the earlier call that decides whether a call is made; nil if it is. b.mu is held.
func (b *Book) prior(c *Call) *entry {
	var e *entry
	switch {
	case c.Key != "":
		e = b.keys[c.keyed()]
	case !c.repeatable:
		e = b.doubts[c.same()]
	}
	if e == nil || !e.underWay() && time.Since(e.Begun) > b.opts.Keep {
		return nil
	}
	return e
}

// underWay reports whether this process waits for the end of the call.
func (e *entry) underWay() bool { return e.own && e.Ended.IsZero() }

// refuse decides about a call that an earlier one keeps from being made. busy is one that is to be waited for.
func (b *Book) refuse(c *Call, prior *entry) (busy *entry, reply bridge.Reply) {
	if c.Key == "" {
		b.write(func(of *batch) bool {
			of.tell(prior)
			return true
		})
		return nil, bridge.Failed(unknown(&prior.Call))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case prior.Outcome == NotRun: // since it was found: the key is free
		return prior, reply
	case prior.Arguments != c.Arguments:
		return nil, bridge.Failed(otherArguments(&prior.Call))
	case prior.underWay():
		return prior, reply
	case prior.Outcome == Unknown:
		return nil, bridge.Failed(unknownKey(&prior.Call))
	case prior.answer.raw == nil:
		return nil, bridge.Failed(ranBefore(&prior.Call))
	}
	return nil, prior.answer.reply()
}

// end writes down how a call has ended: at once if a caller or another process may ask for it, else with other lines.
func (b *Book) end(e *entry, reply *bridge.Reply) {
	b.write(func(of *batch) bool {
		b.ended(of, e, reply)
		if e.done == nil && !b.shared() {
			b.writeLater(of)
			return false
		}
		return true
	})
	if e.done != nil {
		close(e.done)
	}
}

// shared reports whether another process has made a call in the last minute, as far as the file was read. b.mu is held.
func (b *Book) shared() bool {
	return !b.others.IsZero() && time.Since(b.others) < time.Minute
}

// ended takes the end of a call into the book, and adds its line to a batch. b.mu is held.
func (b *Book) ended(of *batch, e *entry, reply *bridge.Reply) {
	e.Ended = time.Now()
	e.Outcome, e.Failed = outcomeOf(reply)
	if e.Server == "" {
		e.Server = reply.Member
	}
	if e.Key != "" && e.Outcome == Ran {
		e.answer = answerTo(reply, b.opts.MaxResult)
	}
	b.settle(e)
	if e.Outcome == Unknown {
		b.doubts[e.same()] = e
	}
	of.end(e)
}

// settle takes the outcome of an entry into the book. b.mu is held.
func (b *Book) settle(e *entry) {
	if e.Outcome == Unknown {
		return
	}
	if !e.own {
		delete(b.known, e.ID)
	}
	if len(b.doubts) > 0 && b.doubts[e.same()] == e {
		delete(b.doubts, e.same())
	}
	switch {
	case e.Key == "":
	case e.Outcome == Ran:
		b.answers.keep(e)
	case b.keys[e.keyed()] == e:
		delete(b.keys, e.keyed())
	}
}

// forget ends the doubts about a call. b.mu is held.
func (b *Book) forget(e *entry) {
	if b.doubts[e.same()] == e {
		delete(b.doubts, e.same())
	}
	if e.Key == "" && !e.underWay() {
		delete(b.known, e.ID)
	}
}

// clear forgets the calls of files that are no longer kept, and those that are not remembered any more. b.mu is held.
func (b *Book) clear() {
	b.cleared = time.Now()
	gone := func(e *entry) bool {
		return !e.underWay() && (e.moves < b.moves-b.opts.Files || b.cleared.Sub(e.Begun) > b.opts.Keep)
	}
	for _, all := range []map[scope]*entry{b.keys, b.doubts} {
		for of, e := range all {
			if gone(e) {
				delete(all, of)
				b.noteForgotten(e)
			}
		}
	}
	for id, e := range b.known {
		if gone(e) {
			delete(b.known, id)
		}
	}
}

// noteForgotten logs, once, that keys are forgotten early. b.mu is held.
func (b *Book) noteForgotten(e *entry) {
	if b.forgot || e.Key == "" || time.Since(e.Begun) > b.opts.Keep {
		return
	}
	b.forgot = true
	b.opts.Log.Warn("the ledger forgets idempotency keys before ledger.keep is over, as their files are full: a call that is repeated after that is made again; give it more room with ledger.maxBytes or ledger.files",
		"file", b.file.Path, "keep", b.opts.Keep, "remembered", time.Since(e.Begun).Round(time.Second))
}

// catch takes what other processes have written into the book.
func (b *Book) catch() {
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.file.Lock() == nil {
		_ = b.file.Catch() // what it has not read stays unknown
		b.file.Unlock()
	}
}

// follow takes a line of the file into the book that another process has written, or this one before it was
// started anew. Of one of its own it takes only which file has it.
func (b *Book) follow(line []byte) {
	r, ok := parse(line)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.HasPrefix(r.ID, b.instance+"-") {
		for _, e := range []*entry{b.keys[r.keyed()], b.doubts[r.same()]} {
			if e != nil && e.ID == r.ID {
				e.moves = b.file.Moves()
			}
		}
		return
	}
	if r.Tool != "" {
		if r.Begun.After(b.others) {
			b.others = r.Begun
		}
		b.followBegun(&r)
		return
	}
	e := b.known[r.ID]
	switch {
	case e == nil:
	case r.told:
		b.forget(e)
	default:
		e.Ended, e.Outcome, e.Failed, e.answer = r.Ended, r.Outcome, r.Failed, r.answer
		b.settle(e)
	}
}

// followBegun takes a call of another process into the book. Until it has an outcome it is unknown whether it
// ran. b.mu is held.
func (b *Book) followBegun(r *record) {
	e := b.known[r.ID]
	if first := b.keys[r.keyed()]; first != nil && first.ID == r.ID {
		e = first
	}
	if e != nil { // an old file has its line, too, or is read again
		e.moves = b.file.Moves()
		return
	}
	if time.Since(r.Begun) > b.opts.Keep {
		return
	}
	e = &entry{Call: r.Call, moves: b.file.Moves()}
	b.known[e.ID] = e
	b.doubts[e.same()] = e
	if e.Key == "" {
		return
	}
	if first := b.keys[e.keyed()]; first == nil || first.unwritten || !first.underWay() && e.Begun.Sub(first.Begun) > b.opts.Keep {
		b.keys[e.keyed()] = e
	}
}

// answers are those that are kept in memory, oldest first.
type answers struct {
	all  []*entry
	held int // bytes
}

// maxAnswers bounds the answers in memory, in bytes.
const maxAnswers = 16 << 20

// keep keeps the answer of an entry, in place of older ones.
func (a *answers) keep(e *entry) {
	if e.answer.raw == nil {
		return
	}
	a.all, a.held = append(a.all, e), a.held+len(e.answer.raw)
	for a.held > maxAnswers {
		a.held -= len(a.all[0].answer.raw)
		a.all[0].answer = answer{}
		a.all = a.all[1:]
	}
}
