package pins

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Store keeps a text, for whoever asks. It may be used from many goroutines and processes.
type Store interface {
	// Read returns the text, nil if there is none.
	Read() ([]byte, error)

	// Update replaces the text, nil if there is none, by what change makes of it. No other Update comes
	// between. change may be called more than once; if it fails, the text stays.
	Update(change func(text []byte) ([]byte, error)) error
}

// ErrAway is of an Update of a Store that is shared and cannot be reached: nothing is accepted then.
var ErrAway = errors.New("what was accepted elsewhere is not known")

// Options are the settings of New.
type Options struct {
	Store   Store
	Command string       // shows what is held back, as messages say
	Log     *slog.Logger // nil discards

	// Memory is that of all who wrap the server in this program; nil means that there is nobody else.
	Memory *Memory

	// PerCaller says that the server shows its callers different lists: what one does not see, others may.
	PerCaller bool
}

// A Memory has what the Store of a server could not keep. Its zero value has nothing.
type Memory struct {
	mu     sync.Mutex // held while a list is taken into the store; guards what follows
	unkept *book      // nil if the store has all
}

// Pins is the wrapper of one server. It may be used from many goroutines.
type Pins struct {
	source bridge.Source
	opts   Options

	book atomic.Pointer[book] // as known; nil before the first list
	last [bridge.ListKinds]atomic.Pointer[view]
	text atomic.Pointer[bridge.Problem] // of the instructions, as last read; nil without one

	mu     sync.Mutex      // held while the store is read or changed; guards what follows
	logged map[string]bool // warnings that have been logged
	past   history
}

// book is a Book that does not change any more.
type book struct {
	*Book
	fault  error             // why it could not be read
	unkept error             // why the store does not have it; nil if it does
	sum    [sha256.Size]byte // of what the store had
}

// view is a list with what is held back of it.
type view struct {
	from, list *bridge.List
	complete   bool // from is the server's current list
	book       *book
	held       map[string]bool // names that cannot be called; whether they are new
	problems   []bridge.Problem
}

// New wraps the source of a server.
func New(source bridge.Source, opts Options) *Pins {
	opts.Log, opts.Memory = cmp.Or(opts.Log, slog.New(slog.DiscardHandler)), cmp.Or(opts.Memory, &Memory{})
	return &Pins{source: source, opts: opts, logged: map[string]bool{}, past: history{}}
}

// Open implements bridge.Source.
func (p *Pins) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s := &session{pins: p}
	below := *caller
	below.Notify = func(method string, params []byte) {
		for kind := range pinnedKinds() {
			if method == kind.Changed() {
				s.outdated[kind].Store(true)
			}
		}
		if caller.Notify != nil {
			caller.Notify(method, params)
		}
	}
	var err error
	if s.Session, err = p.source.Open(ctx, &below); err != nil {
		return nil, err
	}
	return s, nil
}

// Last returns the last list of a kind as callers see it; nil before the first one.
func (p *Pins) Last(kind bridge.ListKind) *bridge.List {
	if v := p.last[kind].Load(); v != nil {
		return v.list
	}
	return nil
}

// Instructions returns those that were accepted, as the member of an object; nil if they are not known.
func (p *Pins) Instructions() []byte {
	if b := p.book.Load(); b != nil {
		if kept := b.Texts[instructions]; kept != nil && kept.Accepted != nil {
			return kept.Accepted.Raw
		}
	}
	return nil
}

// Problems names what is held back of the last lists, and says why what was accepted is not kept.
func (p *Pins) Problems() (all []bridge.Problem) {
	if b := p.book.Load(); b != nil && b.unkept != nil {
		all = append(all, bridge.Problem{Text: notKept(b.unkept)})
	}
	return append(all, p.held()...)
}

// Held returns how many definitions of the last lists are held back.
func (p *Pins) Held() int { return len(p.held()) }

// held names what is held back of the last lists.
func (p *Pins) held() (all []bridge.Problem) {
	for kind := range pinnedKinds() {
		if v := p.last[kind].Load(); v != nil && !(v.book.fault != nil && slices.Contains(all, v.problems[0])) {
			all = append(all, v.problems...)
		}
	}
	if problem := p.text.Load(); problem != nil && !slices.Contains(all, *problem) {
		all = append(all, *problem)
	}
	return all
}

// instructions returns the instructions of the server as they were accepted.
func (p *Pins) instructions(text string) string {
	raw := wire.SetMember([]byte("{}"), instructions, wire.AppendString(nil, text))
	b := p.book.Load()
	if b == nil || !b.isAccepted(raw) || b.Texts[instructions].Held != nil {
		b = p.note(Texts, &bridge.List{Items: []bridge.Item{{Key: instructions, Raw: raw}}}, true)
	}
	if !b.isAccepted(raw) {
		b = p.read() // they may have been accepted elsewhere
	}
	if b.isAccepted(raw) {
		p.text.Store(nil)
		return text
	}
	problem := bridge.Problem{Text: fmt.Sprintf("the instructions are held back: they have changed since they were accepted (%s)", p.opts.Command)}
	if b.fault != nil {
		problem = unknown(b.fault, p.opts.Command)
	}
	p.text.Store(&problem)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warn(problem.Text)
	kept := b.Texts[instructions]
	if b.fault != nil || kept == nil || kept.Accepted == nil {
		return ""
	}
	shown, _ := wire.Text(wire.Lookup(kept.Accepted.Raw, instructions))
	return shown
}

// isAccepted reports whether the instructions were accepted.
func (b *book) isAccepted(raw []byte) bool {
	kept := b.Texts[instructions]
	return b.fault == nil && kept != nil && kept.Accepted.is(raw)
}

// look returns what may be seen of a list, which it takes into the store.
func (p *Pins) look(kind bridge.ListKind, l *bridge.List, complete bool) *view {
	b, last := p.book.Load(), p.last[kind].Load()
	if last != nil && last.book == b && last.from.Equal(l) && len(last.held) == 0 && b.unkept == nil && (last.complete || !complete) {
		if last.from != l {
			last = newView(kind, l, b, p.opts.Command)
		}
		return last
	}
	v := newView(kind, l, p.note(kind, l, complete), p.opts.Command)
	if len(v.held) > 0 { // it may have been accepted elsewhere
		if b = p.read(); b != v.book {
			if b.fault == nil {
				b = p.note(kind, l, complete)
			}
			v = newView(kind, l, b, p.opts.Command)
		}
	}
	v.complete = complete
	p.last[kind].Store(v)
	p.log(v)
	return v
}

// note takes a list into the store if it is not there.
func (p *Pins) note(kind bridge.ListKind, l *bridge.List, complete bool) *book {
	b := p.book.Load()
	if b == nil {
		b = p.read()
	}
	if b.fault != nil {
		if b = p.read(); b.fault != nil {
			return b
		}
	}
	digests := map[*byte]string{} // by the first byte of a definition: take looks at each several times
	digest := func(raw []byte) string {
		sum, known := digests[&raw[0]]
		if !known {
			sum = digest(raw)
			digests[&raw[0]] = sum
		}
		return sum
	}
	take := func(b *Book) (changed bool) {
		changed = b.note(kind, l, complete, p.past, digest)
		if complete && !p.opts.PerCaller {
			changed = b.drop(kind, l, p.past) || changed
		}
		return changed
	}
	memory := p.opts.Memory
	memory.mu.Lock()
	defer memory.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.book.Load(); now.fault == nil { // it may have another list since
		b = now
	}
	if memory.unkept != nil && memory.unkept.sum == b.sum { // nobody has changed the store since
		b = memory.unkept
	}
	copied := b.clone()
	if !take(copied) && b.unkept == nil {
		return b
	}
	var noted *book
	err := p.opts.Store.Update(func(text []byte) ([]byte, error) {
		now, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if b.unkept != nil && sha256.Sum256(text) == b.sum {
			now = b.clone() // has what was accepted meanwhile
		}
		take(now)
		if text, err = now.text(); err == nil {
			noted = &book{Book: now, sum: sha256.Sum256(text)}
		}
		return text, err
	})
	if err != nil {
		p.warn(notKept(err))
	}
	switch {
	case errors.Is(err, ErrAway): // what is listed first may have been accepted as something else
		noted = &book{Book: b.clone(), unkept: b.unkept, sum: b.sum}
		if pins := noted.kind(kind); *pins == nil {
			*pins = map[string]*Pin{}
		}
	case err != nil: // until it can be kept, or this program ends
		noted = &book{Book: copied, unkept: err, sum: b.sum}
	}
	p.book.Store(noted)
	if memory.unkept = noted; noted.unkept == nil {
		memory.unkept = nil
	}
	return noted
}

// notKept says that what was accepted is known to this program only.
func notKept(why error) string { return "pins are not kept: " + why.Error() }

// read reads the store, and returns the book that is known if it is the same.
func (p *Pins) read() *book {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := p.opts.Store.Read()
	known, b := p.book.Load(), &book{sum: sha256.Sum256(text)}
	if known != nil && known.sum == b.sum && (known.fault == nil) == (err == nil) {
		return known
	}
	if err == nil {
		b.Book, err = Parse(text)
	}
	if err != nil {
		b.Book, b.fault = &Book{}, err
	}
	p.book.Store(b)
	return b
}

// clone returns a copy for changes.
func (b *Book) clone() *Book {
	own := &Book{}
	for kind := range keptKinds() {
		if pins := *b.kind(kind); pins != nil {
			*own.kind(kind) = map[string]*Pin{}
			for name, p := range pins {
				(*own.kind(kind))[name] = p
			}
		}
	}
	return own
}

// newView returns what may be seen of a list.
func newView(kind bridge.ListKind, l *bridge.List, b *book, command string) *view {
	v := &view{from: l, list: l, book: b, held: map[string]bool{}}
	if b.fault != nil {
		v.problems = []bridge.Problem{unknown(b.fault, command)}
	}
	differs := sha256.New() // what the list differs in: callers with different lists may change the book at each look
	for _, it := range l.Items {
		shown, ok := b.accepted(kind, it)
		if ok && string(shown.Raw) == string(it.Raw) {
			continue
		}
		fmt.Fprintf(differs, "%q %t %q\n", it.Key, ok, shown.Raw)
		_, noted := v.held[it.Key]
		pin := (*b.kind(kind))[it.Key]
		isNew := pin == nil || pin.Accepted == nil
		if v.held[it.Key] = isNew; !noted && b.fault == nil {
			v.problems = append(v.problems, bridge.Problem{Text: fmt.Sprintf("%s (%s)", heldBack(kind, it.Key, isNew), command), LeftOut: !ok, Key: it.Key})
		}
	}
	if len(v.held) > 0 {
		v.list = l.Derive([sha256.Size]byte(differs.Sum(nil)), func(it bridge.Item) (bridge.Item, bool) { return b.accepted(kind, it) })
	}
	return v
}

// unknown is the problem of every list, and of the instructions, while it is not known what was accepted.
func unknown(fault error, command string) bridge.Problem {
	return bridge.Problem{Text: fmt.Sprintf("all is held back, as what was accepted cannot be read: %v (%s)", fault, command), LeftOut: true}
}

// heldBack says that a tool or prompt is held back, and why.
func heldBack(kind bridge.ListKind, name string, isNew bool) string {
	if isNew {
		return fmt.Sprintf("%s %s is held back: its definition has not been accepted yet", noun(kind), name)
	}
	return fmt.Sprintf("%s %s is held back: its definition has changed since it was accepted", noun(kind), name)
}

// accepted returns an item as it was accepted; false if it was not.
func (b *book) accepted(kind bridge.ListKind, it bridge.Item) (bridge.Item, bool) {
	pin := (*b.kind(kind))[it.Key]
	switch {
	case pin == nil && *b.kind(kind) == nil && b.fault == nil: // not seen: a list of a source that is away
		return it, true
	case pin == nil || pin.Accepted == nil:
		return it, false
	case pin.Accepted.is(it.Raw):
		return it, true
	}
	own, err := bridge.NewItem(kind, pin.Accepted.Raw)
	if pin.Accepted.Raw == nil || err != nil || own.Key != it.Key {
		return it, false
	}
	own.Untrusted, own.Repeatable = it.Untrusted, own.Repeatable && !it.Untrusted
	return own, true
}

// maxLogged bounds the warnings that are logged.
const maxLogged = 1000

// log says once what is held back.
func (p *Pins) log(v *view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range v.problems {
		p.warn(problem.Text)
	}
}

// warn warns once. p.mu is held.
func (p *Pins) warn(text string) {
	if !p.logged[text] && len(p.logged) < maxLogged {
		p.logged[text] = true
		p.opts.Log.Warn(text)
	}
}
