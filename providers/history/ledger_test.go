package history_test

import (
	"path/filepath"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers/history"
)

// What callers spend is added up by day, also by two programs at once; old days are forgotten.
func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spending.db")
	one, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	for _, s := range []struct {
		on          *history.Store
		day, caller string
		cost        float64
	}{{one, "2026-01-01", "ann", 1}, {one, "2026-11-25", "ann", 0.25}, {two, "2026-11-25", "ann", 0.5}, {two, "2026-11-25", "bob", 1}} {
		if err := s.on.Spend(t.Context(), s.day, s.caller, s.cost); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		day, caller string
		own, all    float64
	}{{"2026-11-25", "ann", 0.75, 1.75}, {"2026-11-25", "bob", 1, 1.75}, {"2026-11-25", "", 0, 1.75}, {"2026-11-24", "ann", 0, 0}, {"2026-01-01", "ann", 0, 0}} {
		if own, all, err := one.Spent(t.Context(), c.day, c.caller); err != nil || own != c.own || all != c.all {
			t.Errorf("%s %s: %g of %g, %v", c.day, c.caller, own, all, err)
		}
	}
}
