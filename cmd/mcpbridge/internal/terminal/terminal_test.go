package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain\n\ttext, 漢字, 👩‍💻", "plain\n\ttext, 漢字, 👩‍💻"},
		{"a\r\nb\rc", "a\nb\nc"},
		{"\x1b[31mred\x07\x00\x7f", "�[31mred���"},
		{"\u009b31m", "�31m"},
		{"pay \u202eeno\u202c", "pay �eno�"},
		{"bad \xff utf", "bad � utf"},
	} {
		if got := Clean(c.text); got != c.want {
			t.Errorf("Clean(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;title\x07", 3)
	f.Add("漢字\u009b", 2)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		got := Clean(text)
		if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) || !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q", text, got)
		}
		columns = min(max(columns, 0), 200)
		line := Inline(text)
		if short := Fit(line, columns); uniseg.StringWidth(short) > columns || strings.ContainsAny(short, "\n\t") {
			t.Errorf("Fit(%q, %d) = %q", line, columns, short)
		}
	})
}

func TestVisible(t *testing.T) {
	const raw = "{ \"a\" : [1,\n 2],\t\"b\":\"\u009b31m \u202eone\\n\u200b\U000e0041\u3164 1\ufe0f ❤\ufe0f\" }"
	const want = `{"a":[1,2],"b":"\u009b31m \u202eone\n\u200b\udb40\udc41\u3164 1\ufe0f ❤` + "\ufe0f\"}"
	got := VisibleJSON(json.RawMessage(raw))
	var before, after any
	if err := errors.Join(json.Unmarshal([]byte(raw), &before), json.Unmarshal([]byte(got), &after)); err != nil {
		t.Fatal(err)
	}
	if got != want || !reflect.DeepEqual(before, after) {
		t.Errorf("got %s, want %s", got, want)
	}
	if lines := VisibleLines(json.RawMessage(`{"a":"` + "\u200b" + `"}`)); lines != "{\n  \"a\": \"\\u200b\"\n}" {
		t.Errorf("got %s", lines)
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"漢字漢字", 8, "漢字漢字"}, {"漢字漢字", 7, "漢字漢…"}, {"漢字漢字", 6, "漢字…"},
		{"👩‍💻👩‍💻", 3, "👩‍💻…"}, {"", 0, ""}, {"x", 0, ""},
	} {
		if got := Fit(c.text, c.columns); got != c.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// flowed is a text in lines of so many columns, added in pieces of so many characters.
func flowed(text string, columns, piece int) string {
	f := flow{width: func() int { return columns }}
	f.begin()
	for part := range slices.Chunk([]rune(text), piece) {
		f.add(string(part))
	}
	f.end()
	return f.take()
}

func TestFlow(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"short", "one two", "one two\n"},
		{"wrapped", "one two three four", "one two\nthree four\n"},
		{"exact", "one two th four", "one two th\nfour\n"},
		{"a word too long", "see https://example.com/long now", "see\nhttps://example.com/long\nnow\n"},
		{"blank lines around", "\n\n  one\n\n\ntwo\n\n", "  one\n\n\ntwo\n"},
		{"indented", "- a\n  - b c d e f", "- a\n  - b c d\ne f\n"},
		{"wide", "漢字漢字漢字漢字 a", "漢字漢字漢\n字漢字 a\n"},
		{"code", "```\nfor a in list of things\n```\nand then more", "```\nfor a in list of things\n```\nand then\nmore\n"},
		{"a table", "| a long | row |\nno more of it", "| a long | row |\nno more of\nit\n"},
		{"tabs", "\ta\tb", "    a    b\n"},
		{"nothing", "\n \n", ""},
	} {
		for piece := 1; piece < 8; piece++ {
			if got := flowed(c.text, 10, piece); got != c.want {
				t.Errorf("%s in pieces of %d:\n%q, want\n%q", c.name, piece, got, c.want)
			}
		}
	}
}

// typedKeys is what the editor gets of keys that come in these pieces.
func typedKeys(k *keyboard, pieces ...string) string {
	for _, piece := range pieces {
		k.take([]byte(piece))
	}
	k.close()
	all, _ := io.ReadAll(k)
	return string(all)
}

func TestKeyboard(t *testing.T) {
	long := strings.Repeat("line\r\n", 5)
	for _, c := range []struct {
		name   string
		pieces []string
		want   string // as it is edited
		meant  string // "" is as it is edited
	}{
		{"letters", []string{"a漢", "b\r"}, "a漢b\r", ""},
		{"half a letter", []string{"\xe6\xbc", "\xa2\r"}, "漢\r", ""},
		{"an arrow", []string{"a\x1b[Db"}, "a\x1b[Db", ""},
		{"an arrow in pieces", []string{"a\x1b", "[", "Db"}, "a\x1b[Db", ""},
		{"Escape by itself", []string{"a\x1b", "\r"}, "a\r", ""},
		{"Escape and then a word", []string{"\x1b", "word"}, "word", ""},
		{"Alt-Enter and Ctrl-J", []string{"a\x1b\rb\nc"}, "a\ue000b\ue000c", "a\nb\nc"},
		{"Ctrl-Z", []string{"a\x1ab"}, "ab", ""},
		{"a paste", []string{"<\x1b[200~a\r\nb\x1b[201~>"}, "<a\ue000b>", "<a\nb>"},
		{"a paste with tabs", []string{"\x1b[200~a\tb\r\n\tc\x1b[201~\t"}, "a\ue001b\ue000\ue001c\t", "a\tb\n\tc\t"},
		{"reserved characters in a paste", []string{"\x1b[200~a\ue000\ue001\x1b[201~"}, "a\ufffd\ufffd", ""},
		{"a paste in pieces", []string{"\x1b[20", "0~a\rb\x1b", "[201", "~\r"}, "a\ue000b\r", "a\nb\r"},
		{"control characters in a paste", []string{"\x1b[200~a\x03\x1b[31m\x1b[201~"}, "a��[31m", ""},
		{"a long paste", []string{"see \x1b[200~" + long + "\x1b[201~!"}, "see [paste 1: 5 lines]!", "see line\nline\nline\nline\nline!"},
		{"a long line", []string{"\x1b[200~" + strings.Repeat("字", 300) + "\x1b[201~"}, "[paste 1: 300 characters]", strings.Repeat("字", 300)},
	} {
		k := newKeyboard(strings.NewReader(""), func() { t.Errorf("%s: the bell rings", c.name) })
		got := typedKeys(k, c.pieces...)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if meant := k.expand(got); meant != c.meant && (c.meant != "" || meant != got) {
			t.Errorf("%s: means %q, want %q", c.name, meant, c.meant)
		}
	}
}

// A read ends with the line, so that what is typed ahead can still be dropped.
func TestKeyboardAhead(t *testing.T) {
	k := newKeyboard(strings.NewReader(""), func() {})
	canceled := 0
	k.onInterrupt(func() { canceled++ })
	k.take([]byte("dropped\x03yes\rno\r"))
	buffer := make([]byte, 100)
	n, _ := k.Read(buffer)
	if got := string(buffer[:n]); got != "yes\r" || canceled != 1 {
		t.Errorf("got %q, and Ctrl-C %d times", got, canceled)
	}
	k.change(func() { k.ahead = nil })
	k.onInterrupt(nil)
	if got := typedKeys(k, "\x03"); got != "\x03" {
		t.Errorf("got %q", got)
	}
	bells := 0
	k = newKeyboard(strings.NewReader(""), func() { bells++ })
	k.take(bytes.Repeat([]byte{'x'}, maxAhead))
	k.take([]byte("y"))
	if got := typedKeys(k, "\x1b[200~"+strings.Repeat("z", maxPaste+10)+"\x1b[201~"); bells != 2 || len(got) != maxAhead {
		t.Errorf("%d bells, %d bytes", bells, len(got))
	}
	if text := k.pastes[0]; len(text.text) != maxPaste || !strings.Contains(text.label, "cut after 1024 KiB") {
		t.Errorf("a paste of %d bytes is %s", len(text.text), text.label)
	}
}

// Only a key pressed by itself is an answer.
func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
		bells  int
	}{
		{"a key", []string{"y"}, "y", 0},
		{"upper case", []string{"Y"}, "y", 0},
		{"an arrow", []string{"\x1b[A", "n"}, "n", 0},
		{"rxvt's shift and arrow, in pieces", []string{"\x1b[", "a", "n"}, "n", 0},
		{"a function key", []string{"\x1bO", "a", "n"}, "n", 0},
		{"Alt and a key", []string{"\x1ba", "n"}, "n", 0},
		{"Escape, then a key", []string{"\x1b", "a"}, "a", 0},
		{"a paste", []string{"\x1b[200~a", "y\x1b[201~", "n"}, "n", 1},
		{"a word", []string{"what a day", "\r", "n"}, "n", 1},
		{"letters of other alphabets", []string{"да", "\r", "n"}, "n", 1},
		{"Ctrl-C", []string{"\x03"}, errInterrupted.Error(), 0},
		{"Ctrl-D", []string{"\x04"}, "EOF", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			bells := 0
			in, typed := io.Pipe()
			defer typed.Close()
			k := newKeyboard(in, func() { bells++ })
			k.take([]byte("a")) // typed before the question
			time.Sleep(typing)
			k.ask()
			got := make(chan string)
			go func() {
				key, err := k.answer(t.Context(), "yna")
				if got <- string(rune(key)); err != nil {
					got <- err.Error()
				}
			}()
			synctest.Wait()
			for _, piece := range c.pieces {
				k.take([]byte(piece))
				synctest.Wait()
			}
			answer := <-got
			if answer == "\x00" {
				answer = <-got
			}
			if answer != c.want || bells != c.bells {
				t.Errorf("%s: got %q and %d bells, want %q and %d", c.name, answer, bells, c.want, c.bells)
			}
		})
	}
}

// A pause ends a word that began before or after the question, the end of the context the question, and an Enter after the answer is dropped.
func TestAnswerTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		defer typed.Close()
		k := newKeyboard(in, func() {})
		k.take([]byte("an"))
		k.ask() // in the middle of "any"
		got := make(chan byte)
		go func() {
			key, _ := k.answer(t.Context(), "yn")
			got <- key
		}()
		synctest.Wait()
		k.take([]byte("y"))
		time.Sleep(typing)
		k.take([]byte("maybe yes"))
		time.Sleep(typing - 1)
		k.take([]byte("n"))
		time.Sleep(typing)
		k.take([]byte("y\rnext\r"))
		if key := <-got; key != 'y' {
			t.Errorf("got %q", key)
		}
		k.dropEnter()
		buffer := make([]byte, 100)
		if n, _ := k.Read(buffer); string(buffer[:n]) != "next\r" {
			t.Errorf("then %q", buffer[:n])
		}
		k.take([]byte("a line\r"))
		for range 2 { // Enter and an answer end a word
			k.ask()
			k.take([]byte("y"))
			if key, _ := k.answer(t.Context(), "yn"); key != 'y' {
				t.Errorf("got %q", key)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := k.answer(ctx, "yn"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzKeyboard(f *testing.F) {
	f.Add("a\x1b[200~b\rc\x1b[201~\x1b[A\r", 3)
	f.Fuzz(func(t *testing.T, typed string, piece int) {
		k := newKeyboard(strings.NewReader(""), func() {})
		var pieces []string
		for part := range slices.Chunk([]byte(typed), min(max(piece, 1), 100)) {
			pieces = append(pieces, string(part))
		}
		if got := typedKeys(k, pieces...); strings.ContainsAny(got, "\n\x1a") {
			t.Errorf("got %q of %q", got, typed)
		}
	})
}

// Lines that are drawn anew never fill the screen, and know how a narrower one breaks
// them.
func TestLive(t *testing.T) {
	var l live
	for _, id := range []string{"1", "2", "3", "4"} {
		l.Add(&Task{ID: id, Title: Title{"tool", strings.Repeat("x", 200)}})
	}
	var b strings.Builder
	l.draw(&b, false, time.Unix(0, 0), 80, 6)
	if lines := strings.Split(b.String(), "\n"); len(lines) != 3 || lines[2] != "  and 2 more" {
		t.Errorf("drawn\n%s", b.String())
	}
	b.Reset()
	l.erase(&b, 40)
	if got := b.String(); got != "\r\x1b[4A\x1b[J" { // 2 + 2 + 1 rows
		t.Errorf("erased with %q", got)
	}
	b.Reset()
	l.erase(&b, 40)
	if b.Len() > 0 {
		t.Errorf("erased twice with %q", b.String())
	}
	for columns := range 100 {
		line := Title{"a_tool", `{"text":"漢字 and more of them"}`}.Line(false, "✓", "12ms 25% well on its way", columns)
		if width := uniseg.StringWidth(line); width > max(columns, 3) {
			t.Errorf("%d columns: %q has %d", columns, line, width)
		}
	}
}

// A line that comes after nobody waited for it any more is the next one's.
func TestLines(t *testing.T) {
	in, typed := io.Pipe()
	l := NewLines(in)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	go func() {
		io.WriteString(typed, "one\ntwo")
		typed.Close()
	}()
	for _, want := range []string{"one", "two"} {
		if got, err := l.Read(t.Context()); got != want || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if _, err := l.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}
