package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
)

// A loader may stand for a program elsewhere: it has its environment and its folder, and the config
// tells what it takes from both.
func TestLoaderEnvironment(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	load := func(text, workspace string) *Config {
		t.Helper()
		env := getenvOf(map[string]string{"A": "a", "PATH": "/window/bin", "CUSTOMER": "7"})
		c, err := Loader{Getenv: env, Workspace: workspace}.Parse(filepath.Join(dir, FileName), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := load(`{"mcpServers": {
		"a": {"command": "x", "args": ["${A}", "{env:B}", "${C:-c}", "$D", "${PATH}", "$${E}"], "env": {"F": "$F $$G"}, "envFile": "a.env"},
		"b": {"command": "x", "args": ["${workspaceFolder}/b"], "cwd": "."},
		"c": {"command": "x", "cwd": "sub"},
		"d": {"command": "./x", "disabled": true, "args": ["${UNREAD}"]}},
		"context": {"customerid": {"from": "env:CUSTOMER"}}, "tools": ["t/*.json"],
		"apis": {"o": {"type": "openapi", "document": "o.yaml"}}}`, work)
	if want := []string{"A", "B", "C", "CUSTOMER", "F"}; !slices.Equal(c.Variables, want) {
		t.Errorf("variables %q, want %q", c.Variables, want)
	}
	if !c.UsesWorkspace || c.SearchPath != "/window/bin" {
		t.Errorf("uses the workspace: %t; search path %q", c.UsesWorkspace, c.SearchPath)
	}
	if got, _ := c.HiddenValue("customerid"); string(got) != `"7"` {
		t.Errorf("the hidden value is %s", got)
	}
	for i, want := range []string{"", work, filepath.Join(work, "sub")} {
		if c.Servers[i].Dir != want {
			t.Errorf("server %s runs in %q, want %q", c.Servers[i].Name, c.Servers[i].Dir, want)
		}
	}
	if want := work + "/b"; c.Servers[1].Args[0] != want {
		t.Errorf("the workspace is %q", c.Servers[1].Args[0])
	}
	var files []string
	for _, name := range []string{FileName, "mcpbridge.tokens.json", "a.env", envfile.Name, "t/*.json", "o.yaml"} {
		files = append(files, filepath.Join(dir, name))
	}
	if got := c.Files(); !slices.Equal(got, files) {
		t.Errorf("files %q, want %q", got, files)
	}

	if c = load(`{"mcpServers": {"b": {"command": "x", "cwd": "${workspaceFolderBasename}"}}}`, ""); c.Servers[0].Dir != filepath.Join(dir, filepath.Base(dir)) {
		t.Errorf("without a workspace the server runs in %q", c.Servers[0].Dir)
	}
	if c = load(`{"mcpServers": {"b": {"command": "./x", "cwd": "/abs", "envFile": "b"}}}`, work); c.UsesWorkspace || c.Servers[0].Command != filepath.Join(dir, "x") {
		t.Errorf("uses the workspace: %t; command %q", c.UsesWorkspace, c.Servers[0].Command)
	}
}

// What is not in the environment comes from the env file beside the config.
func TestEnvFileBeside(t *testing.T) {
	dir := t.TempDir()
	load := func(env string) *Config {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, envfile.Name), []byte(env), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Loader{Getenv: getenvOf(map[string]string{"A": "environment", "MY_KEY": "x"})}.Parse(filepath.Join(dir, FileName), []byte(`{"mcpServers": {
			"a": {"command": "${A}-${B}", "args": ["x"], "env": {"B": "$B"}}, "b": {"command": "${MY_TOKEN}"}},
			"context": {"c": {"from": "env:C"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := load("A=file\nexport B='a b' # c\nC=3\nMY_TOKEN=" + secretMark + secretMark + "\nMY_KEY=0123456789\n")
	if got := c.Servers[0]; got.Command != "environment-a b" || got.Env["B"] != "a b" || c.Servers[1].Command != secretMark+secretMark {
		t.Errorf("got %+v", got)
	}
	if got, _ := c.HiddenValue("c"); string(got) != `"3"` {
		t.Errorf("the hidden value is %s", got)
	}
	if told := strings.Join(c.Warnings, "\n"); runtime.GOOS != "windows" && (len(c.Warnings) != 1 || !strings.Contains(told, "chmod 600")) {
		t.Errorf("warnings: %q", c.Warnings)
	}
	if c = load("A=1\nnonsense " + secretMark); c.Servers[1].Fault == nil {
		t.Fatal("no fault")
	}
	if text := c.Servers[1].Fault.Error(); !strings.HasSuffix(text, ".env:2: expected KEY=VALUE") || strings.Contains(text, secretMark) {
		t.Error(text)
	}
}
