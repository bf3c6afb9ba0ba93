package process

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// logged returns what is passed on of what write writes.
func logged(t *testing.T, write func(l *stderrLog)) (lines []string, tail string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newStderrLog(func(line string) { lines = append(lines, line) })
		go l.deliver()
		write(l)
		l.end()
		synctest.Wait()
		tail = l.tail.String()
	})
	return lines, tail
}

func TestStderrLines(t *testing.T) {
	long := strings.Repeat("y", maxLine-1)
	tests := []struct {
		name   string
		writes []string
		want   []string
		tail   string
	}{
		{"none", nil, nil, ""},
		{"pieces", []string{"a", "b\nc", "\r\n\nd"}, []string{"ab", "c", "", "d"}, "ab | c | d"},
		{"not UTF-8", []string{"a\xff\xfeb\n"}, []string{"a\uFFFDb"}, "a\uFFFDb"},
		{"a character in two", []string{"\xc3", "\xa4\n"}, []string{"ä"}, "ä"},
		{"exactly", []string{long, "y\n"}, []string{long + "y"}, strings.Repeat("y", tailLine) + "…"},
		{"too long", []string{long + "ä", "zz\nb\n"}, []string{long, "… 4 bytes of standard error left out", "b"}, strings.Repeat("y", tailLine) + "… | b"},
		{"stack", []string{"Error: x\n    at y\n\tat z\n"}, []string{"Error: x", "    at y", "\tat z"}, "Error: x"},
		{"color", []string{"\x1b[31mbad\x00\n"}, []string{"\x1b[31mbad\x00"}, "[31mbad"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lines, tail := logged(t, func(l *stderrLog) {
				for _, w := range test.writes {
					l.Write([]byte(w))
				}
			})
			if !slices.Equal(lines, test.want) {
				t.Errorf("got  %q\nwant %q", lines, test.want)
			}
			if tail != test.tail {
				t.Errorf("tail %q, want %q", tail, test.tail)
			}
		})
	}
}

// The beginning of a line that is too long is passed on before its end, which may never come.
func TestStderrWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		l := newStderrLog(func(line string) { lines = append(lines, line) })
		go l.deliver()
		part := strings.Repeat("z", maxLine)
		for range 3 {
			l.Write([]byte(part))
		}
		synctest.Wait()
		if !slices.Equal(lines, []string{part}) {
			t.Errorf("%d lines before the end: %.20q", len(lines), lines)
		}
		l.Write([]byte("\nnext\n" + part + part))
		l.end()
		synctest.Wait()
		if want := []string{part, "… 16384 bytes of standard error left out", "next", part, "… 8192 bytes of standard error left out"}; !slices.Equal(lines, want) {
			t.Errorf("%d lines: %.50q", len(lines), lines)
		}
	})
}

func TestStderrIsShortAndValid(t *testing.T) {
	lines, _ := logged(t, func(l *stderrLog) { l.Write(slices.Repeat([]byte("\xffa"), maxLine)) })
	if len(lines) != 2 || len(lines[0]) > maxLine || !utf8.ValidString(lines[0]) {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
}

func TestStderrAllowance(t *testing.T) {
	kilo := []byte(strings.Repeat("k", 1023) + "\n")
	lines, _ := logged(t, func(l *stderrLog) {
		write := func(n int) {
			l.Write(slices.Repeat(kilo, n))
			synctest.Wait() // all is passed on that is to be
		}
		write(300) // 256 pass
		time.Sleep(400 * time.Millisecond)
		write(1) // not yet: 25.6 KiB are allowed
		time.Sleep(600 * time.Millisecond)
		write(100) // 64 pass
		time.Sleep(time.Hour)
		write(257) // a new burst
	})
	want := append(slices.Repeat([]string{"k"}, 256), "… 46080 bytes of standard error left out")
	want = append(want, slices.Repeat([]string{"k"}, 64)...)
	want = append(want, "… 36864 bytes of standard error left out")
	want = append(want, slices.Repeat([]string{"k"}, 256)...)
	want = append(want, "… 1024 bytes of standard error left out")
	for i, line := range lines {
		if line[0] == 'k' {
			lines[i] = "k"
		}
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%d lines, want %d", len(lines), len(want))
		for i, line := range lines {
			if line != "k" {
				t.Log(i, line)
			}
		}
	}
}

func TestStderrUserHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		n := 0
		l := newStderrLog(func(string) { <-release; n++ })
		go l.deliver()
		for range 100 {
			l.Write(slices.Repeat([]byte("x\n"), 10<<10))
			time.Sleep(time.Second) // its pace would be allowed
		}
		if l.queued > burst+maxLine {
			t.Errorf("%d bytes wait", l.queued)
		}
		close(release)
		l.end()
		synctest.Wait()
		if n == 0 || l.queued != 0 {
			t.Errorf("%d lines passed on, %d bytes wait", n, l.queued)
		}
	})
}
