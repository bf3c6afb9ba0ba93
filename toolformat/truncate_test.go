package toolformat

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTruncate(t *testing.T) {
	const text = `{"content":[{"type":"text","text":"`
	for _, c := range []struct {
		name string
		max  int
		in   string
		want string // "": as it is
	}{
		{"short", 100, text + `abc"}]}`, ""},
		{"as long as may be", 3, `{ "content" : [ {"type":"text", "text":"a\u0062c"} ], "isError" : true }`, ""},
		{"long", 3, text + `abcd"}]}`, text + `abc... [output truncated]"}]}`},
		{"at a character", 3, text + `aé\ud83d\ude00é"}]}`, text + `aé😀... [output truncated]"}]}`},
		{"nothing", 0, text + `abcd"}]}`, text + `... [output truncated]"}]}`},
		{"what else there is stays", 1, `{"_meta":{"n":1.50},"content":[{"text":"abc","type":"text","annotations":{"a":1}}],"isError":true}`,
			`{"_meta":{"n":1.50},"content":[{"text":"a... [output truncated]","type":"text","annotations":{"a":1}}],"isError":true}`},
		{"several blocks", 5, `{"content":[{"type":"text","text":"abc"},{"type":"text","text":"def"},{"type":"image","data":"AAAAAAAAAA=="},{"type":"text","text":"ghi"}]}`,
			`{"content":[{"type":"text","text":"abc"},{"type":"text","text":"de... [output truncated]"},{"type":"image","data":"AAAAAAAAAA=="}]}`},
		{"a cut between blocks", 3, text + `abc"},{"type":"text","text":"def"}]}`, text + `abc"},{"type":"text","text":"... [output truncated]"}]}`},
		{"a resource", 3, `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"abcd"}},{"type":"resource","resource":{"uri":"a:b","blob":"AAAA"}}]}`,
			`{"content":[{"type":"resource","resource":{"uri":"a:b","text":"abc... [output truncated]"}},{"type":"resource","resource":{"uri":"a:b","blob":"AAAA"}}]}`},
		{"images alone", 3, `{"content":[{"type":"image","data":"AAAAAAAAAA=="},{"type":"link","text":7},null]}`, ""},
		{"structured as well", 8, text + `{\"a\":\"bcd\"}"}],"structuredContent":{"a":"bcd"}}`, text + `{\"a\":\"bc... [output truncated]"}]}`},
		{"structured, and short", 8, text + `123456789"}],"structuredContent":{"a":1}}`, text + `12345678... [output truncated]"}],"structuredContent":{"a":1}}`},
		{"structured, and a short text", 8, text + `bcd"}],"structuredContent":{"a":"bcd"}}`, text + `bcd"},{"type":"text","text":"... [output truncated]"}]}`},
		{"structured alone", 8, `{"content":[],"structuredContent":{"a":"bcd"}}`, text[:12] + `{"type":"text","text":"{\"a\":\"bc... [output truncated]"}]}`},
		{"no content", 8, `{"structuredContent":{"a":"bcd"}}`, `{"content":[{"type":"text","text":"{\"a\":\"bc... [output truncated]"}]}`},
		{"duplicate keys", 4, `{"a":1,"a":2,"isError":true}`, `{"content":[{"type":"text","text":"{\"a\"... [output truncated]"}],"isError":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &Result{JSON: json.RawMessage(c.in)}
			got := in.Truncate(c.max)
			if c.want == "" && got != in {
				t.Errorf("got %s", got.JSON)
			} else if c.want != "" && string(got.JSON) != c.want {
				t.Errorf("got\n%s\nwant\n%s", got.JSON, c.want)
			}
		})
	}
}

// FuzzTruncate verifies that a truncated result is a result of at most the given length, and has
// failed if the original has.
func FuzzTruncate(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"aé😀\ud800"},{"type":"image","data":"AA=="}],"structuredContent":{"a":[1,2,3]},"isError":true}`), 3)
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"text":"abc"}}],"content":1}`), 0)
	f.Fuzz(func(t *testing.T, raw []byte, most int) {
		in := &Result{JSON: raw}
		if most < 0 || !json.Valid(raw) || raw[0] != '{' {
			return
		}
		got := in.Truncate(most)
		if got == in {
			return
		}
		blocks, err := got.Content()
		if _, before := in.Content(); err != nil && before == nil || !json.Valid(got.JSON) {
			t.Fatalf("%s: %v", got.JSON, err)
		}
		total, cut := 0, false
		for _, b := range blocks {
			total += utf8.RuneCountInString(strings.TrimSuffix(b.Text, truncated))
			cut = cut || strings.HasSuffix(b.Text, truncated)
		}
		if err == nil && (total > most || !cut) {
			t.Fatalf("%d characters of text, marked: %v: %s", total, cut, got.JSON)
		}
	})
}
