package ledger

import (
	"context"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/logfile"
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
	own    bool          // this process has made the call
	done   chan struct{} // closed when an own call with a key has ended; nil without a key
	moves  int           // of the file, when the entry was made
}

// scope is a principal's use of a tool, with one idempotency key or with one digest of arguments.
type scope struct{ principal, tool, digest string }

func (c *Call) keyed() scope { return scope{c.Principal, c.Tool, c.Key} }
func (c *Call) same() scope  { return scope{c.Principal, c.Tool, c.Arguments} }

// begin writes a call down, which gets an entry: end must be called for it. Without one, the call must not
// be made, and the reply says why or is what the same call was answered with before.
func (b *Book) begin(ctx context.Context, c *Call) (*entry, bridge.Reply) {
	for {
		own, busy, reply := b.enter(c)
		if busy == nil {
			return own, reply
		}
		select {
		case <-busy.done:
		case <-ctx.Done():
			e := toolformat.Errorf(toolformat.Canceled, "canceled").Because(ctx.Err())
			e.NotRun = true
			return nil, bridge.Failed(e)
		}
	}
}

// enter is begin that returns the call that is to be waited for, if there is one.
func (b *Book) enter(c *Call) (own, busy *entry, reply bridge.Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if prior := b.prior(c); prior != nil {
		return b.refuse(c, prior)
	}
	b.number++
	c.ID, c.Begun, c.Outcome = id(b.instance, b.number), time.Now(), Unknown
	if err := b.write(c.appendBegun(b.line[:0]), (*logfile.File).Write); err != nil {
		return nil, nil, bridge.Failed(b.unwritten(c, err))
	}
	if prior := b.prior(c); prior != nil { // written by another process meanwhile
		c.Outcome, c.Ended = NotRun, c.Begun
		_ = b.write(c.appendEnded(b.line[:0], &answer{}), (*logfile.File).Append) // else it is unknown
		return b.refuse(c, prior)
	}
	e := &entry{Call: *c, own: true, moves: b.file.Moves()}
	b.known[e.ID] = e
	if c.Key != "" {
		e.done = make(chan struct{})
		b.keys[c.keyed()] = e
	}
	return e, nil, bridge.Reply{}
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

// refuse decides about a call that an earlier one keeps from being made. b.mu is held.
func (b *Book) refuse(c *Call, prior *entry) (own, busy *entry, reply bridge.Reply) {
	switch {
	case c.Key == "":
		if b.write(prior.appendTold(b.line[:0], time.Now()), (*logfile.File).Write) == nil {
			b.forget(prior)
		}
		return nil, nil, bridge.Failed(unknown(&prior.Call))
	case prior.Arguments != c.Arguments:
		return nil, nil, bridge.Failed(otherArguments(&prior.Call))
	case prior.underWay():
		return nil, prior, bridge.Reply{}
	case prior.Outcome == Unknown:
		return nil, nil, bridge.Failed(unknownKey(&prior.Call))
	case prior.answer.raw == nil:
		return nil, nil, bridge.Failed(ranBefore(&prior.Call))
	}
	return nil, nil, prior.answer.reply()
}

// end writes down how a call has ended.
func (b *Book) end(e *entry, reply *bridge.Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
	err := b.write(e.appendEnded(b.line[:0], &e.answer), (*logfile.File).Append)
	if err != nil && !b.faulty {
		b.opts.Log.Error("how calls have ended cannot be written to the ledger: after a restart it is unknown whether they ran", "file", b.file.Path, "error", err)
	}
	if b.faulty = err != nil; e.done != nil {
		close(e.done)
	}
}

// settle takes the outcome of an entry into the book. b.mu is held.
func (b *Book) settle(e *entry) {
	if e.Outcome == Unknown {
		return
	}
	delete(b.known, e.ID)
	if b.doubts[e.same()] == e {
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

// write appends a line, whose memory becomes that of the next one. b.mu is held.
func (b *Book) write(line []byte, put func(*logfile.File, []byte) (bool, error)) error {
	if b.line = line; cap(line) > maxLine {
		b.line = nil
	}
	moves := b.file.Moves()
	written, err := put(&b.file, line)
	if b.file.Moves() != moves {
		b.clear()
	}
	switch {
	case !written:
		return err
	case b.opts.Sync:
		return b.file.Sync()
	}
	return nil // a file that cannot be rotated grows
}

// maxLine bounds the memory that is kept for lines.
const maxLine = 4 << 10

// clear forgets the calls of files that are no longer kept. b.mu is held.
func (b *Book) clear() {
	oldest := b.file.Moves() - b.opts.Files
	for _, all := range []map[scope]*entry{b.keys, b.doubts} {
		for of, e := range all {
			if e.moves < oldest && !e.underWay() {
				delete(all, of)
			}
		}
	}
	for id, e := range b.known {
		if e.moves < oldest && !e.underWay() {
			delete(b.known, id)
		}
	}
}

// follow takes a line of the file into the book that another process has written, or this one before it was
// started anew. b.mu is held, or nobody has the book yet.
func (b *Book) follow(line []byte) {
	r, ok := parse(line)
	if !ok || strings.HasPrefix(r.ID, b.instance+"-") {
		return
	}
	if r.Tool != "" {
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
// ran.
func (b *Book) followBegun(r *record) {
	if b.known[r.ID] != nil || time.Since(r.Begun) > b.opts.Keep { // an old file may have it, too
		return
	}
	e := &entry{Call: r.Call, moves: b.file.Moves()}
	b.known[e.ID] = e
	b.doubts[e.same()] = e
	if e.Key == "" {
		return
	}
	if first := b.keys[e.keyed()]; first == nil || !first.underWay() && e.Begun.Sub(first.Begun) > b.opts.Keep {
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
