package terminal

import (
	"strings"
	"testing"
	"time"
)

// An empty line stands between two sections, and never two.
func TestSections(t *testing.T) {
	const one, two = Alone + 1, Alone + 2
	loud := strings.ToUpper
	for _, c := range []struct {
		name string
		do   func(p *Printer)
		want string
	}{
		{"lines of one section", func(p *Printer) { p.Line(one, "a"); p.Line(one, "b") }, "a\nb\n"},
		{"two sections", func(p *Printer) { p.Line(one, "a"); p.Line(two, "b") }, "a\n\nb\n"},
		{"lines alone", func(p *Printer) { p.Line(Alone, "a"); p.Line(Alone, "b") }, "a\n\nb\n"},
		{"a pause", func(p *Printer) { p.Line(one, "a"); p.Pause(Alone); p.Pause(Alone); p.Line(one, "b") }, "a\n\nb\n"},
		{"no pause within a section", func(p *Printer) { p.Line(one, "a"); p.Pause(one); p.Line(one, "b") }, "a\nb\n"},
		{"text in pieces", func(p *Printer) { p.Stream(one, "a b", nil); p.Stream(one, "c d", nil); p.Line(two, "e") }, "a bc d\n\ne\n"},
		{"text that breaks", func(p *Printer) { p.Stream(one, "one two three four", nil); p.Pause(Alone) }, "one two\nthree four\n\n"},
		{"text with a style", func(p *Printer) { p.Stream(one, "a ", loud); p.Stream(two, "b ", nil); p.Pause(Alone) }, "A\n\nb\n\n"},
		{"harmful text", func(p *Printer) { p.Stream(one, "a\x1b[2J", nil); p.Pause(Alone) }, "a\ufffd[2J\n\n"},
	} {
		var out strings.Builder
		s := NewScreen(&out, func() (int, int) { return 10, 10 }, false)
		s.Update(c.do)
		if got := out.String(); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

// Live lines are below the text, and go when they are cleared.
func TestUpdateLive(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, func() (int, int) { return 40, 10 }, false)
	s.Now = func() time.Time { return time.Unix(2, 0) }
	s.Update(func(p *Printer) { p.Wait("waiting", time.Unix(0, 0)) })
	s.Update(func(p *Printer) { p.Add(&Task{ID: "1", Title: Title{"copy", "a to b"}, Begun: time.Unix(1, 0)}) })
	s.Update(func(p *Printer) { p.Find("1").Note = "50%" })
	s.Update(func(p *Printer) { p.Remove("1"); p.Line(Alone, "done") })
	const want = "⠋ waiting 2.0s" + "\r\x1b[K⠋ copy a to b 1.0s" + "\r\x1b[K⠋ copy a to b 1.0s 50%" + "\r\x1b[Kdone\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
	if s.live.Find("1") != nil {
		t.Error("the task is still there")
	}
}
