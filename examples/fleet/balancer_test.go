package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// An answer is passed on as it comes, also before the request has been sent whole.
func TestEarlyAnswer(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		io.WriteString(w, "early")
	}))
	defer node.Close()
	front := httptest.NewServer(newBalancer([]string{node.Listener.Addr().String()}))
	defer front.Close()
	client, err := net.Dial("tcp", front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fmt.Fprint(client, "POST /mcp HTTP/1.1\r\nHost: fleet\r\nContent-Length: 2\r\n\r\n{")
	client.SetReadDeadline(time.Now().Add(time.Minute))
	resp, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "early" {
		t.Errorf("%q, %v", got, err)
	}
}
