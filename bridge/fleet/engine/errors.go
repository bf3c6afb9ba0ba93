package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The errors of operations of an Engine or a Bucket, for errors.Is. Any other error says what is wrong with the
// arguments or with the configuration.
var (
	// ErrUnavailable says that NATS is away or has no quorum. A write that fails with it may have been made.
	ErrUnavailable = errors.New("the cluster's NATS is not available; try again later")

	ErrNotFound = errors.New("no such key")
	ErrExists   = errors.New("the key exists already")
	ErrConflict = errors.New("the key has another revision")
	ErrTooLarge = fmt.Errorf("more than %d bytes", MaxSize)
)

// MaxSize is the most bytes that a value of a Bucket or an event may have.
const MaxSize = 512 << 10

// failure returns err as an error of this package about what was to be done. ctx is the caller's.
func failure(ctx context.Context, what string, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s: %w", what, context.Canceled)
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrExists), errors.Is(err, ErrConflict), errors.Is(err, ErrTooLarge), errors.Is(err, ErrUnavailable),
		errors.As(err, &api) && api.Code < 500 && !errors.Is(err, jetstream.ErrStreamNotFound),
		errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject), errors.Is(err, jetstream.ErrInvalidStreamName):
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w (%w)", what, ErrUnavailable, err)
}

// isConflict reports whether a server refused a write as another came first. A server in a cluster has
// a second code for it.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
