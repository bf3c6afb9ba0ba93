package mcpclient

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/mcpclient/internal/h1"
)

// roundTrip sends a request by http.Transport, which closes the connection of a response that is not
// read to its end. That of an event stream comes after the last event: it is awaited in the
// background, as an h1.Pool does it.
func (cfg *Config) roundTrip(req *http.Request) (*http.Response, error) {
	asked := req.Context()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(asked))
	stop := context.AfterFunc(asked, func() { cancel(context.Cause(asked)) })
	resp, err := outbound.NoSwitch(cfg.http).RoundTrip(req.WithContext(ctx))
	if err != nil {
		stop()
		cancel(nil)
		return nil, err
	}
	resp.Body = &lateBody{ReadCloser: resp.Body, cfg: cfg, stop: stop, cancel: cancel, ended: resp.ProtoMajor != 1}
	return resp, nil
}

// lateBody is the body of a response. Its context outlives that of the request when it is closed.
type lateBody struct {
	io.ReadCloser
	cfg    *Config
	stop   func() bool // ends the watch over the context of the request; false means that it has ended
	cancel context.CancelCauseFunc
	ended  bool // the connection does not need the rest
	closed bool
}

func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

func (b *lateBody) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	if !b.stop() || b.ended || !b.cfg.plain.Later(b.drain) {
		defer b.cancel(nil)
		return b.ReadCloser.Close()
	}
	return nil
}

// drain reads the rest of the body.
func (b *lateBody) drain() {
	late := time.AfterFunc(h1.LateTime, func() { b.cancel(nil) })
	io.CopyN(io.Discard, b.ReadCloser, h1.LateBytes)
	late.Stop()
	b.ReadCloser.Close()
	b.cancel(nil)
}
