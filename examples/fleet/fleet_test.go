package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// patience bounds the compilation of the bridge, on a slow machine with nothing cached.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "whereami" {
		if err := whereami(os.Args[2]); err != nil {
			log.Fatal(err)
		}
		return
	}
	log.SetFlags(0)
	os.Exit(m.Run())
}

// Any node answers the calls of a session, and a client goes on with its own after the node that had it was killed.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the bridge")
	}
	t.Chdir("../..")
	for _, variable := range []string{"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "LocalAppData"} {
		t.Setenv(variable, t.TempDir())
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	said, out := io.Pipe()
	log.SetOutput(out)
	defer log.SetOutput(os.Stderr)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, "127.0.0.1:"+port)
		out.Close()
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	pids, urls := map[string]int{}, []string{}
	for lines := bufio.NewScanner(said); lines.Scan() && !strings.HasPrefix(lines.Text(), "balancer on"); {
		var name, url string
		var pid int
		if _, err := fmt.Sscanf(lines.Text(), "node %1s: pid %d, %s", &name, &pid, &url); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		pids[name], urls = pid, append(urls, url)
	}
	go io.Copy(io.Discard, said)
	for _, url := range urls {
		await(t, ctx, url+"/readyz")
	}
	c, err := client.NewStreamableHttpClient("http://127.0.0.1:"+port+"/mcp", transport.WithHTTPTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: "2025-06-18", ClientInfo: mcp.Implementation{Name: "test", Version: "1"}}}); err != nil {
		t.Fatal(err)
	}
	owner := where(t, ctx, c)
	for answering := map[string]bool{}; len(answering) < len(pids); { // until the context ends
		answering[where(t, ctx, c)] = true
	}
	p, err := os.FindProcess(pids[owner])
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 2 * len(pids) {
		if got := where(t, ctx, c); got == owner {
			t.Errorf("%s answers after it was killed", got)
		}
	}
}

// where returns the node that carries out a call, which may be made again: that the balancer has had no answer
// (502), or the bridge asks for another try, is how a client learns that a node was lost.
func where(t *testing.T, ctx context.Context, c *client.Client) string {
	t.Helper()
	for {
		result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "whereami"}})
		if err == nil && len(result.Content) == 1 {
			return result.Content[0].(mcp.TextContent).Text
		}
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "try again") && !strings.Contains(err.Error(), "502") {
			t.Fatal(result, err)
		}
	}
}

// await waits until a node is ready.
func await(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if ctx.Err() != nil {
			t.Fatal("a node is not ready: ", err)
		}
	}
}
