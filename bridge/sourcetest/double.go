package sourcetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Seen is what a Double saw of a request.
type Seen struct {
	Method, URI, Host, Body string
	Header                  http.Header
}

// A Double is an HTTP API that keeps what it is sent, and answers what it is told to.
type Double struct {
	*httptest.Server

	mu       sync.Mutex // guards what follows
	answer   http.HandlerFunc
	requests []Seen
}

// NewDouble starts a Double, which ends with the test. With a nil answer that is
// {"data":{}}.
func NewDouble(t testing.TB, answer http.HandlerFunc) *Double {
	if answer == nil {
		answer = Answer(http.StatusOK, "application/json", `{"data":{}}`)
	}
	d := &Double{answer: answer}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		d.mu.Lock()
		d.requests = append(d.requests, Seen{r.Method, r.RequestURI, r.Host, string(body), r.Header.Clone()})
		answer := d.answer
		d.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// Answer answers with a status, a type and a body.
func Answer(status int, contentType, body string) http.HandlerFunc {
	raw := []byte(body)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		w.WriteHeader(status)
		_, _ = w.Write(raw) // who is gone does not read it
	}
}

// Tell says how to answer from now on.
func (d *Double) Tell(answer http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = answer
}

// Requests are those that have come since they were asked for the last time.
func (d *Double) Requests() []Seen {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.requests
	d.requests = nil
	return all
}

// Last is the last of Requests, of which there must be one.
func (d *Double) Last(t testing.TB) Seen {
	t.Helper()
	all := d.Requests()
	if len(all) == 0 {
		t.Fatal("no request came")
	}
	return all[len(all)-1]
}
