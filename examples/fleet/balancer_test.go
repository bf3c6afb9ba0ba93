package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// A request goes to the next node if one is not reached, and its answer is passed on whole, also if that comes before
// the request's end has been looked for.
func TestBalancer(t *testing.T) {
	answer := strings.Repeat("answer ", 2000)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil || string(sent) != "{}" {
			t.Errorf("the node got %q, %v", sent, err)
		}
		io.WriteString(w, answer)
	}))
	defer node.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	front := newBalancer([]string{node.Listener.Addr().String(), gone.Listener.Addr().String()})
	for range 4 {
		got := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("{}"), iotest.ErrReader(errors.New("closed")))), 2
		front.ServeHTTP(got, r)
		if got.Code != http.StatusOK || got.Body.String() != answer {
			t.Errorf("HTTP %d, %d bytes of %d", got.Code, got.Body.Len(), len(answer))
		}
	}
}
