package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// patience bounds the compilation of the programs, on a slow machine with nothing cached.
const patience = 5 * time.Minute

// program builds the bridge and the bank, and returns the bridge and a config with the bank.
func program(t *testing.T, listen string) (bridge, config string) {
	if testing.Short() {
		t.Skip("compiles two programs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := t.TempDir()
	bridge, bank := filepath.Join(dir, "mcpbridge.exe"), filepath.Join(dir, "bank.exe")
	for out, source := range map[string]string{bridge: "../../cmd/mcpbridge", bank: "."} {
		if text, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", out, source).CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, text)
		}
	}
	for _, variable := range []string{"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "LocalAppData"} {
		t.Setenv(variable, t.TempDir())
	}
	command, _ := json.Marshal(bank) // cannot fail: a string
	for _, name := range []string{"mcpbridge.json", "payees.json", "payees.py"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte(`"go", "args": ["run", "./examples/policy"], "cwd": "../.."`), command, 1)
		text = bytes.Replace(text, []byte("127.0.0.1:7332"), []byte(listen), 1)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return bridge, filepath.Join(dir, "mcpbridge.json")
}

// TestREADME runs the commands of the README and compares what they print. A command that fails prints
// nothing but its error.
func TestREADME(t *testing.T) {
	bridge, config := program(t, "127.0.0.1:7332")
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range strings.Split(string(readme), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ go run ./cmd/mcpbridge ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			commands++
			cmd := exec.CommandContext(t.Context(), bridge, strings.Fields(strings.Replace(line, "examples/policy/mcpbridge.json", config, 1))...)
			var out, failure bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &failure
			err := cmd.Run()
			if got := cmp.Or(strings.TrimSpace(out.String()), strings.TrimSpace(failure.String())); got != strings.TrimSpace(want) {
				t.Errorf("%s (%v) prints\n%s\nwant\n%s\nerrors: %s", line, err, got, want, failure.String())
			}
		}
	}
	if commands < 4 {
		t.Errorf("the README has only %d commands", commands)
	}
}

// TestPayees makes payments of which an interceptor denies one, and changes another.
func TestPayees(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	bridge, config := program(t, "127.0.0.1:0")
	for arguments, want := range map[string]string{
		`{"amount":5.4,"to":"ann"}`: "paid 5 euros to ann", `{"amount":6,"to":"bob"}`: "paid 6 euros to bob",
		`{"amount":5,"to":"eve"}`: "pay was not called: denied by payees: eve is not a known payee",
	} {
		cmd := exec.CommandContext(t.Context(), bridge, "tools", "call", "pay", "--args", arguments, "--config", filepath.Join(filepath.Dir(config), "payees.json"))
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("%s (%v) prints %s, want %s", arguments, err, out, want)
		}
	}
}

// A user is the person at a client that shows forms.
type user struct{ asked []string }

func (u *user) Elicit(_ context.Context, question mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	u.asked = append(u.asked, question.Params.Message)
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"decision": "allow"},
	}}, nil
}

// TestClients makes a payment with a client that can ask its user, and with one that cannot, whose user
// decides later.
func TestClients(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a signal ends the bridge")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := ln.Addr().String()
	ln.Close()
	bridge, config := program(t, listen)
	serve := exec.Command(bridge, "serve", "--config", config)
	out, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer serve.Wait()
	defer serve.Process.Signal(os.Interrupt)
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "listening on ") {
	}
	go io.Copy(io.Discard, out)

	u := &user{}
	able := connect(t, listen, client.WithElicitationHandler(u))
	if got := pay(t, able, 50); got != "paid 50 euros to ann: 50 are left" {
		t.Errorf("with a user who approves: %s", got)
	}
	if len(u.asked) != 1 || !strings.Contains(u.asked[0], `"amount": 50`) || !strings.Contains(u.asked[0], "more than 10 euros") {
		t.Errorf("the user was asked %q", u.asked)
	}

	unable := connect(t, listen)
	if got := pay(t, unable, 20); !strings.Contains(got, "pay has not run: a person has to approve it") {
		t.Errorf("without a user: %s", got)
	}
	var all []struct{ ID, State string }
	text, err := exec.CommandContext(t.Context(), bridge, "approvals", "--json").Output()
	if err := cmp.Or(err, json.Unmarshal(text, &all)); err != nil || len(all) != 2 || all[1].State != "pending" {
		t.Fatalf("%v: %s", err, text)
	}
	if text, err := exec.CommandContext(t.Context(), bridge, "approvals", "decide", all[1].ID, "--allow").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got := pay(t, unable, 20); got != "paid 20 euros to ann: 30 are left" {
		t.Errorf("the same call after the decision: %s", got)
	}
	if got := call(t, unable, "balance", nil); got != "30 euros" {
		t.Errorf("the balance: %s", got)
	}
	if got := call(t, unable, "delete_account", nil); !strings.Contains(got, "accounts are closed by people") {
		t.Errorf("a delete: %s", got)
	}
}

func connect(t *testing.T, listen string, options ...client.ClientOption) *client.Client {
	t.Helper()
	carrier, err := transport.NewStreamableHTTP("http://" + listen + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(carrier, options...)
	t.Cleanup(func() { c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion, request.Params.ClientInfo = mcp.LATEST_PROTOCOL_VERSION, mcp.Implementation{Name: "example", Version: "1"}
	if _, err := c.Initialize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	return c
}

func pay(t *testing.T, c *client.Client, amount int) string {
	return call(t, c, "pay", map[string]any{"amount": amount, "to": "ann"})
}

// call returns the text of a tool's result, or its error.
func call(t *testing.T, c *client.Client, tool string, arguments map[string]any) string {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, arguments
	result, err := c.CallTool(t.Context(), request)
	if err != nil {
		return err.Error()
	}
	text, _ := mcp.AsTextContent(result.Content[0])
	return text.Text
}
