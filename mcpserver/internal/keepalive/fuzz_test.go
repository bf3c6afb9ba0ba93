package keepalive_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// say is a handler that tells what it makes of a request.
func say(w http.ResponseWriter, r *http.Request) {
	h := r.Header.Clone()
	h.Del("Content-Length")
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s %s %q %d\n", r.Method, r.URL, r.Proto, r.RequestURI, r.Host, r.ContentLength)
	h.Write(&text)
	w.Header().Set("Content-Type", "text/plain")
	do := r.Header.Get("Do")
	if do != "unread" {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(&text, "%q %v\n", b, err)
	}
	switch do {
	case "nothing":
	case "refuse":
		w.WriteHeader(http.StatusForbidden)
		w.Write([]byte(text.String()))
	case "close":
		w.Header().Set("Connection", "close")
		w.Write([]byte(text.String()))
	case "large":
		w.Write(bytes.Repeat([]byte("x"), 5000))
		w.Write([]byte(text.String()))
	case "length":
		w.Header().Set("Content-Length", fmt.Sprint(5000+text.Len()))
		w.Write(bytes.Repeat([]byte("x"), 5000))
		w.Write([]byte(text.String()))
	case "flush":
		http.NewResponseController(w).Flush()
		w.Write([]byte(text.String()))
		http.NewResponseController(w).Flush()
	case "panic":
		panic(http.ErrAbortHandler)
	default:
		w.Write([]byte(text.String()))
	}
}

// answers sends bytes to a server and returns what comes back until it closes.
func answers(t *testing.T, addr string, sent []byte) (all []string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	c.Write(sent)
	c.(*net.TCPConn).CloseWrite()
	for in := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			if bytes.Contains([]byte(err.Error()), []byte("timeout")) {
				t.Errorf("%q is not answered", sent)
			}
			return all
		}
		resp.Header.Del("Date")
		b, err := io.ReadAll(resp.Body)
		switch {
		case errors.Is(err, syscall.ECONNRESET) && resp.StatusCode == http.StatusBadRequest && resp.ContentLength < 0:
			err = nil // net/http closes what it cannot read, and the rest of it resets the connection, now or later
		case errors.Is(err, syscall.ECONNRESET):
			err = syscall.ECONNRESET // without the ports
		}
		var header strings.Builder
		resp.Header.Write(&header)
		all = append(all, fmt.Sprintf("%s %d %v\n%s%s %v", resp.Status, resp.ContentLength, resp.TransferEncoding, &header, b, err))
	}
}

// FuzzEqual compares this package with net/http over whatever a client may send.
func FuzzEqual(f *testing.F) {
	post := func(fields, body string) string {
		return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: a:1\r\n%sContent-Length: %d\r\n\r\n%s", fields, len(body), body)
	}
	for _, do := range []string{"", "nothing", "refuse", "close", "large", "length", "flush", "panic", "unread"} {
		f.Add([]byte(post("Do: "+do+"\r\n", "{}") + post("Do: "+do+"\r\n", "[1,2,3]") + post("", "x")))
	}
	plain := post("Accept: a, b\r\n", "{}")
	for _, next := range []string{
		"GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", "POST /mcp HTTP/1.0\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST /mcp/p/a-B_1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp/p/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
		"POST /mcp/p/.. HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp/p/a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
		"POST /mcp/p/%61 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp/p/a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
		"POST /mcp?x=y HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "POST http://b/mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
		"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "POST /mcp HTTP/1.1\r\nHost: a\r\n\r\n", "POST /mcp HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}",
		post("Host: b\r\n", "{}"), post("Content-Length: 2\r\n", "{}"), post("Content-Length: 3\r\n", "{}"), post("content-length: 7\r\n", "{}"),
		post("Transfer-Encoding: chunked\r\n", "{}"), post("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"),
		post("Transfer-Encoding : chunked\r\n", "{}"), post("Transfer-Encoding: identity\r\n", "{}"), post(" a: b\r\n", "{}"), post("A: b\r\n c\r\n", "{}"),
		post("A b: c\r\n", "{}"), post("A:\tb\r\n", "{}"), post("A: \x00\r\n", "{}"), post("A: \xff\r\n", "{}"), post(": b\r\n", "{}"), post("a\r\n", "{}"),
		post("Connection: close\r\n", "{}"), post("Connection: keep-alive\r\n", "{}"), post("Connection: a, b\r\n", "{}"), post("Connection: Keep-Alive\r\nConnection: close\r\n", "{}"),
		post("Expect: 100-continue\r\n", "{}"), post("Expect: x\r\n", "{}"), post("Upgrade: websocket\r\nConnection: upgrade\r\n", "{}"), post("Te: trailers\r\nTrailer: X\r\n", "{}"),
		post("Pragma: no-cache\r\n", "{}"), post("Cookie: a=b; c=d\r\nCookie: e\r\n", "{}"), post("accept: A\r\nACCEPT: b\r\n", "{}"), post("A: "+strings.Repeat("x", 4096)+"\r\n", "{}"),
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length:  007 \r\n\r\n1234567", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999999\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: a/b\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a b\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: A_b.c\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: \r\nContent-Length: 2\r\n\r\n{}", "POST  /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
		"\r\n" + plain, "\r\n\r\n\r\n" + plain, "\r", "\r\n\r\n", "abc", "PO", "POST /mcp HTTP/1.1\r\nHost: a\r\nConte", plain[:len(plain)-1], "POST /mcp HTTP/1.1\r\n\r\n", "x\r\n\r\n",
		post("Content-Length : 3\r\n", "{}"), post("A: b\n\n", "{}"), post("A: b\rC: d\r\n", "{}"), post("A: b\nContent-Length: 7\r\n", "{}"), post("A: b\r\n\nContent-Length: 7\r\n", "{}"),
		post("A: b\nTransfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"), post("A: \x7f\r\n", "{}"), post("A: ~\r\n", "{}"), post("A\x00: b\r\n", "{}"), post("A:\r\n", "{}"), post("\r\n", "{}"),
		post("Connection: keep-alive\r\nConnection: keep-alive\r\n", "{}"), post("Connection: keep-alive \r\n", "{}"), post("Connection: keep-alive, close\r\n", "{}"), post("Connection:close\r\n", "{}"), post("cONNECTION: cLOSE\r\n", "{}"),
		post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), post("Transfer-Encoding: xchunked\r\n", "{}"), post("Transfer-Encoding:\r\n", "{}"), post("Trailer: Content-Length\r\n", "{}"), post("host: a:1\r\n", "{}"),
		"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nA: b\r\n\r\n", "POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;a\n{}\r\n0\r\n\r\n",
		post("Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings\r\n", "{}"), post(strings.Repeat("A: b\r\n", 500), "{}"), post("Accept: a\r\nAccept: b\r\nAuthorization: c\r\nAuthorization: d\r\n", "{}"),
		"post /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1 \r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.10\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "POST /%6dcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
		"HEAD /mcp HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", "CONNECT /mcp HTTP/1.1\r\nHost: a\r\n\r\n", "DELETE /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "GET /\r\n\r\n",
		"POST /mcp HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0000000000000002\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 000000000000002\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length:2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\t\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2;\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551618\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: a:\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: [::1\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a@b\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\nDo: unread\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: [::1]:7\r\nContent-Length: 2\r\n\r\n{}", "POST /mcp HTTP/1.1\r\nContent-Length: 2\r\nHost: a\r\n\r\n{}" + plain,
	} {
		f.Add([]byte(next))
		f.Add([]byte(next + plain))
		f.Add([]byte(plain + next))
		f.Add([]byte(plain + next + plain + plain))
	}
	ours, theirs := serve(f, http.HandlerFunc(say), true), serve(f, http.HandlerFunc(say), false)
	f.Fuzz(func(t *testing.T, sent []byte) {
		if got, want := answers(t, ours, sent), answers(t, theirs, sent); !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", sent, got, want)
		}
	})
}
