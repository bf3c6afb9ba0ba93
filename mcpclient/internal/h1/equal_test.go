package h1_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient/internal/h1"
)

// outcome is what a client makes of a response.
type outcome struct {
	status  int
	length  int64
	headers [3]string
	body    string
	failed  bool
}

func outcomeOf(resp *http.Response, err error) outcome {
	if err != nil {
		return outcome{failed: true}
	}
	defer resp.Body.Close()
	o := outcome{status: resp.StatusCode, length: resp.ContentLength}
	for i, name := range []string{"Content-Type", "Mcp-Session-Id", "Www-Authenticate"} {
		o.headers[i] = resp.Header.Get(name)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return o // what follows is not HTTP, and net/http gives out the connection
	}
	body, err := io.ReadAll(resp.Body)
	o.body, o.failed = string(body), err != nil
	return o
}

// answering returns a Dial whose connections answer with the bytes of *response and close.
func answering(response *[]byte) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if req, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
				io.Copy(io.Discard, req.Body)
				server.Write(*response)
			}
		}()
		return client, nil
	}
}

// FuzzEqual compares this package with net/http over two responses, of which the first may have
// left its shape.
func FuzzEqual(f *testing.F) {
	date := "Date: Sun, 22 Nov 2026 22:00:00 GMT\r\n"
	plain := "HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	for _, second := range []string{
		plain,
		"HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 23:59:59 GMT\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n{}{}",
		"HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/json\r\nContent-Length: 0\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/json\r\nContent-Length: 002\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/json\r\nContent-Length: \r\n\r\n{}",
		"HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/json\r\nContent-Length: -2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/json\r\nContent-Length: 9223372036854775808\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nDate: \r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nDate: a:b\r\n c\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\ncontent-length: 2\nmcp-session-id: 1\n\n{}\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n2;x=y\r\n{}\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nLink: y\r\n\r\n" + plain,
		"HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\n{}" + plain,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
		"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 304 Not Modified\r\n\r\n",
		"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"x\"\r\nContent-Length: 2\r\n\r\nno",
		"HTTP/1.1 099 x\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
		"HTTP/1.1 200 OK\r\nContent-Type : a\r\n\r\n", "HTTP/1.1 200 OK\r\n Content-Type: a\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
		"HTTP/1.1 200\r\n\r\n", "HTTP/1.1 2000 x\r\n\r\n", "HTTP/1.1 -20 x\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX: \x00\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\r\n\r\n", "",
	} {
		f.Add([]byte(plain), []byte(second))
		f.Add([]byte(second), []byte(second))
		f.Add([]byte(second), []byte(plain))
	}
	u := &url.URL{Scheme: "http", Host: "up", Path: "/mcp"}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var response []byte
		theirs := &http.Transport{DialContext: answering(&response), DisableKeepAlives: true, DisableCompression: true}
		pool := &h1.Pool{Dial: answering(&response), IdleTime: time.Minute}
		defer pool.Close()
		route := pool.Route(u, http.Header{})
		for _, response = range [][]byte{first, second} {
			req, err := http.NewRequest(http.MethodGet, u.String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := outcomeOf(theirs.RoundTrip(req))
			got := outcomeOf(route.Send(t.Context(), http.MethodPost, nil, &wire.Buffer{B: []byte("{}")}))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q:\n got %+v\nwant %+v", response, got, want)
			}
		}
	})
}
