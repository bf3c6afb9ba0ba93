package logbook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func read(t *testing.T, b *Book, server string, last int) (texts []string) {
	t.Helper()
	err := b.Read(t.Context(), server, last, false, func(l Line) error {
		texts = append(texts, fmt.Sprintf("%v %s%s: %s", l.Level, l.From, l.Server, l.Text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestBook(t *testing.T) {
	var out bytes.Buffer
	b := New()
	log := slog.New(b.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	a := log.With("server", "a")
	log.Info("begun")
	a.Debug("unseen")
	a.With("n", 1).Info("  npm warn", "from", "stderr ")
	log.With("server", "b").Error("failed", "reason", "no such file")
	if got, want := strings.Join(read(t, b, "", -1), "\n"), "INFO : begun\nINFO stderr a:   npm warn n=1\nERROR b: failed reason=\"no such file\""; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := read(t, b, "a", 5); len(got) != 1 || got[0] != "INFO stderr a:   npm warn n=1" {
		t.Errorf("lines about a: %q", got)
	}
	if got := read(t, b, "", 1); len(got) != 1 || !strings.HasPrefix(got[0], "ERROR b") {
		t.Errorf("the last line: %q", got)
	}
	if !strings.Contains(out.String(), `server=b reason="no such file"`) || strings.Contains(out.String(), "begun") {
		t.Errorf("passed on: %s", &out)
	}
}

func TestFollow(t *testing.T) {
	b := New()
	log := slog.New(b.Handler(slog.DiscardHandler))
	log.Info("0")
	log.Info("1")
	var got []string
	enough := errors.New("enough")
	err := b.Read(t.Context(), "", 1, true, func(l Line) error {
		if got = append(got, l.Text); len(got) == 3 {
			return enough
		}
		log.Info(l.Text + "+")
		return nil
	})
	if err != enough || strings.Join(got, " ") != "1 1+ 1++" {
		t.Errorf("%v, %q", err, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Read(ctx, "", 0, true, nil); err != nil {
		t.Error(err)
	}
}

func TestBound(t *testing.T) {
	b := New()
	log := slog.New(b.Handler(slog.DiscardHandler))
	for range 100 {
		log.Info(strings.Repeat("x", maxBytes/10))
	}
	if n := len(read(t, b, "", -1)); n < 5 || n > 10 {
		t.Errorf("%d lines are kept", n)
	}
	lines, _, lost, _ := b.from(3)
	if lost != 100-len(lines)-3 {
		t.Errorf("%d are lost and %d kept", lost, len(lines))
	}
}
