package diagnosis

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// executable makes a program that nobody runs, and returns its folder.
func executable(t *testing.T, name string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestShellOnly(t *testing.T) {
	shell, desktop := executable(t, "tool"), executable(t, "other")
	t.Setenv("PATH", shell+string(os.PathListSeparator)+desktop)
	m := This()
	m.desktop = func() string { return desktop }
	for _, c := range []struct {
		command Command
		want    string
	}{
		{Command{Path: "tool"}, shell},
		{Command{Path: "other"}, ""},
		{Command{Path: "neither"}, ""},
		{Command{Path: filepath.Join(shell, "tool")}, ""},
		{Command{Path: "tool", Env: map[string]string{"PATH": shell}}, ""},
	} {
		if got := m.ShellOnly(&c.command); got != c.want {
			t.Errorf("%v: %q, not %q", c.command, got, c.want)
		}
	}
	m.desktop = func() string { return "" }
	if got := m.ShellOnly(&Command{Path: "tool"}); got != "" {
		t.Errorf("without a desktop: %q", got)
	}
}

func TestNode(t *testing.T) {
	t.Setenv("PATH", executable(t, "node"))
	for version, old := range map[string]bool{"v16.20.2": true, "v18.0.0": false, "v22.1.0": false, "": false} {
		m := This()
		asked := 0
		m.node = func(context.Context, string, []string) string { asked++; return version }
		for range 2 {
			got, tooOld := m.Node(t.Context(), &Command{Path: "npx"})
			if got != version || tooOld != old {
				t.Errorf("%q: got %q, %v", version, got, tooOld)
			}
		}
		if got, _ := m.Node(t.Context(), &Command{Path: "uvx"}); got != "" || asked != 1 {
			t.Errorf("uvx runs on Node.js %q, which was asked %d times", got, asked)
		}
	}
}

func TestInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if got := InUse(address); !strings.HasPrefix(got, "listen: ") {
		t.Errorf("got %q", got)
	}
	l.Close()
	if got := InUse(address); got != "" {
		t.Errorf("got %q for a free one", got)
	}
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		failure Failure
		want    string // in the advice
	}{
		{Failure{Command: Command{Path: "npx"}, Reason: `command "npx" not found in PATH (is it installed?)`}, "nodejs.org"},
		{Failure{Command: Command{Path: "/opt/uvx"}, Reason: `command "/opt/uvx" does not exist`}, "astral.sh"},
		{Failure{Command: Command{Path: "mine"}, Reason: `command "mine" not found in PATH (is it installed?)`}, "full path"},
		{Failure{Command: Command{Path: "docker", Args: []string{"run", "--rm", "image"}}, Reason: "the server closed its output"}, "needs -i"},
		{Failure{Command: Command{Path: "docker", Args: []string{"run", "-i", "image"}}, Reason: "exit status 1", Output: "Cannot connect to the Docker daemon at unix:///"}, "start Docker"},
		{Failure{Command: Command{Path: "npx"}, Reason: "exit status 1", Output: "npm error code E404"}, "no package"},
		{Failure{Command: Command{Path: "npx"}, Reason: "exit status 1", Output: "Error: GITHUB_TOKEN not set"}, `"env"`},
		{Failure{Command: Command{Path: "npx"}, Reason: "no answer within 30s"}, "--connect-timeout"},
		{Failure{Command: Command{Path: "echo"}, Reason: "the server closed its output (exit status 0)"}, "in a shell"},
		{Failure{Command: Command{Path: "x"}, Reason: "exit status 3"}, "in a shell"},
		{Failure{Command: Command{Path: "npx -y x"}, Reason: `command "npx -y x" not found in PATH (is it installed?)`}, "only npx"},
		{Failure{Command: Command{Path: "x", Dir: "/none"}, Reason: "working directory /none does not exist"}, "cwd"},
		{Failure{Command: Command{Path: "x"}, Reason: "sandbox: read: /none: no such file or directory"}, "that path"},
		{Failure{Command: Command{Path: "npx"}, Sandbox: true, Reason: `sandbox: npx fetches its package, which needs "network": true`}, `remove "sandbox"`},
		{Failure{Command: Command{Path: "x"}, Sandbox: true, Reason: "exit status 1", Output: "PermissionError: [Errno 13] Permission denied: '/home/ann/x'"}, `"read"`},
		{Failure{Command: Command{Path: "x"}, Sandbox: true, Reason: "exit status 1", Output: "Error: getaddrinfo EAI_AGAIN api.example"}, `"network"`},
		{Failure{Command: Command{Path: "x"}, Sandbox: true, Reason: "killed by signal SIGABRT"}, `"memory"`},
		{Failure{Command: Command{Path: "x"}, Sandbox: true, Reason: "exit status 3"}, `its "sandbox" lacks`},
		{Failure{Command: Command{Path: "x"}, Sandbox: true, Reason: "exit status 1", Output: "Error: Cannot find module 'zod'"}, "not installed"},
		{Failure{Command: Command{Path: "/tmp"}, Reason: `command "/tmp" is a directory`}, "in that folder"},
		{Failure{Command: Command{Path: "python3"}, Reason: "exit status 1", Output: "FileNotFoundError: [Errno 2] No such file or directory: '/data'"}, "path"},
		{Failure{Command: Command{Path: "npx"}, Reason: "exit status 1", Output: "npm error errno ENOTFOUND"}, "could not be downloaded"},
		{Failure{Command: Command{Path: "x"}, Reason: "exit status 127", Output: "/usr/bin/env: ‘ruby’: No such file or directory"}, "PATH"},
		{Failure{Command: Command{Path: "python3"}, Reason: "exit status 1", Output: "ModuleNotFoundError: No module named 'x'"}, "not installed"},
		{Failure{Command: Command{Path: "node"}, Reason: "exit status 1", Output: "Error: Cannot find module '/x/build/index.js'"}, "path"},
		{Failure{Command: Command{Path: "node"}, Reason: "exit status 1", Output: "Error: Cannot find module 'zod'"}, "not installed"},
		{Failure{Command: Command{Path: "x"}, Reason: "no answer within 30s", Output: printed + ": hello"}, "no MCP server"},
		{Failure{URL: "https://x", Reason: "tls: first record does not look like a TLS handshake"}, "http://"},
		{Failure{URL: "http://x", Reason: "HTTP 501 Not Implemented: <!DOCTYPE HTML>"}, "path"},
		{Failure{URL: "http://x", Reason: "HTTP 401 Unauthorized"}, "headers"},
		{Failure{URL: "http://x", Reason: "dial tcp 127.0.0.1:1: connect: connection refused"}, "start that server"},
		{Failure{URL: "http://x", Reason: "the metadata of its authorization server: http://y/.well-known/z: dial tcp 127.0.0.1:1: connect: connection refused"}, "its authorization server runs"},
		{Failure{URL: "http://x", Reason: "its token cannot be renewed: http://y/token: dial tcp: lookup y: no such host"}, "its authorization server runs"},
		{Failure{URL: "http://x", Reason: "https://y gives no token: invalid_client (HTTP 401)"}, `correct "oauth"`},
		{Failure{URL: "http://x", Reason: "https://y gives no token: https://y/token: x509: certificate signed by unknown authority"}, "tls"},
		{Failure{URL: "http://x", Reason: "it refuses the token that https://y gives: HTTP 401"}, "an audience"},
		{Failure{URL: "http://x", Reason: `its authorization server is "https://y" now, and the client id in the config is for "https://z"`}, `correct "oauth"`},
		{Failure{URL: "http://x", Reason: "the stored credentials cannot be read: /x: sealed with another key than the one in MCPBRIDGE_SECRET_KEY: bring that key back"}, ""},
		{Failure{URL: "http://x", Reason: "something else"}, "log"},
	} {
		if got := c.failure.Next(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: %q does not say %q", c.failure, got, c.want)
		}
	}
}
