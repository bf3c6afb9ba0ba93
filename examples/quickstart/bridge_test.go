package quickstart_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// patience bounds the compilation of the servers, on a slow machine with nothing cached.
const patience = 5 * time.Minute

func TestMain(m *testing.M) { os.Exit(run(m)) }

// programs is the folder of the bridge that the tests share: to link it takes longer than all else.
var programs string

func run(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "quickstart"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	return m.Run()
}

// build builds the bridge on the first call.
var build = sync.OnceValues(func() (program string, err error) {
	program = filepath.Join(programs, "mcpbridge")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "../../cmd/mcpbridge").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// running is a bridge with the config of this folder, whose shop is the test's own.
type running struct {
	program string
	env     []string
	url     string
}

// start lets a bridge serve until the test ends.
func start(ctx context.Context, t *testing.T) *running {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{program: program, env: append(os.Environ(), "SHOP_PORT="+freePort(t), "SHOP_DB="+filepath.Join(t.TempDir(), "shop.db"))}
	r.serve(ctx, t)
	return r
}

// freePort returns a port that nothing listens on. It is not an ephemeral one, which another
// program could get before the shop listens.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// serve starts the bridge and waits until it listens. The bridge ends with the test.
func (r *running) serve(ctx context.Context, t *testing.T) {
	t.Helper()
	cmd := exec.Command(r.program, "serve", "--config", "mcpbridge.json", "--listen", "127.0.0.1:0")
	cmd.Env = r.env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, ended := make(chan string, 1), make(chan struct{})
	t.Cleanup(func() {
		if cmd.Process.Signal(os.Interrupt) != nil {
			cmd.Process.Kill() // Windows has no signals
		}
		<-ended
		cmd.Wait()
	})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			t.Log(lines.Text())
			if at, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				url <- at
			}
		}
	}()
	select {
	case r.url = <-url:
	case <-ended:
		t.Fatal("the bridge ended")
	case <-ctx.Done():
		t.Fatal("the bridge does not say where it listens")
	}
}

// connection is an MCP client of a bridge.
type connection struct {
	*client.Client
	notified chan mcp.JSONRPCNotification
}

// connect connects a client that sends a header X-Customer-Id, unless it is "".
func (r *running) connect(ctx context.Context, t *testing.T, customer string) *connection {
	t.Helper()
	headers := map[string]string{}
	if customer != "" {
		headers["X-Customer-Id"] = customer
	}
	//lint:ignore SA1019 the GET stream is how a server of the legacy revisions says that its tools changed
	c, err := client.NewStreamableHttpClient(r.url+"/mcp", transport.WithContinuousListening(), transport.WithHTTPHeaders(headers))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	notified := make(chan mcp.JSONRPCNotification, 100)
	c.OnNotification(func(n mcp.JSONRPCNotification) { notified <- n })
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "quickstart", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		t.Fatal(err)
	}
	return &connection{c, notified}
}

// awaitTools lists the tools until all are there: those of a server that is still being compiled
// come with a notification.
func (c *connection) awaitTools(ctx context.Context, t *testing.T) map[string]mcp.Tool {
	t.Helper()
	want := []string{
		"notes__add", "notes__import", "notes__list", "notes__search", "units__convert", "units__list", "shop__restock",
		"search_products", "get_product", "place_order", "my_orders", "complete_ean", "go_doc", "my_account", "CurrentTime", "delivery",
	}
	for {
		list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		byName, names := map[string]mcp.Tool{}, []string{}
		for _, tool := range list.Tools {
			byName[tool.Name] = tool
			names = append(names, tool.Name)
		}
		if slices.Equal(names, want) {
			return byName
		}
		t.Logf("so far %q", names)
		c.await(ctx, t, "notifications/tools/list_changed")
	}
}

// await waits for a notification.
func (c *connection) await(ctx context.Context, t *testing.T, method string) mcp.JSONRPCNotification {
	t.Helper()
	for {
		select {
		case n := <-c.notified:
			if n.Method == method {
				return n
			}
		case <-ctx.Done():
			t.Fatalf("no %s", method)
		}
	}
}

func (c *connection) call(ctx context.Context, t *testing.T, name string, arguments map[string]any) *mcp.CallToolResult {
	t.Helper()
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = name, arguments
	if name == "notes__import" {
		r.Params.Meta = &mcp.Meta{ProgressToken: "quickstart"}
	}
	result, err := c.CallTool(ctx, r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result
}

// text returns the text of a result's first block.
func text(r *mcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	block, _ := r.Content[0].(mcp.TextContent)
	return block.Text
}
