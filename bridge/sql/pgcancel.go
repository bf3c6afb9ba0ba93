package sql

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A canceler asks the server to end the statement of a connection whose context has ended. It
// implements pgx's ctxwatch.Handler. The driver's own asks once, which has no effect if the request
// overtakes the statement.
type canceler struct {
	conn *pgconn.PgConn
	stop context.CancelFunc
	done chan struct{} // closed after the last request
}

const (
	cancelEvery   = 50 * time.Millisecond
	cancelTimeout = 5 * time.Second // after which the connection is closed
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

// HandleUnwatchAfterCancel implements ctxwatch.Handler. By then the statement has ended.
func (c *canceler) HandleUnwatchAfterCancel() {
	c.stop()
	<-c.done
	_ = c.conn.Conn().SetDeadline(time.Time{})
}
