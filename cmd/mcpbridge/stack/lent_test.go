package stack

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// The calls of a lent server leave streams of its link to the clients, unless its entry has another bound.
func TestConcurrency(t *testing.T) {
	for want, server := range map[int]config.Server{
		0:         {},
		7:         {Concurrency: 7, Lender: "alice"},
		lentCalls: {Lender: "alice"},
	} {
		if got := concurrency(&server); got != want {
			t.Errorf("%+v: %d; want %d", server, got, want)
		}
	}
}
