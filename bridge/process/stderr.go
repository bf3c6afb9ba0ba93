package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxLine   = 8 << 10   // bytes of a line that are passed on
	burst     = 256 << 10 // bytes that are passed on at once, and that may wait
	perSecond = 64 << 10  // bytes a second beyond that
	// resume is the allowance at which lines are passed on again after some were not: whole
	// passages are easier to read than a line here and there.
	resume = 32 << 10
)

// stderrLog reads a child's standard error as fast as it comes, passes on as much as is allowed and
// keeps the last lines. Its reader never waits for the function pass.
type stderrLog struct {
	pass   func(string)  // nil drops the lines
	file   *os.File      // the end of the pipe that is read; nil before start
	read   chan struct{} // closed when all has been read
	passed chan struct{} // closed when all has been passed on

	// Only the reader uses these.
	part    []byte // the line so far
	over    int    // bytes of the line beyond part
	cut     bool   // the beginning of the line, which is too long, has been passed on
	tail    Tail
	allowed float64 // bytes that may be passed on now
	refill  time.Time
	paused  bool // until allowed is resume again

	mu      sync.Mutex // guards what follows
	more    *sync.Cond // queue or ended has changed
	queue   []string
	queued  int   // bytes in queue, or with pass
	leftOut int64 // bytes since the last line in queue
	ended   bool
}

func newStderrLog(pass func(string)) *stderrLog {
	l := &stderrLog{
		pass:    pass,
		read:    make(chan struct{}),
		passed:  make(chan struct{}),
		allowed: burst,
		refill:  time.Now(),
	}
	l.more = sync.NewCond(&l.mu)
	return l
}

// start starts reading f, until its end, and passing on.
func (l *stderrLog) start(f *os.File) {
	l.file = f
	go func() {
		defer close(l.read)
		_, _ = io.Copy(l, f) // the error is that finish closes f
		l.end()
	}()
	go func() {
		defer close(l.passed)
		l.deliver()
	}()
}

// finish waits until all is read and passed on. The group has ended, so only a process that left it
// can hold the file open. finish does not wait for that, nor for a function that holds a line.
func (l *stderrLog) finish() {
	within(settleWait, l.read)
	l.file.Close()
	<-l.read
	within(settleWait, l.passed)
}

// Write takes the child's output. It never fails, since the child would notice.
func (l *stderrLog) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		line, rest, ended := bytes.Cut(b, []byte{'\n'})
		taken := min(len(line), maxLine-len(l.part))
		if l.cut {
			taken = 0
		}
		l.part = append(l.part, line[:taken]...)
		l.over += len(line) - taken
		switch {
		case ended:
			l.endLine()
		case l.over > 0 && !l.cut: // its end may never come
			l.endLine()
			l.cut = true
		}
		b = rest
	}
	return n, nil
}

// end passes on a last line without an end, and how much was left out.
func (l *stderrLog) end() {
	if len(l.part) > 0 || l.cut {
		l.endLine()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteLeftOut()
	l.ended = true
	l.more.Signal()
}

func (l *stderrLog) endLine() {
	if l.cut {
		l.mu.Lock()
		l.leftOut += int64(l.over)
		l.mu.Unlock()
		l.over, l.cut = 0, false
		return
	}
	size, over, line := len(l.part)+l.over+1, 0, l.part
	if l.over > 0 {
		line = trimPartialRune(l.part)
		over = l.over + len(l.part) - len(line)
	} else {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	// A replacement is longer than what it replaces.
	for len(text) > maxLine {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	l.part, l.over = l.part[:0], 0

	l.tail.Add(text)
	l.queueLine(text, size, over)
}

// queueLine queues a line of which over bytes were cut off, or counts all its size bytes as left
// out.
func (l *stderrLog) queueLine(text string, size, over int) {
	if l.pass == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.allow(len(text)+1) || l.queued > burst {
		l.leftOut += int64(size)
		return
	}
	l.noteLeftOut()
	l.push(text)
	l.leftOut += int64(over)
}

// allow takes n bytes from the allowance, if it has them.
func (l *stderrLog) allow(n int) bool {
	now := time.Now()
	l.allowed = min(burst, l.allowed+now.Sub(l.refill).Seconds()*perSecond)
	l.refill = now
	enough := float64(n)
	if l.paused {
		enough = resume
	}
	l.paused = l.allowed < enough
	if !l.paused {
		l.allowed -= float64(n)
	}
	return !l.paused
}

// noteLeftOut queues a line that says how much was left out. l.mu is held.
func (l *stderrLog) noteLeftOut() {
	if l.leftOut > 0 && l.pass != nil {
		l.push(fmt.Sprintf("… %d bytes of standard error left out", l.leftOut))
		l.leftOut = 0
	}
}

// push queues a line. l.mu is held.
func (l *stderrLog) push(text string) {
	l.queue = append(l.queue, text)
	l.queued += len(text) + 1
	l.more.Signal()
}

// deliver passes on the queue until the end.
func (l *stderrLog) deliver() {
	for {
		l.mu.Lock()
		for len(l.queue) == 0 && !l.ended {
			l.more.Wait()
		}
		lines := l.queue
		l.queue = nil
		l.mu.Unlock()
		if lines == nil {
			return
		}
		size := 0
		for _, line := range lines {
			l.pass(line)
			size += len(line) + 1
		}
		l.mu.Lock()
		l.queued -= size
		l.mu.Unlock()
	}
}

// trimPartialRune drops the beginning of a character that was cut in two.
func trimPartialRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
