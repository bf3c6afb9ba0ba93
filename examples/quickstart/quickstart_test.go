package quickstart_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// patience is how long the servers may take to be compiled, on a slow machine with
// nothing cached.
const patience = 5 * time.Minute

// TestQuickstart does what the README says, with an MCP client in the place of curl.
func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles three programs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	notified := make(chan mcp.JSONRPCNotification, 100)
	c := connect(ctx, t, serve(ctx, t)+"/mcp", notified)

	want := []string{"notes__add", "notes__import", "notes__list", "notes__search", "units__convert", "units__list"}
	convert := awaitTools(ctx, t, c, want, notified)["units__convert"]
	if hint := convert.Annotations.ReadOnlyHint; hint == nil || !*hint || convert.OutputSchema.Type != "object" {
		t.Errorf("units__convert lost its annotations or its outputSchema: %+v", convert)
	}

	if r := call(ctx, t, c, "notes__add", map[string]any{"text": "buy milk"}); text(r) != "added note 1" {
		t.Errorf("notes__add: %q", text(r))
	}
	if r := call(ctx, t, c, "notes__import", map[string]any{"lines": "call Rome\nsell the milk\nrest"}); text(r) != "imported 3 notes" {
		t.Errorf("notes__import: %q", text(r))
	}
	awaitProgress(ctx, t, notified)
	if r := call(ctx, t, c, "notes__search", map[string]any{"query": "MILK"}); text(r) != "1. buy milk\n3. sell the milk" {
		t.Errorf("notes__search: %q", text(r))
	}
	r := call(ctx, t, c, "units__convert", map[string]any{"value": 100, "from": "C", "to": "K"})
	if got, _ := r.StructuredContent.(map[string]any); got["value"] != 373.15 || got["unit"] != "K" {
		t.Errorf("units__convert: %v", r.StructuredContent)
	}
	r = call(ctx, t, c, "units__convert", map[string]any{"value": 1, "from": "km", "to": "kg"})
	if !r.IsError || !strings.Contains(text(r), "km is a length and kg is a mass") {
		t.Errorf("units__convert of nonsense: %v %q", r.IsError, text(r))
	}
}

// serve builds the bridge, starts it with the config of this folder, and returns its
// URL. The bridge is ended with the test.
func serve(ctx context.Context, t *testing.T) string {
	t.Helper()
	bridge := filepath.Join(t.TempDir(), "mcpbridge")
	if runtime.GOOS == "windows" {
		bridge += ".exe"
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bridge, "../../cmd/mcpbridge").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(bridge, "serve", "--config", "mcpbridge.json", "--listen", "127.0.0.1:0")
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
	case at := <-url:
		return at
	case <-ended:
		t.Fatal("the bridge ended")
	case <-ctx.Done():
		t.Fatal("the bridge does not say where it listens")
	}
	return ""
}

func connect(ctx context.Context, t *testing.T, url string, notified chan<- mcp.JSONRPCNotification) *client.Client {
	t.Helper()
	//lint:ignore SA1019 the GET stream is how a server of the legacy revisions says that its tools changed
	c, err := client.NewStreamableHttpClient(url, transport.WithContinuousListening())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
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
	return c
}

// awaitTools lists the tools until they are those wanted: a server that is still being
// compiled brings its own with a notification.
func awaitTools(ctx context.Context, t *testing.T, c *client.Client, want []string, notified <-chan mcp.JSONRPCNotification) map[string]mcp.Tool {
	t.Helper()
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
		awaitNotification(ctx, t, notified, "notifications/tools/list_changed")
	}
}

// awaitProgress waits for the first progress of notes__import. A server on this library
// may send the last after its result, where the bridge drops it.
func awaitProgress(ctx context.Context, t *testing.T, notified <-chan mcp.JSONRPCNotification) {
	t.Helper()
	n := awaitNotification(ctx, t, notified, "notifications/progress")
	if got := n.Params.AdditionalFields; got["progressToken"] != "quickstart" || got["message"] != "1 of 3" {
		t.Errorf("the first progress: %v", got)
	}
}

func awaitNotification(ctx context.Context, t *testing.T, notified <-chan mcp.JSONRPCNotification, method string) mcp.JSONRPCNotification {
	t.Helper()
	for {
		select {
		case n := <-notified:
			if n.Method == method {
				return n
			}
		case <-ctx.Done():
			t.Fatalf("no %s", method)
		}
	}
}

func call(ctx context.Context, t *testing.T, c *client.Client, name string, arguments map[string]any) *mcp.CallToolResult {
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

// text is the text of a result's first block.
func text(r *mcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	block, _ := r.Content[0].(mcp.TextContent)
	return block.Text
}
