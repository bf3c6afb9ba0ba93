package place

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A call for which no connection can be made has surely not run. One whose connection breaks may have.
func TestRelayNotRun(t *testing.T) {
	refused := errors.New("refused")
	serve := func(own Way) (answer *httptest.ResponseRecorder, broken any) {
		answer = httptest.NewRecorder()
		defer func() { broken = recover() }()
		newRelay(t.Context(), own).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("{}")))
		return answer, nil
	}
	for name, own := range map[string]Way{
		"not lent": func() (func(context.Context) (net.Conn, error), <-chan struct{}, error) { return nil, nil, refused },
		"ended": func() (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
			return func(context.Context) (net.Conn, error) { return nil, &net.OpError{Op: "dial", Err: refused} }, nil, nil
		},
	} {
		if answer, broken := serve(own); broken != nil || answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), `"notRun":true`) {
			t.Errorf("%s: %v, HTTP %d %s", name, broken, answer.Code, answer.Body)
		}
	}
	_, broken := serve(func() (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
		return func(context.Context) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				http.ReadRequest(bufio.NewReader(far))
				far.Close()
			}()
			return near, nil
		}, nil, nil
	})
	if broken != http.ErrAbortHandler {
		t.Errorf("a connection that breaks: %v", broken)
	}
}
