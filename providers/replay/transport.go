package replay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcpbridge/mcpbridge/providers"
)

// Transport is a new run of the script: each request, wherever it goes, gets the next
// response. One beyond the end, or one that a check does not pass, fails with a
// *providers.APIError that names the file and the line. It may be used from many
// goroutines; their requests are answered in the order in which they come.
func (s *Script) Transport() http.RoundTripper { return &transport{script: s} }

type transport struct {
	script *Script
	mu     sync.Mutex // guards next
	next   int
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
		return nil, refuse(&all[len(all)-1], "the script has ended: it has "+strconv.Itoa(len(all))+" exchanges, and this is one request more")
	}
	e := &all[t.next]
	if e.Check {
		if err := check(t.script.format, e.Req, body); err != nil {
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
		Header:        http.Header{"Content-Type": {t.script.contentType(e)}},
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
