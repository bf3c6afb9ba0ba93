package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// defaultTimeout is the time for a ping of an API without a timeout, the same as for a call.
const defaultTimeout = 30 * time.Second

// Ping connects to the database and reads from it, within the API's timeout.
func (b *backend) Ping(ctx context.Context) error {
	timeout := cmp.Or(time.Duration(b.api.Timeout), defaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	probe := "SELECT 1"
	if b.dialect == sqliteDialect { // it opens the file only for a table
		probe = "SELECT 1 FROM sqlite_schema LIMIT 1"
	}
	st, err := parse(b.dialect, probe)
	if err == nil {
		err = b.engine.run(ctx, query{statement: st, text: st.plain}, newOutput(limits{rows: 1, bytes: defaultBytes}))
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v (timeout of the API)", timeout)
	}
	return errors.New(b.secrets.Hide(err.Error()))
}
