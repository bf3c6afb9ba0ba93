package replay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/mcpbridge/mcpbridge/providers"
)

// Provider returns a provider that newProvider makes over a client. The client plays the
// script from its beginning: each request, whatever its URL, gets the next response. A
// request after the last one, or one that fails a check, fails with a *providers.APIError
// that names the file and the line. The provider may be used from many goroutines; their
// requests are answered in the order in which they arrive.
func (s *Script) Provider(newProvider func(*http.Client) providers.Provider) (providers.Provider, error) {
	t := &transport{script: s}
	p := newProvider(&http.Client{Transport: t})
	if p.Format() != s.format {
		return nil, fmt.Errorf("replay: %s: fmt %q: provider %s speaks %s", s.exchanges[0].at, s.exchanges[0].Format, p.Name(), p.Format())
	}
	t.place, _ = p.(resultPlace)
	for i := range s.exchanges {
		if e := &s.exchanges[i]; e.Check && t.place == nil {
			return nil, fmt.Errorf("replay: %s: check: provider %s has no ResultPlace", e.at, p.Name())
		}
	}
	return p, nil
}

// A transport answers the requests of one provider.
type transport struct {
	script *Script
	place  resultPlace // nil when nothing is checked

	mu   sync.Mutex // guards next
	next int
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.script.exchanges
	if t.next == len(all) {
		return nil, refuse(&all[len(all)-1], fmt.Sprintf("the script has ended: it has %d exchanges, and this is one request more", len(all)))
	}
	e := &all[t.next]
	if e.Check {
		if err := check(t.place, e.Req, body); err != nil {
			return nil, refuse(e, err.Error())
		}
	}
	t.next++
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)),
		StatusCode:    e.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {e.contentType()}},
		Body:          io.NopCloser(bytes.NewReader(e.Resp)),
		ContentLength: int64(len(e.Resp)),
		Request:       r,
	}, nil
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

func refuse(e *exchange, why string) error {
	return &providers.APIError{Message: "replay: " + e.at + ": " + why}
}
