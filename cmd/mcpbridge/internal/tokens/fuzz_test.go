package tokens

import (
	"encoding/json"
	"testing"
)

// FuzzFile has any text as the file of tokens. One that is understood has only tokens that are whole, and
// stays the same when it is written again.
func FuzzFile(f *testing.F) {
	for _, text := range []string{
		"", " ", `{}`, `{"tokens":null}`, `{"tokens":[{}]}`, `{"tokens":[{"name":"ann","sha256":"00"}]}`,
		`{"tokens":[{"name":"ann","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","created":"2026-01-02T03:04:05Z","expires":"2026-02-02T03:04:05Z","profiles":["a"]}]}`,
		`{"tokens":[{"name":"local","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}]}`, `{"tokens":[]} {}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parse(text)
		if err != nil {
			return
		}
		for _, token := range all.Tokens {
			if checkName(token.Name) != nil || len(token.SHA256) != 64 {
				t.Fatalf("%s has %+v", text, token)
			}
		}
		again, err := json.Marshal(&all)
		if err != nil {
			t.Skip() // a year that JSON has not
		}
		if other, err := parse(again); err != nil || asJSON(t, other) != asJSON(t, all) {
			t.Fatalf("%s becomes %s: %v", text, again, err)
		}
	})
}

func asJSON(t *testing.T, c contents) string {
	t.Helper()
	text, err := json.Marshal(&c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
