package history

import (
	"context"
	"database/sql"

	"github.com/mcpbridge/mcpbridge/providers"
)

var _ providers.Ledger = (*Store)(nil)

// Spend implements providers.Ledger. Only the days of the last months are kept.
func (s *Store) Spend(ctx context.Context, day, caller string, cost float64) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM spent WHERE day < date(?, '-92 days')", day); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO spent (day, caller, cost) VALUES (?, ?, ?) ON CONFLICT (day, caller) DO UPDATE SET cost = cost + excluded.cost", day, caller, cost)
		return err
	})
}

// Spent implements providers.Ledger.
func (s *Store) Spent(ctx context.Context, day, caller string) (own, all float64, err error) {
	row := s.db.QueryRowContext(ctx, "SELECT coalesce(sum(cost) FILTER (WHERE caller = ?), 0.0), coalesce(sum(cost), 0.0) FROM spent WHERE day = ?", caller, day)
	err = row.Scan(&own, &all)
	return own, all, s.named(err)
}
