package sourcetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A Request is an HTTP request that an API has received.
type Request struct {
	Method, URI, Host, Body string
	Header                  http.Header
}

// An API is an HTTP server that records its requests and answers as a test says.
type API struct {
	*httptest.Server

	mu       sync.Mutex // guards what follows
	answer   http.HandlerFunc
	requests []Request
}

// NewAPI starts an API, which is closed when the test ends. A nil answer stands for {"data":{}}.
func NewAPI(t testing.TB, answer http.HandlerFunc) *API {
	if answer == nil {
		answer = Answer(http.StatusOK, "application/json", `{"data":{}}`)
	}
	a := &API{answer: answer}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		a.mu.Lock()
		a.requests = append(a.requests, Request{r.Method, r.RequestURI, r.Host, string(body), r.Header.Clone()})
		answer := a.answer
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// Answer returns a handler that sends a status, a Content-Type and a body.
func Answer(status int, contentType, body string) http.HandlerFunc {
	raw := []byte(body)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		w.WriteHeader(status)
		_, _ = w.Write(raw) // fails when the client has gone
	}
}

// Respond sets the answer to all further requests.
func (a *API) Respond(answer http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// Requests returns the requests since it was called last.
func (a *API) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.requests
	a.requests = nil
	return all
}

// Last returns the last of Requests and fails the test if there are none.
func (a *API) Last(t testing.TB) Request {
	t.Helper()
	all := a.Requests()
	if len(all) == 0 {
		t.Fatal("no request came")
	}
	return all[len(all)-1]
}
