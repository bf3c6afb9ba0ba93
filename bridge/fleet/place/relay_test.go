package place

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
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

// A request that is sent whole is not read again for its end: net/http may have closed its body by then, and the answer
// would be cut off.
func TestRelayAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	defer server.Close()
	r := newRelay(t.Context(), func() (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
		return func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}, nil, nil
	})
	got, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/mcp", nil)
	req.Body, req.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("{}"), iotest.ErrReader(errors.New("closed")))), 2
	if r.ServeHTTP(got, req); got.Body.String() != "{}" {
		t.Errorf("HTTP %d %q", got.Code, got.Body)
	}
}
