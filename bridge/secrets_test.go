package bridge

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/url"
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
		{`7`, "no customer 7 here, 77 there", "no customer xxxxx here, 77 there"},
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

// A secret is hidden as programs write it, also where it is cut off, and a plain one is sought once.
func TestFormsOfSecrets(t *testing.T) {
	const password, long = "Tr0ub4dor&3<xyz>", "Kunde Ä\"7/secret's value (😀+1)!"
	var s Secrets
	s.Add(password)
	s.Add(long)
	s.Add("a/b&c")
	s.Add(`C:\new "key"`)
	s.Add("it's\n\"\\\"")
	ownHTML, _ := json.Marshal(long)
	for _, text := range []string{
		password, long, "a/b&c", string(ownHTML[1 : len(ownHTML)-1]),
		`Tr0ub4dor\u00263\u003cxyz\u003e`, `Tr0ub4dor\u00263\u003Cxyz\u003E`, "Tr0ub4dor%263%3Cxyz%3E",
		`Kunde Ä\"7/secret's value (😀+1)!`,
		`Kunde \u00c4\"7/secret's value (\ud83d\ude00+1)!`,
		`Kunde \u00C4\"7/secret's value (\uD83D\uDE00+1)!`,
		`Kunde \u00c4\"7\/secret's value (\ud83d\ude00+1)!`,
		`Kunde Ä\"7\/secret's value (😀+1)!`,
		`Kunde \u00C4\u00227/secret\u0027s value (\uD83D\uDE00\u002B1)!`,
		`Kunde Ä\"7/secret\u0027s value (😀+1)!`,
		"Kunde+%C3%84%227%2Fsecret%27s+value+%28%F0%9F%98%80%2B1%29%21",
		"Kunde%20%C3%84%227%2Fsecret%27s%20value%20%28%F0%9F%98%80%2B1%29%21",
		"Kunde%20%C3%84%227/secret%27s%20value%20%28%F0%9F%98%80%2B1%29%21",
		"Kunde%20%C3%84%227%2Fsecret's%20value%20(%F0%9F%98%80%2B1)!",
		`a\/b&c`, `a/b\u0026c`, "a%2Fb%26c", "a/b%26c",
		`Kunde Ä"7/secret\'s value (😀+1)!`, // Python
		`C:\\new "key"`, `it's\n"\\"`, `it\'s\n"\\"`,
	} {
		if got := s.Hide("with " + text + "."); got != "with xxxxx." {
			t.Errorf("%s: %s", text, got)
		}
	}
	for cut, want := range map[string]string{`at Kunde \u00c4\"7\/sec…`: "at xxxxx…", "at Kunde%20%C3%84%227/sec…": "at xxxxx…", "at a%2Fb…": "at xxxxx…"} {
		if got := s.Hide(cut); got != want {
			t.Errorf("%s: %s", cut, got)
		}
	}
	const plain = "sk-Proj_0123456789.abcdefghijklmnopqrstuvwxyz~ABC"
	if own := (*Secrets)(nil).with([]byte(`"` + plain + `"`)); len(own.all) != 1 || len(own.all[0].all) != 1 {
		t.Errorf("%d forms: %v", len(own.all), own.all)
	}
}

// A credential is hidden in base64 wherever it begins and ends in what was encoded, in both alphabets and also where
// that is in JSON or in a URL. Short ones and hidden values are not.
func TestSecretsInBase64(t *testing.T) {
	const secret = "p~~?>>ss\xffword??"
	s := &Secrets{}
	s.Add(secret)
	s.Add("short")
	s.addValue([]byte(`"hidden-value"`))
	for before := range 4 {
		for after := range 4 {
			plain := []byte("ann:"[:before] + secret + ">?>!"[:after])
			most := base64.StdEncoding.EncodedLen(before) + base64.StdEncoding.EncodedLen(after) + len("==")
			std := base64.StdEncoding.EncodeToString(plain)
			for _, text := range []string{
				std, base64.RawStdEncoding.EncodeToString(plain), base64.URLEncoding.EncodeToString(plain),
				strings.ReplaceAll(std, "/", `\/`), url.QueryEscape(std),
			} {
				front, back, found := strings.Cut(s.Hide(text), mask)
				if rest, _ := url.QueryUnescape(front + back); !found || len(rest) > most {
					t.Errorf("%d bytes before and %d after: %s becomes %s", before, after, text, s.Hide(text))
				}
			}
		}
	}
	for text, want := range map[string]string{
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+secret)): "Authorization: Basic YW5uOnxxxxxw==",
		base64.StdEncoding.EncodeToString([]byte("short")):                                 "c2hvcnQ=",
		base64.StdEncoding.EncodeToString([]byte("hidden-value")):                          "aGlkZGVuLXZhbHVl",
	} {
		if got := s.Hide(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// A secret that is a part of another one, or begins like it, leaves nothing of that.
func TestSecretsAlike(t *testing.T) {
	var s Secrets
	for _, secret := range []string{"sk-ant", "sk-ant-api03-AAAAAAAA", "key-1"} {
		s.Add(secret)
	}
	own := s.with([]byte(`"sk-ant-api03-BBBBBBBB"`)).with([]byte(`"key-12345"`))
	const text = "sk-ant sk-ant-api03-AAAAAAAA sk-ant-api03-BBBBBBBB key-12345 key-1"
	if got := own.Hide(text); got != "xxxxx xxxxx xxxxx xxxxx xxxxx" {
		t.Error(got)
	}
	if got := s.Hide("sk-ant-api03-BBBBBBBB key-12345"); got != "xxxxxBBBBBBBB xxxxx2345" {
		t.Errorf("the copy has changed the set: %s", got)
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

// A text may have any part of a secret, of any length: what is hidden ends, and whole secrets are hidden.
func TestPartsOfSecrets(t *testing.T) {
	const all = "0q1w2e3r4t5y6u7i8o9p0a1s2d3f"
	for size := 1; size <= len(all); size++ {
		for _, anywhere := range []bool{true, false} {
			s := &Secrets{}
			s.add(all[:size], anywhere)
			for part := range size {
				text := "(" + all[:part] + "#" + all[:part] + ")"
				if got := s.Hide(text); !strings.HasPrefix(got, "(") || !strings.HasSuffix(got, ")") {
					t.Errorf("%d of %d bytes: %s becomes %s", part, size, text, got)
				}
			}
			if got := s.Hide("(" + all[:size] + ")"); size > 1 && got != "("+mask+")" {
				t.Errorf("%d bytes become %s", size, got)
			}
		}
	}
}
