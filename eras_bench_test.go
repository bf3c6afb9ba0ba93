package mcpbridge_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// BenchmarkEras is one tools/call of a client of either era over HTTP, through a bridge,
// to a server that speaks both; the last may be asked something, so that its calls can
// be parked.
func BenchmarkEras(b *testing.B) {
	for _, size := range []int{32, 64 << 10} {
		for _, up := range carriers[:2] {
			source := func(b *testing.B) bridge.Source {
				cfg := up.config(b)
				cfg.Sharing = mcpclient.Shared
				return bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(b, cfg)})
			}
			name := fmt.Sprintf("%dB/%s/http", size, up.name)
			b.Run(name+"/legacy", func(b *testing.B) { benchExchange(b, dialHTTP(b, source(b)), size) })
			b.Run(name+"/modern", func(b *testing.B) { benchModern(b, serve(b, source(b))+"/mcp", size, `{}`) })
			b.Run(name+"/modern-asked", func(b *testing.B) { benchModern(b, serve(b, source(b))+"/mcp", size, `{"elicitation":{}}`) })
		}
	}
}

func benchModern(b *testing.B, url string, size int, capabilities string) {
	msg := strings.Replace(string(message(size)), `"params":{`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":`+capabilities+`},`, 1)
	buf := make([]byte, 1<<20)
	do := func() {
		req, err := http.NewRequest("POST", url, strings.NewReader(msg))
		if err != nil {
			b.Fatal(err)
		}
		req.Header["Content-Type"] = []string{"application/json"}
		req.Header["Accept"] = []string{"application/json, text/event-stream"}
		req.Header["Mcp-Protocol-Version"] = []string{"2026-07-28"}
		req.Header["Mcp-Method"] = []string{"tools/call"}
		req.Header["Mcp-Name"] = []string{"echo"}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		if n, err := io.ReadFull(resp.Body, buf); err != io.ErrUnexpectedEOF || resp.StatusCode != 200 || n < size {
			b.Fatal(resp.StatusCode, err, string(buf[:min(n, 200)]))
		}
	}
	do()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		do()
	}
}
