package fleet_test

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
)

const secret, other = "a secret of thirty-two bytes at least", "another secret of thirty-two bytes too"

func newKeys(t testing.TB, secrets ...string) *fleet.Keys {
	t.Helper()
	k, err := fleet.NewKeys(secrets)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newNode(t testing.TB, opts fleet.Options) *fleet.Node {
	n := fleet.New(opts)
	t.Cleanup(func() { n.Close() })
	return n
}

func TestKeysRefused(t *testing.T) {
	for _, c := range []struct {
		secrets []string
		says    string
	}{
		{nil, "no secret"},
		{[]string{secret, "short"}, "secret 2 has 5 bytes"},
	} {
		if _, err := fleet.NewKeys(c.secrets); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %s", c.secrets, err, c.says)
		}
	}
}

// Nodes open what each other has sealed, while a secret is replaced too; others do not.
func TestSeal(t *testing.T) {
	a := newNode(t, fleet.Options{Keys: newKeys(t, secret), Name: "a", Epoch: 3})
	b := newNode(t, fleet.Options{Keys: newKeys(t, other, secret), Name: "b", Epoch: 1})
	again := newNode(t, fleet.Options{Keys: newKeys(t, secret), Name: "a", Epoch: 4})
	foreign := newNode(t, fleet.Options{Keys: newKeys(t, other), Name: "a", Epoch: 3})
	sealed := a.Seal("session", []byte("data"))
	for _, c := range []struct {
		by      *fleet.Node
		purpose string
		text    string
		run     string
		ok      bool
	}{
		{a, "session", sealed, "", true},
		{b, "session", sealed, "a.3", true},
		{again, "session", sealed, "a.3", true},
		{foreign, "session", sealed, "", false},
		{b, "task", sealed, "", false},
		{b, "session", sealed[:len(sealed)-4], "", false},
		{b, "session", strings.ToUpper(sealed), "", false},
		{b, "session", "", "", false},
		{b, "session", "é", "", false},
		{foreign, "session", b.Seal("session", []byte("data")), "b.1", true},
	} {
		data, run, ok := c.by.Open(c.purpose, c.text)
		if ok != c.ok || run != c.run || ok && string(data) != "data" {
			t.Errorf("%q for %s: %q of %q, %t; want %q, %t", c.text, c.purpose, data, run, ok, c.run, c.ok)
		}
	}
}

func FuzzOpen(f *testing.F) {
	n := newNode(f, fleet.Options{Keys: newKeys(f, secret), Name: "a", Epoch: 3})
	f.Add(n.Seal("session", nil))
	f.Fuzz(func(t *testing.T, text string) {
		if data, run, ok := n.Open("session", text); ok && (run != "" || len(data) > 0) {
			t.Errorf("%q is sealed", text)
		}
	})
}
