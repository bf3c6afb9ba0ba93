package main

import (
	"context"
	"io"
)

// readInput is read of in, until ctx is done: a terminal or a pipe may never end, and a read of it cannot be given up.
func readInput(ctx context.Context, in io.Reader, read func(io.Reader) ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read(in)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done(): // the program ends
		return nil, context.Cause(ctx)
	}
}
