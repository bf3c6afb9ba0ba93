package sql

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A canceler has the server end the statement of a connection whose context has ended.
// It implements pgx's ctxwatch.Handler. The driver's own asks once, and what the server
// is asked before the statement reaches it has no effect.
type canceler struct {
	conn *pgconn.PgConn
	stop context.CancelFunc
	done chan struct{} // closed when nothing is asked any more
}

const (
	cancelEvery   = 50 * time.Millisecond
	cancelTimeout = 5 * time.Second // then the connection is given up
)

// HandleCancel implements ctxwatch.Handler.
func (c *canceler) HandleCancel(context.Context) {
	ctx, stop := context.WithTimeout(context.Background(), cancelTimeout)
	c.stop, c.done = stop, make(chan struct{})
	_ = c.conn.Conn().SetDeadline(time.Now().Add(cancelTimeout))
	go func() {
		defer close(c.done)
		again := time.NewTicker(cancelEvery)
		defer again.Stop()
		for ctx.Err() == nil {
			_ = c.conn.CancelRequest(ctx)
			select {
			case <-ctx.Done():
			case <-again.C:
			}
		}
	}()
}

// HandleUnwatchAfterCancel implements ctxwatch.Handler. The statement has ended.
func (c *canceler) HandleUnwatchAfterCancel() {
	c.stop()
	<-c.done
	_ = c.conn.Conn().SetDeadline(time.Time{})
}
