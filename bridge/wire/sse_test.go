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
	"time"
)

// events reads a stream to its end; each event shows as type|id|retry|data.
func events(r io.Reader, limit int) (got []string, err error) {
	e := NewEventReader(r, limit)
	for {
		ev, err := e.Next()
		if _, long := err.(*TooLongError); long {
			got = append(got, "too long")
			continue
		}
		if err != nil {
			if _, again := e.Next(); again != err {
				return got, fmt.Errorf("%w, then %w", err, again)
			}
			return got, err
		}
		s, data := ev.Type, "-"
		if s += "|"; ev.HasID {
			s += "#" + ev.ID
		}
		if s += "|"; ev.Retry >= 0 {
			s += ev.Retry.String()
		}
		if ev.Data != nil {
			data = fmt.Sprintf("%q", ev.Data.B)
		}
		got = append(got, s+"|"+data)
		ev.Data.Free()
	}
}

func TestEventReader(t *testing.T) {
	for _, test := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"data: a\n\n", []string{`|||"a"`}},
		{"\uFEFFdata:a\r\rdata:b\r\n\r\ndata:c\n\n", []string{`|||"a"`, `|||"b"`, `|||"c"`}},
		{"\uFEFF\uFEFFdata:a\n\n", nil},
		{"data: a\ndata:  b\ndata\n\n", []string{`|||"a\n b\n"`}},
		{"data\n\ndata:\n\n", []string{`|||""`, `|||""`}},
		{"event: endpoint\ndata: /x\n\nevent: message\ndata: y\n\ndata: z\n\n", []string{`endpoint|||"/x"`, `|||"y"`, `|||"z"`}},
		{"id: 7\nretry: 1500\n\nid\n\nid: a\x00b\ndata: x\n\n", []string{`|#7|1.5s|-`, `|#||-`, `|||"x"`}},
		{"retry: 1s\nretry: -1\nretry:\nretry: 99999999999999999999\nretry: 9999999999999999\n\n", nil},
		{": comment\n\n:\nevent: only\n\nData: no\nfoo: bar\ndata: yes\n\n", []string{`|||"yes"`}},
		{"data: unfinished", nil},
		{"data: unfinished\n", nil},
		{"data: unfinished\nid: 1\r", nil},
		{"\n\n\r\r\n\ndata: a:b\n\n", []string{`|||"a:b"`}},
		{string(AppendEvent([]byte(": hello\n\n"), "message", "3", []byte("{}"))), []string{`|#3||"{}"`}},
		{string(AppendEvent(nil, "", "4", nil)), []string{`|#4||""`}},
		{"data: " + strings.Repeat("x", 99999) + "\n\ndata: b\n\n", []string{`|||"` + strings.Repeat("x", 99999) + `"`, `|||"b"`}},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(test.in), "bytes": iotest.OneByteReader(strings.NewReader(test.in))} {
			if got, err := events(r, 1<<20); !reflect.DeepEqual(got, test.want) || err != io.EOF {
				t.Errorf("%.60q (%s): %.60q, %v, want %.60q", test.in, name, got, err, test.want)
			}
		}
	}
}

func TestEventReaderLimit(t *testing.T) {
	for in, ok := range map[string]bool{
		"data: 12345\n\n":                        true,
		"data: 12\ndata:34\n\n":                  true,
		"data: 123456\n\n":                       false,
		"data:123456\n\n":                        false,
		"data: 123\ndata:456\n\n":                false,
		":23456789012\n\n":                       false,
		"event:" + "23456789\n\n":                false,
		"data: 1234567890123\n\n":                false,
		"data: 1234567890123\rdata: 9\r\r":       false,
		"data: 1234567890123\r\nid: 123\r\n\r\n": false,
		": 234567890\ndata: 1\n\n":               true,
	} {
		for _, r := range []io.Reader{strings.NewReader(in + "data: next\n\n"), iotest.OneByteReader(strings.NewReader(in + "data: next\n\n"))} {
			got, err := events(r, 5)
			if err != io.EOF || len(got) != 2 || got[1] != `|||"next"` || ok == (got[0] == "too long") {
				t.Errorf("%q: %q, %v", in, got, err)
			}
		}
	}
	e := NewEventReader(strings.NewReader("data: "+strings.Repeat("x", 2000)+"the end\n\n"), 5)
	var long *TooLongError
	if _, err := e.Next(); !errors.As(err, &long) || long.Limit != 5 || long.Size < 2000 || string(long.Head) != strings.Repeat("x", len(long.Head)) ||
		len(long.Head) < 1000 || !strings.HasSuffix(string(long.Tail), "xthe end") {
		t.Errorf("%+v", err)
	}
}

// TestEventReaderDoesNotWait checks that an event is returned at its end, also when that is a CR that an LF could follow.
func TestEventReaderDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	go w.Write([]byte("data: a\r\r"))
	e := NewEventReader(r, 100)
	if ev, err := e.Next(); err != nil || string(ev.Data.B) != "a" || ev.Retry != -1*time.Nanosecond {
		t.Fatal(ev, err)
	}
	go func() { w.Write([]byte("\ndata: b\n\n")); w.Close() }()
	if ev, err := e.Next(); err != nil || string(ev.Data.B) != "b" {
		t.Fatal(ev, err)
	}
}

// An event that does not end is an error, once much of it has been skipped, however long its lines are.
func TestEventReaderEndless(t *testing.T) {
	for _, line := range []string{"data: x\n", "data: " + strings.Repeat("x", 8<<10) + "\n"} {
		e := NewEventReader(io.MultiReader(strings.NewReader("data: ok\n\ndata: 123456\n"), &endlessLines{text: line}), 5)
		e.w.skip = 1 << 20
		if ev, err := e.Next(); err != nil || string(ev.Data.B) != "ok" {
			t.Error(err)
		}
		var long *TooLongError
		if _, err := e.Next(); !errors.As(err, &long) {
			t.Error(err)
		}
		for range 2 {
			if _, err := e.Next(); !errors.Is(err, bufio.ErrTooLong) {
				t.Error(err)
			}
		}
	}
}

// endlessLines repeats a text, and panics after 16 MiB.
type endlessLines struct {
	text string
	read int
}

func (l *endlessLines) Read(b []byte) (int, error) {
	if l.read > 16<<20 {
		panic("it is read on")
	}
	n := copy(b, l.text[l.read%len(l.text):])
	l.read += n
	return n, nil
}

func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{"\uFEFFdata:a\r\rdata:b\r\n\r\ndata:c\n\n", "id: 7\nretry: 15\n\nevent: x\ndata\ndata: y\n\n", ":\r\n\r\n", "data: 12345678901234567890"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, wholeErr := events(strings.NewReader(in), 12)
		for name, r := range map[string]io.Reader{"bytes": iotest.OneByteReader(strings.NewReader(in)), "halves": iotest.HalfReader(strings.NewReader(in))} {
			got, err := events(r, 12)
			if !reflect.DeepEqual(got, whole) || (err == io.EOF) != (wholeErr == io.EOF) {
				t.Fatalf("%q: whole %q %v, %s %q %v", in, whole, wholeErr, name, got, err)
			}
		}
	})
}
