//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// pinned is a config whose server has a tool that is held back.
type pinned struct {
	dir, config string
	env         []string
	ctx         context.Context
}

func newPinned(t *testing.T) *pinned {
	t.Helper()
	p := &pinned{dir: t.TempDir()}
	run, err := os.MkdirTemp("", "run") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	p.config = filepath.Join(p.dir, "mcpbridge.json")
	p.env = []string{"GORACE=atexit_sleep_ms=0", "XDG_CACHE_HOME=" + p.dir, "XDG_CONFIG_HOME=" + p.dir, "XDG_STATE_HOME=" + p.dir,
		"XDG_RUNTIME_DIR=" + run, "MCPBRIDGE_SECRET_KEY=" + testSecretKey}
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience) // for many steps
	t.Cleanup(cancel)
	p.ctx = ctx
	for _, tools := range []string{"read", "read,send"} {
		text := `{"mcpServers": {"notes": {"command": "fakeserver", "args": ["--tools", "` + tools + `"], "pin": true, "connectTimeout": "1m"}}}`
		if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.run(t, "tools", "list")
	}
	return p
}

// run runs mcpbridge, which may fail.
func (p *pinned) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := p.command(append(args, "--config", p.config)...)
	out, _ := cmd.CombinedOutput()
	return withoutWaiting(string(out))
}

func (p *pinned) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.ctx, "mcpbridge", args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	return cmd
}

// Clients of a bridge that runs are told that a definition has been accepted, and see it.
func TestAcceptedIsAnnounced(t *testing.T) {
	for _, way := range []struct {
		name string
		dial func(t *testing.T, p *pinned, legacy bool) (transport.Interface, error)
	}{
		{"daemon", func(t *testing.T, p *pinned, _ bool) (transport.Interface, error) {
			t.Cleanup(func() { p.run(t, "stop") })
			return transport.NewStdio("mcpbridge", p.env, "stdio", "--config", p.config), nil
		}},
		{"http", func(t *testing.T, p *pinned, legacy bool) (transport.Interface, error) {
			if legacy {
				//lint:ignore SA1019 the legacy era is what this case is about
				return transport.NewStreamableHTTP(p.serve(t)+"/mcp", transport.WithContinuousListening())
			}
			return transport.NewStreamableHTTP(p.serve(t) + "/mcp")
		}},
	} {
		for _, legacy := range []bool{true, false} {
			t.Run(way.name+map[bool]string{true: "/legacy", false: "/modern"}[legacy], func(t *testing.T) {
				t.Parallel()
				p := newPinned(t)
				carrier, err := way.dial(t, p, legacy)
				if err != nil {
					t.Fatal(err)
				}
				opts := []client.ClientOption{client.WithDiscoverTimeout(patience)}
				if legacy {
					//lint:ignore SA1019 the legacy era is what this case is about
					opts = append(opts, client.WithLegacyProtocolOnly())
				}
				p.accepts(t, client.NewClient(carrier, opts...), legacy)
			})
		}
	}
}

// serve starts mcpbridge serve, and returns its URL.
func (p *pinned) serve(t *testing.T) string {
	t.Helper()
	serve := p.command("serve", "--listen", "127.0.0.1:0", "--config", p.config)
	logged := &listeningLog{found: make(chan string, 1)}
	serve.Stderr = logged
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		serve.Process.Signal(os.Interrupt)
		serve.Wait()
	})
	select {
	case url := <-logged.found:
		return url
	case <-p.ctx.Done():
		t.Fatalf("it does not listen: %s", logged)
		return ""
	}
}

func (p *pinned) accepts(t *testing.T, c *client.Client, legacy bool) {
	t.Cleanup(func() { c.Close() })
	notified := make(chan string, 100)
	c.OnNotification(func(n mcp.JSONRPCNotification) { notified <- n.Method })
	await := func(method string) {
		t.Helper()
		for {
			select {
			case got := <-notified:
				if got == method {
					return
				}
			case <-p.ctx.Done():
				t.Fatalf("the client gets no %s", method)
			}
		}
	}
	if err := c.Start(p.ctx); err != nil {
		t.Fatal(err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(p.ctx, hello); err != nil {
		t.Fatal(err)
	}
	if !legacy {
		stop, err := c.ListenAsync(p.ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		await(mcp.MethodNotificationSubscriptionsAcknowledged)
	}
	if got := toolsOfClient(t, p.ctx, c); got != "read" {
		t.Fatalf("it lists %s", got)
	}
	if out := p.run(t, "pins"); !strings.Contains(out, "tool send is new") {
		t.Fatal(out)
	}
	if out := p.run(t, "pins", "accept", "notes"); out != "accepted tool send\n" {
		t.Fatal(out)
	}
	await(mcp.MethodNotificationToolsListChanged)
	if got := toolsOfClient(t, p.ctx, c); got != "read send" {
		t.Errorf("it lists %s", got)
	}
}

// What a server defines is looked at by lend, too, before a client lists it.
func TestLendNotesDefinitions(t *testing.T) {
	p := newPinned(t)
	lend := p.command("lend", "--to", "ws://127.0.0.1:1", "--config", p.config)
	lend.Env = append(lend.Env, hubVariable+"=token")
	printed, err := lend.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	lend.Cancel = func() error { return lend.Process.Signal(os.Interrupt) }
	if err := lend.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(printed)
	for lines.Scan() && !strings.Contains(lines.Text(), "tool send is held back") {
	}
	if lines.Text() == "" {
		t.Error("it has not looked at what the server defines")
	}
	lend.Process.Signal(os.Interrupt)
	io.Copy(io.Discard, printed)
	lend.Wait()
}

func toolsOfClient(t *testing.T, ctx context.Context, c *client.Client) string {
	t.Helper()
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
