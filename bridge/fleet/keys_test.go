package fleet_test

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
)

const secret, other = fleettest.Secret, "another secret of thirty-two bytes too"

// newNode returns a node on the NATS of a URL.
func newNode(t testing.TB, nats string, keys *fleet.Keys, name, address string) *fleet.Node {
	e := fleettest.Engine(t, nats, name)
	e.Announce(engine.Node{Address: address})
	n := fleet.New(fleet.Options{Keys: keys, Engine: e, Name: name})
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
		if _, err := fleet.NewKeys("test", c.secrets); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %s", c.secrets, err, c.says)
		}
	}
}

// Nodes open what each other has sealed, while a secret is replaced too; others do not.
func TestSeal(t *testing.T) {
	nats := fleettest.NATS(t)
	before := newNode(t, nats, fleettest.Keys(t), "a", "")
	sealed, run := before.Seal("session", []byte("data")), before.Addr().String()
	before.Close()
	again := newNode(t, nats, fleettest.Keys(t), "a", "")
	b := newNode(t, nats, fleettest.Keys(t, other, secret), "b", "")
	foreign := newNode(t, nats, fleettest.Keys(t, other), "c", "")
	named, err := fleet.NewKeys("another", []string{secret})
	if err != nil {
		t.Fatal(err)
	}
	another := newNode(t, nats, named, "d", "")
	for _, c := range []struct {
		by      *fleet.Node
		purpose string
		text    string
		run     string
		ok      bool
	}{
		{before, "session", sealed, "", true},
		{b, "session", sealed, run, true},
		{again, "session", sealed, run, true},
		{foreign, "session", sealed, "", false},
		{another, "session", sealed, "", false},
		{b, "task", sealed, "", false},
		{b, "session", sealed[:len(sealed)-4], "", false},
		{b, "session", strings.ToUpper(sealed), "", false},
		{b, "session", "", "", false},
		{b, "session", "é", "", false},
		{foreign, "session", b.Seal("session", []byte("data")), b.Addr().String(), true},
	} {
		data, run, ok := c.by.Open(c.purpose, c.text)
		if ok != c.ok || run != c.run || ok && string(data) != "data" {
			t.Errorf("%q for %s: %q of %q, %t; want %q, %t", c.text, c.purpose, data, run, ok, c.run, c.ok)
		}
	}
}
