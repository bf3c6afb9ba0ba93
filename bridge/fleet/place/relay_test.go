package place

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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

// An answer is passed on as it comes, also before the request has been sent whole.
func TestRelayAnswersEarly(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		io.WriteString(w, "early")
	}))
	defer server.Close()
	front := httptest.NewServer(newRelay(t.Context(), func() (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
		return func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}, nil, nil
	}))
	defer front.Close()
	client, err := net.Dial("tcp", front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fmt.Fprint(client, "POST /mcp HTTP/1.1\r\nHost: lent\r\nContent-Length: 2\r\n\r\n{")
	client.SetReadDeadline(time.Now().Add(time.Minute))
	resp, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "early" {
		t.Errorf("%q, %v", got, err)
	}
}
