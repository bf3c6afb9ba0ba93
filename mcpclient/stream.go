package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// stream takes the events of one answer until the response of its call has come. A
// stream that ends before is resumed where it ended, if its events had ids.
func (s *streamable) stream(ctx context.Context, resp *http.Response, k *call) error {
	last, retry := "", time.Second
	for tries := 0; ; tries++ {
		err := s.events(resp.Body, k, &last, &retry)
		resp.Body.Close()
		if len(k.reply) > 0 {
			return nil
		}
		if last == "" || tries >= 5 {
			return fmt.Errorf("the stream ended before the response: %w", err)
		}
		if !sleep(ctx, retry) {
			return ctx.Err()
		}
		if resp, err = s.get(ctx, last); err != nil {
			return err
		}
	}
}

// soonest is when a stream that ended is opened again at the earliest, whatever the server
// wishes: one that ends it at once would be asked in a circle.
const soonest = 100 * time.Millisecond

// events hands the messages of a stream over. It notes the last event id and the
// server's wish when to come back.
func (s *streamable) events(r io.Reader, k *call, last *string, retry *time.Duration) error {
	events := wire.NewEventReader(r, s.cfg.MessageBytes)
	for {
		e, err := events.Next()
		if err != nil {
			return err
		}
		if e.HasID {
			*last = e.ID
		}
		if e.Retry >= 0 {
			*retry = min(max(e.Retry, soonest), time.Minute)
		}
		if e.Data == nil || len(e.Data.B) == 0 {
			e.Data.Free()
			continue
		}
		s.to.receive(e.Data, k)
		if k != nil && len(k.reply) > 0 {
			return nil
		}
	}
}

// get opens a stream for what the server sends by itself, or the rest of one that
// ended after the event last.
func (s *streamable) get(ctx context.Context, last string) (*http.Response, error) {
	req, err := s.request(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	req.Header = req.Header.Clone()
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set(mcp.HeaderLastEventID, last)
	}
	resp, err := s.roundTrip(req)
	if err != nil {
		return nil, unreachable(s.cfg.URL, err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		resp.Body.Close()
		return nil, &statusError{code: resp.StatusCode}
	}
	return resp, nil
}

// listen keeps the GET stream open while the server offers one.
func (s *streamable) listen() {
	last, retry := "", time.Second
	for {
		resp, err := s.get(s.life, last)
		var refused *statusError
		switch {
		case errors.As(err, &refused) && refused.code == http.StatusNotFound && s.header.Load().Get(mcp.HeaderSessionID) != "":
			s.to.lose(fmt.Errorf("%w (HTTP 404)", errSessionGone))
			return
		case errors.As(err, &refused) && refused.code < 500:
			return // the server has no such stream
		case err == nil:
			retry = time.Second
			s.events(resp.Body, nil, &last, &retry)
			resp.Body.Close()
		default:
			retry = min(2*retry, 30*time.Second)
		}
		if !sleep(s.life, retry) {
			return
		}
	}
}

// sleep waits; it reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
