//go:build unix

package e2etest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// BenchmarkEras measures what a tools/call over HTTP costs through a bridge to a server of both
// eras, for a client of the modern era relative to one of the legacy era in the same run. The
// askable client offers elicitation, so that its calls can be parked. An op is a round of many
// calls of each. CPU time and memory are those of this process: the bridge, the server over
// HTTP, and raw clients that cost almost nothing.
func BenchmarkEras(b *testing.B) {
	for _, size := range []int{32, 64 << 10} {
		for _, up := range carriers[:2] {
			b.Run(fmt.Sprintf("%dB/%s/http", size, up.name), func(b *testing.B) {
				cfg := up.config(b)
				cfg.Sharing = mcpclient.Shared
				url := serve(b, bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(b, cfg)}))
				benchEras(b, size, []*eraCost{
					{name: "legacy", call: rawLegacy(b, url, size)},
					{name: "modern", call: rawModern(b, url, size, `{}`)},
					{name: "asked", call: rawModern(b, url, size, `{"elicitation":{}}`)},
				})
			})
		}
	}
}

// eraCost adds up what the calls of one client cost.
type eraCost struct {
	name          string
	call          func()
	cpu           time.Duration
	allocs, bytes uint64
}

func benchEras(b *testing.B, size int, all []*eraCost) {
	const calls = 200
	for range 2 * calls { // stacks, pools and connections have grown
		for _, c := range all {
			c.call()
		}
	}
	rounds := 0
	for b.Loop() {
		rounds++
		for _, c := range all {
			c.measure(calls)
		}
	}
	legacy := all[0]
	b.ReportMetric(0, "ns/op") // it would be that of all of them
	for _, c := range all {
		b.ReportMetric(float64(c.cpu.Nanoseconds())/float64(rounds*calls), c.name+"-cpu-ns/call")
		b.ReportMetric(float64(c.allocs)/float64(rounds*calls), c.name+"-allocs/call")
	}
	for _, c := range all[1:] {
		b.ReportMetric(float64(c.cpu)/float64(legacy.cpu), c.name+"/legacy-cpu")
		b.ReportMetric(float64(c.allocs)/float64(legacy.allocs), c.name+"/legacy-allocs")
		b.ReportMetric(float64(c.bytes)/float64(legacy.bytes), c.name+"/legacy-bytes")
	}
}

func (c *eraCost) measure(calls int) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpuTime()
	for range calls {
		c.call()
	}
	c.cpu += cpuTime() - start
	runtime.ReadMemStats(&after)
	c.allocs += after.Mallocs - before.Mallocs
	c.bytes += after.TotalAlloc - before.TotalAlloc
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func rawLegacy(b *testing.B, url string, size int) func() {
	resp := post(b, url+"/mcp", "", []byte(hello))
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return rawPost(b, url, "Mcp-Session-Id: "+resp.Header.Get("Mcp-Session-Id")+"\r\nMcp-Protocol-Version: 2025-06-18\r\n", message(size), size)
}

func rawModern(b *testing.B, url string, size int, capabilities string) func() {
	meta := `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + capabilities + `},`
	msg := bytes.Replace(message(size), []byte(`"params":{`), []byte(meta), 1)
	return rawPost(b, url, "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n", msg, size)
}

// rawPost returns a function that sends the same request over one connection and reads the
// response, which has at least size bytes.
func rawPost(b *testing.B, url, headers string, msg []byte, size int) func() {
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	request := fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n%s\r\n%s", host, len(msg), headers, msg)
	r := bufio.NewReaderSize(conn, 128<<10)
	return func() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		if n := rawAnswer(b, r); n < size {
			b.Fatalf("an answer of %d bytes", n)
		}
	}
}

// rawAnswer reads a response by its Content-Length or, when the machine was so busy that the
// server has made it a stream, in chunks.
func rawAnswer(b *testing.B, r *bufio.Reader) (length int) {
	line := func() []byte {
		line, err := r.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		return bytes.TrimSuffix(line, []byte("\r\n"))
	}
	if status := line(); !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		b.Fatalf("%s", status)
	}
	for header := line(); len(header) > 0; header = line() {
		if digits, ok := bytes.CutPrefix(header, []byte("Content-Length: ")); ok {
			for _, c := range digits {
				length = 10*length + int(c-'0')
			}
		}
	}
	if length == 0 {
		for chunk := line(); string(chunk) != "0"; chunk = line() {
			length += len(chunk)
		}
		line()
		return length
	}
	if _, err := r.Discard(length); err != nil {
		b.Fatal(err)
	}
	return length
}
