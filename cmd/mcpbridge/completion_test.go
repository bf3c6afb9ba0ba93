//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/spf13/pflag"
)

// alone returns the environment of a user of its own, who has a config in the home folder.
func alone(t *testing.T) (env []string, dir string) {
	t.Helper()
	dir, own := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "far.json"), []byte(`{"mcpServers": {"remote": {"command": "fakeserver"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "HOME="+own, "TERM=dumb", "PS1=$ ", "INPUTRC=/dev/null", "GORACE=atexit_sleep_ms=0", "XDG_RUNTIME_DIR="+own,
		"XDG_CACHE_HOME="+own, "XDG_CONFIG_HOME="+own, "XDG_STATE_HOME="+own), dir
}

// oddConfig has tools whose names are special to shells.
const oddConfig = `{"mcpServers": {"lib": {"command": "fakeserver", "args": ["--refuse", "-32601", "--tools", "find_it,a:b,sp ace,in;exit,back\\slash", "--schema",
	"{\"type\":\"object\",\"properties\":{\"mode\":{\"enum\":[\"fast\",\"slow one\"]}}}"]}}}`

// A typedLine is what a person types before Tab, and what of the line the shell then has.
type typedLine struct{ typed, completed string }

// In a real bash, Tab completes commands, values behind =, which bash splits, tools and files, also behind quotes. It runs
// nothing that stands in the name of a tool.
func TestBashCompletion(t *testing.T) {
	testTab(t, "source <(mcpbridge completion bash)", []typedLine{
		{"mcpbridge vers", "mcpbridge version "},
		{"mcpbridge tools call fi", "mcpbridge tools call find_it "},
		{"mcpbridge tools call sp", `call sp\ ace `},
		{"mcpbridge tools call in", `call in\;exit `},
		{"mcpbridge tools call find_it --mode sl", `--mode slow\ one `},
		{`mcpbridge tools call sp\ a`, `call sp\ ace `},
		{"mcpbridge tools call 'sp a", "call 'sp ace' "},
		{`mcpbridge tools call "back`, `call "back\\slash" `},
		{`mcpbridge tools call a\:`, "\b\b:b "},
		{`mcpbridge tools call sp\ ace --mo`, `call sp\ ace --mode `},
		{`mcpbridge tools call "sp ace" --mode="s`, `call "sp ace" --mode="slow one" `},
		{"mcpbridge convert --from 'a' --to=ge", "--to=gemini "},
		{"mcpbridge check --config=mcpb", "--config=mcpbridge.json "},
		{"mcpbridge lint mcpb", "lint mcpbridge.json "},
		{"mcpbridge lint 'my o", "lint 'my own.json' "},
		{"mcpbridge enable --config ~/far.json re", "far.json remote "},
	}, "bash", "--norc", "--noprofile", "-i")
}

// So does it in zsh, where names with characters that are special to it are quoted.
func TestZshCompletion(t *testing.T) {
	testTab(t, "PS1='$ '; autoload -Uz compinit; compinit -u -D; source <(mcpbridge completion zsh)", []typedLine{
		{"mcpbridge vers", "mcpbridge version "},
		{"mcpbridge tools call a:", "call a:b "},
		{"mcpbridge tools call sp", `call sp\ ace `},
		{"mcpbridge tools call 'sp", "call 'sp ace' "},
		{"mcpbridge tools call back", `call back\\slash `},
		{"mcpbridge tools call find_it --mode sl", `--mode slow\ one `},
		{"mcpbridge convert --to=ge", "--to=gemini "},
		{"mcpbridge check --config=mcpb", "--config=mcpbridge.json "},
		{"mcpbridge enable --config ~/far.json re", "far.json remote "},
	}, "zsh", "-f", "-i")
}

// It does so without compinit, and before that.
func TestZshCompinit(t *testing.T) {
	for _, setup := range []string{"", "; autoload -Uz compinit; compinit -u -D"} {
		testTab(t, "PS1='$ '; source <(mcpbridge completion zsh)"+setup, []typedLine{{"mcpbridge vers", "mcpbridge version "}}, "zsh", "-f", "-i")
	}
}

// testTab types lines into a shell on a terminal, in a folder with oddConfig.
func testTab(t *testing.T, setup string, lines []typedLine, shell ...string) {
	path, err := exec.LookPath(shell[0])
	if err != nil {
		t.Skip("there is no " + shell[0])
	}
	env, dir := alone(t)
	for _, name := range []string{"mcpbridge.json", "my own.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(oddConfig), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, shell[1:]...)
	cmd.Dir, cmd.Env = dir, env
	screen, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	defer time.AfterFunc(patience, func() { cmd.Process.Kill() }).Stop()
	io.WriteString(screen, setup+"; mcpbridge tools list; echo re''ady\n")
	var seen string
	sees := func(text string) {
		t.Helper()
		buffer := make([]byte, 4096)
		for !strings.Contains(seen, text) {
			n, err := screen.Read(buffer)
			if seen += string(buffer[:n]); err != nil {
				t.Fatalf("no %q in %q: %v", text, seen, err)
			}
		}
		_, seen, _ = strings.Cut(seen, text)
	}
	sees("ready")
	for _, line := range lines {
		io.WriteString(screen, line.typed+"\t")
		sees(line.completed)
		io.WriteString(screen, "\x15") // an empty line
	}
	io.WriteString(screen, "exit\n")
	_, _ = io.Copy(io.Discard, screen) // Linux ends it with an error
	_ = cmd.Wait()                     // a shell exits as the last command did
}

// fish tells what it would complete without a terminal.
func TestFishCompletion(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("there is no fish")
	}
	env, dir := alone(t)
	if err := os.WriteFile(filepath.Join(dir, "mcpbridge.json"), []byte(oddConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	script := "mcpbridge tools list >/dev/null; mcpbridge completion fish | source\n"
	want := ""
	for _, line := range []typedLine{
		{"mcpbridge vers", "version"},
		{"mcpbridge tools call a:", "a:b"},
		{`mcpbridge tools call sp\ `, "sp ace"},
		{`mcpbridge tools call "sp`, "sp ace"},
		{"mcpbridge tools call back", `back\slash`},
		{"mcpbridge tools call find_it --mode=sl", "--mode=slow one"},
		{"mcpbridge check --config mcpb", "mcpbridge.json"},
		{"mcpbridge enable --config ~/far.json re", "remote"},
	} {
		script += "complete -C '" + strings.ReplaceAll(line.typed, `\`, `\\`) + "' | cut -f1\n"
		want += line.completed + "\n"
	}
	cmd := exec.Command(fish, "--no-config", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("got %q (%v), want %q", out, err, want)
	}
}

// The shells that are there can read their scripts.
func TestCompletionSyntax(t *testing.T) {
	for _, shell := range shells {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("there is no %s", shell)
			continue
		}
		if out, err := exec.Command(path, "-n", "completion/"+shell+".sh").CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

// The tools of a daemon that runs are known without a list that a command has made.
func TestCompleteFromDaemon(t *testing.T) {
	env, dir := alone(t)
	config := filepath.Join(dir, "mcpbridge.json")
	text := `{"mcpServers": {"lib": {"command": "fakeserver", "args": ["--library", "--tools", "find_it"]}}}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("mcpbridge")
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(path, "daemon", "--config", config)
	daemon.Env, daemon.Stderr = env, os.Stderr
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer daemon.Wait()
	defer daemon.Process.Signal(os.Interrupt)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the daemon says %q: %v", line, err)
	}
	complete := func(words ...string) string {
		cmd := exec.Command(path, append([]string{completeCommand}, words...)...)
		cmd.Env = env
		got, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	// The first answer may come too late, as the daemon's servers start then.
	for end := time.Now().Add(patience); complete("tools", "call", "--config", config, "") == ""; {
		if time.Now().After(end) {
			t.Fatal("there is no tool")
		}
	}
	if got := complete("tools", "call", "--config", config, ""); got != "find_it\tDoes find_it.\n" {
		t.Errorf("tools: %q", got)
	}
	if got := complete("prompts", "get", "--config", config, "rev"); got != "review\tReviews code. With care.\n" {
		t.Errorf("prompts: %q", got)
	}
}

// The flags of every command are found without running it.
func TestFlagsOf(t *testing.T) {
	for _, c := range commands() {
		found := false
		std := streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard, inspect: func(*sourceFlags) { found = true }}
		if err := c.run(t.Context(), nil, std); !found || !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("%s: its flags are not found: %v", c.name, err)
		}
	}
}
