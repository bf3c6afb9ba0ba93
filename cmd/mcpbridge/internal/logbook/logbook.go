// Package logbook keeps the latest lines of a log in memory, for those who ask a running program.
package logbook

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxBytes = 1 << 20 // of the texts of all lines
	lineCost = 128     // bytes that a line counts beside its text
)

// A Line is one line of a log.
type Line struct {
	Time   time.Time  `json:"time"`
	Level  slog.Level `json:"level"`
	Server string     `json:"server,omitempty"` // that the line is about
	From   string     `json:"from,omitempty"`   // what the line was read from: stderr
	Text   string     `json:"text"`             // the message and its other attributes
	Lost   int        `json:"lost,omitempty"`   // lines before this one that are no longer kept
}

// A Book keeps the latest lines, from the level Info on, up to about a MiB. It may be used from many
// goroutines.
type Book struct {
	mu    sync.Mutex // guards what follows
	lines []Line
	first int // number of lines[0]
	size  int
	more  chan struct{} // closed when a line comes
}

// New returns an empty Book.
func New() *Book { return &Book{more: make(chan struct{})} }

func (b *Book) add(l Line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, l)
	b.size += len(l.Text) + lineCost
	drop := 0
	for ; b.size > maxBytes && drop < len(b.lines)-1; drop++ {
		b.size -= len(b.lines[drop].Text) + lineCost
	}
	b.lines, b.first = slices.Delete(b.lines, 0, drop), b.first+drop
	close(b.more)
	b.more = make(chan struct{})
}

// from returns the lines from a number on, the number of the next, and a channel that is closed when it
// comes. lost is the number of lines that are no longer kept.
func (b *Book) from(number int) (lines []Line, next, lost int, more <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lost = max(0, b.first-number)
	lines = slices.Clone(b.lines[min(len(b.lines), max(0, number-b.first)):])
	return lines, b.first + len(b.lines), lost, b.more
}

// Read calls take with the last lines, all of them if last is negative, and with what comes after them
// until ctx ends, if follow is set. It returns the error of take. With a server, only the lines about it
// count.
func (b *Book) Read(ctx context.Context, server string, last int, follow bool, take func(Line) error) error {
	other := func(l Line) bool { return server != "" && l.Server != server }
	lines, next, _, more := b.from(0)
	lines = slices.DeleteFunc(lines, other)
	if last >= 0 {
		lines = lines[max(0, len(lines)-last):]
	}
	for lost := 0; ; {
		for i, l := range lines {
			if i == 0 {
				l.Lost = lost
			}
			if err := take(l); err != nil {
				return err
			}
		}
		if !follow {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
		lines, next, lost, more = b.from(next)
		lines = slices.DeleteFunc(lines, other)
	}
}

// Handler returns a handler that keeps what it passes on to next.
func (b *Book) Handler(next slog.Handler) slog.Handler { return &handler{book: b, next: next} }

type handler struct {
	book   *Book
	next   slog.Handler
	server string
	attrs  []slog.Attr
	groups int
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		h.book.add(h.line(&r))
	}
	if h.next.Enabled(ctx, r.Level) {
		return h.next.Handle(ctx, r)
	}
	return nil
}

func (h *handler) line(r *slog.Record) Line {
	l := Line{Time: r.Time, Level: r.Level, Server: h.server}
	var attrs bytes.Buffer
	text := slog.NewTextHandler(&attrs, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
			return a
		case a.Key == "from":
			l.From = a.Value.String()
			return slog.Attr{}
		case a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey:
			return slog.Attr{}
		}
		return a
	}}).WithAttrs(h.attrs)
	_ = text.Handle(context.Background(), *r) // cannot fail: the buffer takes all
	l.Text = strings.TrimRight(r.Message+" "+strings.TrimSpace(attrs.String()), " ")
	return l
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	own := *h
	own.next, own.attrs = h.next.WithAttrs(attrs), slices.Clip(h.attrs)
	for _, a := range attrs {
		if a.Key == "server" && h.groups == 0 {
			own.server = a.Value.String()
		} else {
			own.attrs = append(own.attrs, a)
		}
	}
	return &own
}

func (h *handler) WithGroup(name string) slog.Handler {
	own := *h
	own.next, own.groups = h.next.WithGroup(name), h.groups+1
	return &own
}
