package providers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Client sends requests to the endpoint of a provider. Its fields are set before the
// first request; after that it may be used from many goroutines.
type Client struct {
	// BaseURL is what stands before the API's own path, http or https. A trailing /v1 (or
	// whatever Version is) is taken off.
	BaseURL string
	Version string // the first segment of the API's paths, such as v1; "" when there is none

	Header   http.Header               // sent with each request, over what the provider sets
	Body     json.RawMessage           // members of each request's body, a JSON object; Settings.Body wins over them
	Auth     func(*http.Request) error // signs each attempt; nil: nothing
	HTTP     *http.Client              // nil: one that heeds the proxies of the environment and follows no redirect
	Retry    Retries                   // the zero value works
	Refuse   func(*APIError, []byte)   // reads the error that a body holds, and says whether it is worth another try; nil: any usual shape
	Patience time.Duration             // the longest silence of a response; 0: 5 min
	MaxEvent int                       // bytes of one event or line of a stream; 0: 64 MiB
	MaxBody  int64                     // bytes of a response that is not streamed; 0: 64 MiB

	// MaxStream is how many bytes a whole stream may have; 0: 512 MiB. A server that speaks
	// without end falls silent for nobody's Patience.
	MaxStream int
}

// Retries say when a request is sent again: when no connection came about, and for the
// answers that APIError.Again tells, before anything of a response has been read.
type Retries struct {
	Max   int           // tries after the first; 0: 2; negative: none
	First time.Duration // the wait before the first of them, doubled for each that follows, less up to a quarter; 0: 0.5 s
	Most  time.Duration // the longest wait that is made up here; 0: 8 s
	Hint  time.Duration // the longest wait that a provider may ask for; one that asks for more is not tried again; 0: 60 s
}

// defaultMax bounds events and bodies.
const defaultMax = 64 << 20

// A Response is a provider's answer with a status of 2xx, whose body is read as a stream
// or whole. It must be closed.
type Response struct {
	Header http.Header
	Done   bool // whether Events has ended at "[DONE]"
	body   io.ReadCloser
	client *Client
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// errSilent is why a response is given up.
var errSilent = errors.New("no byte came for too long")

// Post sends a body, of JSON, to a path of the API such as /v1/messages. header is the
// provider's own, over which Client.Header goes. It tries again as Retry says, telling
// emit. The error is an *APIError for what the provider refused.
func (c *Client) Post(ctx context.Context, path string, header http.Header, body []byte, emit func(Event)) (*Response, error) {
	emit = emitter(emit)
	for tries := 0; ; tries++ {
		r, err := c.send(ctx, http.MethodPost, path, header, body)
		if err == nil || ctx.Err() != nil {
			return r, err
		}
		wait, again := c.Retry.after(err, tries)
		if !again {
			return nil, err
		}
		emit(Event{Type: Retry, After: wait, Text: err.Error()})
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// URL is the address of a path of the API.
func (c *Client) URL(path string) (*url.URL, error) {
	base := strings.TrimRight(c.BaseURL, "/")
	if c.Version != "" {
		base = strings.TrimSuffix(base, "/"+c.Version)
	}
	u, err := url.Parse(base + path)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("base URL: expected http(s)://HOST…, such as http://127.0.0.1:11434") // without it: it can hold a secret
	}
	return u, nil
}

// send makes one attempt.
func (c *Client) send(ctx context.Context, method, path string, header http.Header, body []byte) (*Response, error) {
	u, err := c.URL(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, header)
	maps.Copy(req.Header, c.Header)
	if c.Auth != nil {
		if err := c.Auth(req); err != nil {
			cancel(nil)
			return nil, fmt.Errorf("authorization: %w", err)
		}
	}
	patience := cmp.Or(c.Patience, 5*time.Minute)
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	resp, err := c.http().Do(req)
	r := &Response{client: c, cancel: cancel, timer: timer}
	if err != nil {
		err = unreachable(ctx, u, err)
		r.end()
		return nil, err
	}
	timer.Reset(patience)
	r.Header, r.body = resp.Header, &patient{resp.Body, timer, patience, ctx}
	if resp.StatusCode/100 == 2 {
		return r, nil
	}
	defer r.Close()
	text, _ := io.ReadAll(io.LimitReader(r.body, 64<<10))
	return nil, c.refused(resp, hide(req, text))
}

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return &http.Client{
		Transport:     http.DefaultTransport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// unreachable is why there is no response. The error of net/http holds the whole URL.
func unreachable(ctx context.Context, u *url.URL, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errSilent) {
			return &APIError{Message: fmt.Sprintf("%s: %v", u.Host, cause), Again: true}
		}
		return cause
	}
	var whole *url.Error
	if errors.As(err, &whole) {
		err = whole.Err
	}
	var own *APIError
	if errors.As(err, &own) { // a transport that says itself what is wrong
		return own
	}
	var dial *net.OpError
	return &APIError{Message: fmt.Sprintf("cannot reach %s: %v", u.Host, err), Again: errors.As(err, &dial) || errors.Is(err, io.EOF), Cause: err}
}

// patient is a body that is given up after a silence.
type patient struct {
	io.ReadCloser
	timer    *time.Timer
	patience time.Duration
	ctx      context.Context
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if n > 0 {
		p.timer.Reset(p.patience)
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(p.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

// Whole reads a body that is not streamed.
func (r *Response) Whole() ([]byte, error) {
	most := cmp.Or(r.client.MaxBody, defaultMax)
	b, err := io.ReadAll(io.LimitReader(r.body, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("the response is longer than %d bytes", most)
	}
	return b, err
}

// Events reads a body of server-sent events, each through read with its type and its
// data, which is read's only until it returns. It ends at the end of the body, at
// "[DONE]", or with the error of read.
func (r *Response) Events(read func(kind string, data []byte) error) error {
	events := wire.NewEventReader(r.stream(), cmp.Or(r.client.MaxEvent, defaultMax))
	for {
		ev, err := events.Next()
		if err != nil {
			return atEnd(err)
		}
		if ev.Data == nil {
			continue
		}
		data := ev.Data.B
		if r.Done = string(bytes.TrimSpace(data)) == "[DONE]"; r.Done {
			ev.Data.Free()
			return nil
		}
		err = read(ev.Type, data)
		ev.Data.Free()
		if err != nil {
			return err
		}
	}
}

// Lines reads a body of JSON lines, each through read, whose data is read's only until it
// returns.
func (r *Response) Lines(read func(data []byte) error) error {
	lines := wire.NewLineReader(r.stream(), cmp.Or(r.client.MaxEvent, defaultMax))
	for {
		line, err := lines.Read()
		if err != nil {
			return atEnd(err)
		}
		if len(bytes.TrimSpace(line.B)) > 0 {
			err = read(line.B)
		}
		line.Free()
		if err != nil {
			return err
		}
	}
}

// stream is the body up to the limit of a stream.
func (r *Response) stream() io.Reader {
	most := cmp.Or(r.client.MaxStream, 512<<20)
	return &bounded{r.body, most, most}
}

// A bounded reader fails behind its limit.
type bounded struct {
	io.Reader
	limit, left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, &wire.TooLongError{Limit: b.limit, Size: b.limit - b.left}
	}
	return n, err
}

// atEnd is the error of a stream; nil at its end.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Close ends the response, read to its end or not.
func (r *Response) Close() error {
	r.end()
	return r.body.Close()
}

func (r *Response) end() {
	r.timer.Stop()
	r.cancel(nil)
}
