package config

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
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
	for _, name := range []string{FileName, "a.env", EnvFileName, "t/*.json", "o.yaml"} {
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
		if err := os.WriteFile(filepath.Join(dir, EnvFileName), []byte(env), 0o644); err != nil {
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

func TestSetVariable(t *testing.T) {
	for _, c := range []struct{ text, name, value, want string }{
		{"", "A", "x", "A=x\n"},
		{"# c\nB=1", "A", "a b#c", "# c\nB=1\nA='a b#c'\n"},
		{"A=1\r\nB=2\r\n", "A", "2", "A=2\r\nB=2\r\n"},
		{"A=1\nA=2 # c\n", "A", "2", "A=1\nA=2 # c\n"},
		{"A=1\nexport A=2\nB=\n", "A", "it's \\ a $HOME\n\"line\"\t", "A=1\nA=\"it's \\\\ a \\$HOME\\n\\\"line\\\"\\t\"\nB=\n"},
	} {
		got, err := SetVariable([]byte(c.text), c.name, c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, name, value, want string }{
		{"A=1\nx y", "A", "x", "line 2: expected KEY=VALUE"},
		{"", "A", "\x00", "cannot be written"},
		{"", "A B", "", "cannot be written"},
		{"", "A\nB", "", "cannot be written"},
	} {
		if got, err := SetVariable([]byte(c.text), c.name, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}

func FuzzSetVariable(f *testing.F) {
	f.Add("A=1\n# c\nexport B='2'", "B", "it's\n$\"\\")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		before, _, _ := parseEnv([]byte(text))
		got, err := SetVariable([]byte(text), name, value)
		if err != nil {
			return
		}
		after, _, err := parseEnv(got)
		before[name] = value
		if err != nil || !maps.Equal(before, after) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
