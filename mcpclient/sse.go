package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// sse is the carrier for the HTTP+SSE transport of revision 2024-11-05: the server's messages come
// on one stream, whose first event names the URL to which the client's messages are posted.
type sse struct {
	cfg    *Config
	client *http.Client
	header http.Header
	post   string // the URL to post to
	end    context.CancelFunc
	work   sync.WaitGroup
}

func dialSSE(ctx context.Context, cfg *Config, r receiver) (carrier, error) {
	s := &sse{cfg: cfg, client: newHTTPClient(cfg.http), header: cfg.header()}
	var life context.Context
	life, s.end = context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, s.end) // ctx bounds dialing, not the stream
	defer stop()
	resp, events, err := s.open(life)
	if err != nil {
		s.end()
		return nil, err
	}
	s.work.Go(func() {
		defer resp.Body.Close()
		r.lose(s.receive(events, r))
	})
	return s, nil
}

// open opens the stream and reads its first event.
func (s *sse) open(ctx context.Context) (*http.Response, *wire.EventReader, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.URL, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header = s.header.Clone()
	req.Header.Set("Accept", "text/event-stream")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, nil, unreachable(s.cfg.URL, err)
	}
	if notStream(resp) != nil {
		return nil, nil, &statusError{code: resp.StatusCode, text: "a GET for the legacy SSE transport"}
	}
	events := wire.NewEventReader(resp.Body, s.cfg.MessageBytes)
	e, err := events.Next()
	if err == nil && (e.Type != "endpoint" || e.Data == nil) {
		err = fmt.Errorf("the first event of the SSE stream is %q, not its endpoint", e.Type)
	}
	if err == nil {
		s.post, err = s.endpoint(string(e.Data.B))
	}
	if err != nil {
		resp.Body.Close()
		return nil, nil, err
	}
	e.Data.Free()
	return resp, events, nil
}

// endpoint resolves the URL to post to. It must be on the same host, or the configured headers
// would go elsewhere.
func (s *sse) endpoint(ref string) (string, error) {
	base, err := url.Parse(s.cfg.URL)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(ref)
	if err != nil {
		return "", fmt.Errorf("the endpoint of the SSE stream is not a URL: %w", err)
	}
	if u.Scheme != base.Scheme || u.Host != base.Host {
		return "", fmt.Errorf("the endpoint of the SSE stream is on another host: %s", u.Host)
	}
	return u.String(), nil
}

// receive passes on the messages of the stream. The error says why it ended.
func (s *sse) receive(events *wire.EventReader, r receiver) error {
	for {
		e, err := events.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errors.New("the server closed the SSE stream")
			}
			return fmt.Errorf("the SSE stream ended: %w", err)
		}
		if e.Data == nil || len(e.Data.B) == 0 || e.Type != "" && e.Type != "message" {
			e.Data.Free()
			continue
		}
		r.receive(e.Data, nil)
	}
}

func (s *sse) send(ctx context.Context, msg *wire.Buffer, k *call) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.post, nil)
	if err != nil {
		msg.Free()
		return err
	}
	req.Header = s.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	setBody(req, msg)
	k.setSent()
	resp, err := s.client.Do(req)
	if err != nil {
		return unreachable(s.post, err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &statusError{code: resp.StatusCode, text: snippet(text)}
	}
	return nil
}

func (s *sse) established(string) {}

func (s *sse) close() {
	s.end()
	s.work.Wait()
}
