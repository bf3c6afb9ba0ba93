package bridge

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Hidden values stand in no text: short ones where they are words, long ones anywhere and cut off.
func TestHiddenValuesInTexts(t *testing.T) {
	for _, c := range []struct{ value, text, want string }{
		{`4242`, "no row 4242, 14242, 42423 or id=4242m", "no row xxxxx, 14242, 42423 or id=xxxxxm"},
		{`"me"`, "user me of some names: 'me'", "user xxxxx of some names: 'xxxxx'"},
		{`"SECRETTOK77"`, "failing aSECRETTOK77b", "failing axxxxxb"},
		{`"a\"b c"`, `{"x":"a\"b c"} a"b c a%22b+c a%22b%20c`, `{"x":"xxxxx"} xxxxx xxxxx xxxxx`},
		{`"0123456789abcdefghij"`, "Duplicate entry '0123456789abcdef…' for 0123456789abcdefghij", "Duplicate entry 'xxxxx…' for xxxxx"},
		{`{"a":["tenant-77",true,null],"b":-12.5}`, "tenant-77 is true, -12.5", "xxxxx is true, xxxxx"},
		{`"SECRETTOK77"`, "head SECRETTOK…", "head xxxxx…"},
		{`"SECRETTOK77"`, "SECRE\n…\nRETTOK77 and SECRETTOK77… and TOK…", "xxxxx\n…\nxxxxx and xxxxx… and TOK…"},
		{`"a"`, "a row of a table has id=a, 'a', \"a\" or /a/b, an a.", "a row of a table has id=xxxxx, 'xxxxx', \"xxxxx\" or /xxxxx/b, an xxxxx."},
		{`"a"`, "a", "xxxxx"},
		{`7`, "no customer 7 here", "no customer xxxxx here"},
		{`"é"`, "é à é é", "é à é xxxxx"},
		{`""`, "nothing", "nothing"},
		{`false`, "false", "false"},
	} {
		var none *Secrets
		s := none.with([]byte(c.value))
		if got := s.Hide(c.text); got != c.want {
			t.Errorf("%s: got %s, want %s", c.value, got, c.want)
		}
		if got := none.Hide(c.text); got != c.text {
			t.Errorf("without secrets: %s", got)
		}
	}
}

// overlap finds what trying each length finds.
func TestOverlap(t *testing.T) {
	slow := func(value, text string) int {
		for n := min(len(value), len(text)); n > 0; n-- {
			if strings.HasPrefix(text, value[len(value)-n:]) {
				return n
			}
		}
		return 0
	}
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, random.IntN(12))
		for i := range b {
			b[i] = "ab"[random.IntN(2)]
		}
		return string(b)
	}
	for range 20_000 {
		if value, text := word(), word(); overlap(value, text) != slow(value, text) {
			t.Fatalf("%q in %q: %d, want %d", value, text, overlap(value, text), slow(value, text))
		}
	}
}

// The time to hide the parts of a value does not grow with its length times that of the text: trying
// each length would compare 10¹¹ bytes here.
func TestHideCutIsLinear(t *testing.T) {
	value, text := strings.Repeat("a", 100_000), strings.Repeat("b…", 1_000_000)
	if got := hideCut(text, value); got != text {
		t.Errorf("%d bytes of %d", len(got), len(text))
	}
	if got := hideCut("…"+value[1:]+"b…", value); got != "…"+mask+"b…" {
		t.Errorf("%.20q", got)
	}
}

// A failed result and an error show no hidden value; a result does.
func TestHiddenValuesInReplies(t *testing.T) {
	s := (*Secrets)(nil).with([]byte(`4242`))
	const said = `{"content":[{"type":"text","text":"no 4242 here"}],"structuredContent":{"4242":4242,"n":[42]},"isError":`
	for result, want := range map[string]string{
		said + `false}`: said + `false}`,
		said + `true}`:  `{"content":[{"type":"text","text":"no xxxxx here"}],"structuredContent":{"xxxxx":"xxxxx","n":[42]},"isError":true}`,
	} {
		if got := s.hideReply(Result([]byte(result), nil)); string(got.Result) != want {
			t.Errorf("got %s, want %s", got.Result, want)
		}
	}
	sent := &toolformat.Error{Message: "no 4242", Raw: []byte(`{"code":1,"message":"4242"}`), Cause: errors.New("4242 is locked")}
	got := s.hideReply(Failed(sent)).Err
	if got.Message != "no xxxxx" || string(got.Raw) != `{"code":1,"message":"xxxxx"}` || got.Cause.Error() != "xxxxx is locked" || sent.Message != "no 4242" {
		t.Errorf("%+v", got)
	}
}
