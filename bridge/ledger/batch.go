package ledger

import (
	"runtime"
	"time"
)

// batch is lines that are written at once: those that come while the ones before them are written.
type batch struct {
	lines []byte
	begun []*entry      // whose lines these are
	told  []*entry      // doubted calls that a caller is told of
	ended bool          // there are lines of calls that have ended
	taken bool          // a goroutine is about to write it
	done  chan struct{} // closed when the lines are written; nil if nobody waits for that but who writes
}

func (of *batch) begin(e *entry, t *tool) {
	e.unwritten = true
	of.lines, of.begun = e.appendBegun(of.lines, t), append(of.begun, e)
}

func (of *batch) tell(e *entry) {
	of.lines, of.told = e.appendTold(of.lines, time.Now()), append(of.told, e)
}

func (of *batch) end(e *entry) { of.lines, of.ended = e.appendEnded(of.lines, &e.answer), true }

// write has lines added to the next batch, and returns when they are in the file, or could not be written. It returns
// at once if add says that nobody waits for them. add is called with b.mu held.
func (b *Book) write(add func(of *batch) bool) {
	b.mu.Lock()
	of := b.nextBatch()
	if !add(of) {
		b.mu.Unlock()
		return
	}
	wait := of.taken
	if of.taken = true; wait && of.done == nil {
		of.done = make(chan struct{})
	}
	done, size := of.done, len(of.lines)
	b.mu.Unlock()
	if wait {
		<-done
		return
	}
	b.gather(of, size)
	b.flush(of)
}

// maxLate is how long a line may wait for others to be written with.
const maxLate = 5 * time.Millisecond

// writeLater has the next batch written with the lines that somebody waits for, and after maxLate without any. b.mu is
// held.
func (b *Book) writeLater(of *batch) {
	switch {
	case of.taken, b.late:
	case b.timer == nil:
		b.late, b.timer = true, time.AfterFunc(maxLate, b.flushLate)
	default:
		b.late = true
		b.timer.Reset(maxLate)
	}
}

// flushLate writes the lines that have waited for others.
func (b *Book) flushLate() {
	b.mu.Lock()
	b.late = false
	of := b.next
	mine := of != nil && !of.taken && len(of.lines) > 0
	if mine {
		of.taken = true
	}
	b.mu.Unlock()
	if mine {
		b.flush(of)
	}
}

// nextBatch returns the batch that the next lines are added to. b.mu is held.
func (b *Book) nextBatch() *batch {
	if b.next == nil {
		b.next, b.spare = b.spare, nil
	}
	if b.next == nil {
		b.next = new(batch)
	}
	return b.next
}

// maxYields bounds the wait of a batch.
const maxYields = 16

// gather lets those add their lines to a batch who are about to, for as long as some do: to write costs far more than
// to wait for them.
func (b *Book) gather(of *batch, size int) {
	for range maxYields {
		runtime.Gosched()
		b.mu.Lock()
		before := size
		size = len(of.lines)
		b.mu.Unlock()
		if size == before {
			return
		}
	}
}

// flush writes the next batch, and tells those that have added to it what has become of their lines.
func (b *Book) flush(of *batch) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	b.next = nil
	b.mu.Unlock()
	written, err := b.append(of)
	if refused := b.written(of, err); len(b.owed)+len(refused) <= maxKept {
		b.owed = append(b.owed, refused...) // calls that it does not have are unknown
	}
	if written {
		b.payOwed()
	}
	if of.done != nil {
		close(of.done)
	}
	if cap(of.lines) <= maxKept {
		of.empty()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.spare = of
	}
}

// append appends a batch to the file, after what is owed to it. b.writing is held.
func (b *Book) append(of *batch) (written bool, err error) {
	lines := of.lines
	if len(b.owed) > 0 {
		lines = append(b.owed, lines...)
	}
	written, err = b.file.Write(lines)
	if !written {
		return false, err
	}
	b.owed = b.owed[:0]
	if b.opts.Sync {
		return true, b.file.Sync()
	}
	return true, nil // a file that cannot be rotated grows
}

// payOwed writes the lines that are owed to the file. b.writing is held.
func (b *Book) payOwed() {
	if len(b.owed) == 0 {
		return
	}
	if written, _ := b.file.Write(b.owed); written {
		b.owed = b.owed[:0]
	}
}

// written takes into the book that a batch is in the file, or why it is not. It returns the lines for calls that are
// not made, as another process has written a prior one of them meanwhile, or as the file may have theirs though it could
// not be written. b.writing is held.
func (b *Book) written(of *batch, err error) (refused []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if moves := b.file.Moves(); moves != b.moves || time.Since(b.cleared) > b.opts.Keep { // another program may keep the file from moving
		b.moves = moves
		b.clear()
	}
	for _, e := range of.begun {
		e.unwritten, e.err, e.moves = false, err, b.moves
		if prior := b.prior(&e.Call); prior != e {
			e.prior = prior
		}
		if err != nil || e.prior != nil {
			b.remove(e)
			not := e.Call // those that wait for the entry look again
			not.Outcome, not.Ended = NotRun, e.Begun
			refused = not.appendEnded(refused, &answer{})
		}
	}
	if err == nil {
		for _, e := range of.told {
			b.forget(e)
		}
	}
	if err != nil && of.ended && !b.faulty {
		b.opts.Log.Error("how calls have ended cannot be written to the ledger: after a restart it is unknown whether they ran", "file", b.file.Path, "error", err)
	}
	b.faulty = err != nil
	return refused
}

// maxKept bounds the memory that is kept for lines.
const maxKept = 64 << 10

// empty makes a batch ready for other lines.
func (of *batch) empty() {
	clear(of.begun)
	clear(of.told)
	*of = batch{lines: of.lines[:0], begun: of.begun[:0], told: of.told[:0]}
}
