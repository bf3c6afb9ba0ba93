package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// receiveStream takes the events of a response until its call has a reply. A stream that ends
// before that is resumed if its events had ids.
func (s *streamable) receiveStream(ctx context.Context, resp *http.Response, k *call) error {
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

// minRetry bounds how soon a stream that ended is opened again, whatever the server wishes.
const minRetry = 100 * time.Millisecond

// events passes on the messages of a stream. It sets last to the id of the latest event, and
// retry to the delay that the server wishes before the stream is opened again.
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
			*retry = min(max(e.Retry, minRetry), time.Minute)
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

// get opens a stream for messages that belong to no request, or the rest of a stream that ended
// after the event last.
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
	return resp, notStream(resp)
}

// listen keeps the GET stream open while the server offers one.
func (s *streamable) listen() {
	last, retry := "", time.Second
	for {
		resp, err := s.get(s.life, last)
		var refused *statusError
		switch {
		case errors.As(err, &refused) && refused.code == http.StatusNotFound && s.sessionID() != "":
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

// sleep waits for d; false means that ctx ended before that.
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
