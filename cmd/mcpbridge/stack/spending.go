package stack

import (
	"context"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/providers/history"
)

// spending is the ledger of all programs of a user, a file that is open only while it is used: once or twice
// in a turn.
type spending struct{}

func (spending) Spend(ctx context.Context, day, caller string, cost float64) error {
	return withSpending(ctx, func(s *history.Store) error { return s.Spend(ctx, day, caller, cost) })
}

func (spending) Spent(ctx context.Context, day, caller string) (own, all float64, err error) {
	err = withSpending(ctx, func(s *history.Store) (err error) {
		own, all, err = s.Spent(ctx, day, caller)
		return err
	})
	return own, all, err
}

func withSpending(ctx context.Context, use func(*history.Store) error) error {
	path, err := file.State("spending.db")
	if err != nil {
		return err
	}
	s, err := history.Open(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s)
}
