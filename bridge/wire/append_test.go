package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppenders(t *testing.T) {
	params, err := SplitParams([]byte(`{"name":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"x":1}`)
	for _, test := range []struct{ got, want string }{
		{string(AppendRequest(nil, 7, "tools/call", &params, Edit{Key: Name, Value: []byte(`"b"`)})), `"id":7,"method":"tools/call","params":{"name":"b"}}`},
		{string(AppendRequest(nil, 7, "ping", nil)), `"id":7,"method":"ping"}`},
		{string(AppendRequest(nil, 7, "ping", &Params{}, Edit{Key: Name, Value: nil})), `"id":7,"method":"ping"}`},
		{string(AppendRequest(nil, 7, "ping", nil, Edit{Key: Cursor, Value: []byte(`0`)})), `"id":7,"method":"ping","params":{"cursor":0}}`},
		{string(AppendCall(nil, []byte("-7"), "m\"", raw)), `"id":-7,"method":"m\"","params":{"x":1}}`},
		{string(AppendCall(nil, []byte("1"), "m", nil)), `"id":1,"method":"m"}`},
		{string(AppendNotification(nil, "n", raw)), `"method":"n","params":{"x":1}}`},
		{string(AppendNotification(nil, "n", nil)), `"method":"n"}`},
		{string(AppendResult(nil, []byte(`"i"`), raw)), `"id":"i","result":{"x":1}}`},
		{string(AppendResult(nil, []byte(`1`), nil)), `"id":1,"result":{}}`},
		{string(AppendErrorObject(nil, nil, raw)), `"id":null,"error":{"x":1}}`},
		{string(AppendError(nil, []byte(`1`), -32603, "a\nb", nil)), `"id":1,"error":{"code":-32603,"message":"a\nb"}}`},
		{string(AppendError(nil, nil, 1, "", raw)), `"id":null,"error":{"code":1,"message":"","data":{"x":1}}}`},
	} {
		if want := `{"jsonrpc":"2.0",` + test.want; test.got != want {
			t.Errorf("%s, want %s", test.got, want)
		}
		if _, err := Split([]byte(test.got)); err != nil {
			t.Errorf("%s: %v", test.got, err)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "<&>\u2028", "a\"b\\c\n\r\t\x00\x1f\x7f", "é漢😀", "\xff\xc3a\xed\xa0\x80", "\uFFFD"} {
		f.Add(seed)
		for n := range 17 { // each place in a word
			f.Add(strings.Repeat("x", n) + seed + "0123456789")
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw := AppendString(nil, s)
		if bytes := AppendString([]byte{}, []byte(s)); string(bytes) != string(raw) {
			t.Fatalf("%q: %s as bytes, %s as a string", s, bytes, raw)
		}
		var got string
		if err := json.Unmarshal(raw, &got); err != nil || Valid(raw) != nil {
			t.Fatalf("%q: %s, %v", s, raw, err)
		}
		if want := strings.Join(strings.Split(string([]rune(s)), ""), ""); got != want || utf8.ValidString(s) && got != s {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
	})
}

func TestNegotiate(t *testing.T) {
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-11-25": "2025-11-25",
		"": "2025-11-25", "1999-01-01": "2025-11-25", ModernRevision: "2025-11-25"} {
		if got := Negotiate(asked); got != want {
			t.Errorf("Negotiate(%q): %q, want %q", asked, got, want)
		}
	}
	if !HasBatches("2025-03-26") || HasBatches("2025-06-18") {
		t.Error("batches belong to 2025-03-26 alone")
	}
}
