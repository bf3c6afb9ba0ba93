package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// lines reads until an error that is final; a line over the limit shows as its size.
func lines(r io.Reader, limit int) (got []string, err error) {
	l := NewLineReader(r, limit)
	for {
		b, err := l.Read()
		var long *TooLongError
		switch {
		case errors.As(err, &long):
			got = append(got, fmt.Sprint("too long: ", long.Size))
		case err != nil:
			if _, again := l.Read(); again != err {
				return got, fmt.Errorf("%w, then %w", err, again)
			}
			return got, err
		default:
			got = append(got, string(b.B))
			b.Free()
		}
	}
}

func TestLineReader(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		in    string
		limit int
		want  []string
	}{
		{"", 9, nil},
		{"a\nb\n", 9, []string{"a", "b"}},
		{"a\r\n\r\n\n\rb\r\nlast", 9, []string{"a", "\rb", "last"}},
		{"last\r", 9, []string{"last"}},
		{x(5) + "\n" + x(5) + "\r\n" + x(5), 5, []string{x(5), x(5), x(5)}},
		{x(6) + "\n" + x(6) + "\r\n" + "ok\n" + x(6), 5, []string{"too long: 6", "too long: 6", "ok", "too long: 6"}},
		{x(150000) + "\r\nok\n", 70000, []string{"too long: 150000", "ok"}},
		{x(150000) + "\nok\n" + x(150000), 70000, []string{"too long: 150000", "ok", "too long: 150000"}},
		{x(65536) + "\n" + x(3) + "\n" + x(20000) + "\r\n" + x(110000) + "\nz", 1 << 20, []string{x(65536), x(3), x(20000), x(110000), "z"}},
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(test.in), "bytes": iotest.OneByteReader(strings.NewReader(test.in)),
			"halves": iotest.HalfReader(strings.NewReader(test.in)), "data with EOF": iotest.DataErrReader(strings.NewReader(test.in)),
		} {
			if got, err := lines(r, test.limit); !reflect.DeepEqual(got, test.want) || err != io.EOF {
				t.Errorf("%.40q (%s): %.40q, %v, want %.40q", test.in, name, got, err, test.want)
			}
		}
	}
}

func TestLineReaderError(t *testing.T) {
	broken := errors.New("broken")
	got, err := lines(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), 9)
	if !reflect.DeepEqual(got, []string{"a"}) || err != broken {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := lines(stuck{}, 9); err != io.ErrNoProgress {
		t.Error(err)
	}
}

// A line that does not end is an error, once much of it has been skipped.
func TestLineReaderEndless(t *testing.T) {
	l := NewLineReader(io.MultiReader(strings.NewReader("ok\n"), endless{}), 9)
	l.w.skip = 1 << 20
	if b, err := l.Read(); err != nil || string(b.B) != "ok" {
		t.Error(err)
	}
	var long *TooLongError
	if _, err := l.Read(); !errors.As(err, &long) || long.Size <= 1<<20 {
		t.Error(err)
	}
	for range 2 {
		if _, err := l.Read(); !errors.Is(err, bufio.ErrTooLong) || strings.Contains(err.Error(), "bufio") {
			t.Error(err)
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func FuzzLineReader(f *testing.F) {
	f.Add("a\r\nbbbbbbb\n\nccc\rc\r\n", 3)
	f.Add("aaaa\r", 3)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		if limit < 0 || limit > 1<<20 {
			return
		}
		var want []string
		for _, line := range strings.Split(in, "\n") {
			if line = strings.TrimSuffix(line, "\r"); len(line) > limit {
				want = append(want, fmt.Sprint("too long: ", len(line)))
			} else if line != "" {
				want = append(want, line)
			}
		}
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			if got, err := lines(r, limit); !reflect.DeepEqual(got, want) || err != io.EOF {
				t.Fatalf("%q: %q, %v, want %q", in, got, err, want)
			}
		}
	})
}

func TestBuffer(t *testing.T) {
	lengths := []int{0}
	for _, size := range sizes {
		lengths = append(lengths, size, size+1)
	}
	for _, size := range lengths {
		b := NewBuffer(size)
		if len(b.B) != 0 || cap(b.B) < size {
			t.Errorf("NewBuffer(%d): %d of %d", size, len(b.B), cap(b.B))
		}
		b.B = append(b.B, make([]byte, size)...)
		b.Free()
		if b.B != nil {
			t.Errorf("%d: B is left", size)
		}
	}
	(*Buffer)(nil).Free()
	(&Buffer{B: []byte("foreign")}).Free()
	if b := NewBuffer(7); cap(b.B) < sizes[0] {
		t.Error("a short slice went into the pool")
	}
}
