//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rivo/uniseg"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
)

// onTerminal returns what a command writes on a terminal of so many columns.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	command, screen := startOnTerminal(t, columns, args...)
	output, _ := io.ReadAll(screen) // Linux ends it with an error
	_ = command.Wait()              // the tests look at the output
	return string(output)
}

func startOnTerminal(t *testing.T, columns uint16, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	path, err := exec.LookPath("mcpbridge")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, args...)
	command.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "GORACE=atexit_sleep_ms=0", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	screen, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { command.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		screen.Close()
	})
	return command, screen
}

// A server that takes its time is shown with what it prints, and its row takes the place of that.
func TestSlowStart(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	if err := syscall.Mkfifo(slow, 0o600); err != nil {
		t.Fatal(err)
	}
	command, screen := startOnTerminal(t, 80, "check", "--", "fakeserver", "--say", "installing\tit", "--await", slow)
	var seen []byte
	for buffer := make([]byte, 1000); !bytes.Contains(seen, []byte(" installing it\x1b")); {
		n, err := screen.Read(buffer)
		if seen = append(seen, buffer[:n]...); err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
	}
	ready, err := os.OpenFile(slow, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	ready.Close()
	rest, _ := io.ReadAll(screen)
	if err := command.Wait(); err != nil || !bytes.Contains(rest, []byte("\r\x1b[Kok   fakeserver: ready ")) || !bytes.HasSuffix(rest, []byte("tokens\r\n")) {
		t.Errorf("%v: %q", err, rest)
	}
}

// A secret that is longer than what a terminal takes of it is not kept.
func TestSecretTooLong(t *testing.T) {
	command, screen := startOnTerminal(t, 80, "secret", "set", "LONG")
	var seen []byte
	for buffer := make([]byte, 1000); !bytes.Contains(seen, []byte("(it is not shown): ")); {
		n, err := screen.Read(buffer)
		if seen = append(seen, buffer[:n]...); err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
	}
	go io.WriteString(screen, strings.Repeat("x", 5000)+"\r")
	rest, _ := io.ReadAll(screen)
	if err := command.Wait(); err == nil || !bytes.Contains(rest, []byte("mcpbridge secret set LONG <FILE")) {
		t.Errorf("%v: %q", err, rest)
	}
}

// ours matches the escape sequences of the progress line.
var ours = regexp.MustCompile(`\x1b\[(?:[0-9]*A|[JK]|[0-9]*m)`)

// Names, descriptions, results and errors of servers reach a terminal without control characters,
// and errors and names also a file.
func TestControlCharacters(t *testing.T) {
	const evil = "e\x1b]0;title\x07v\x1b[2Ji\u009bl"
	for _, args := range [][]string{
		{"tools", "list", "--", "fakeserver", "--tools", "a," + evil},
		{"check", "--", "fakeserver", "--name", evil},
		{"check", "--", "fakeserver", "--crash", evil},
		{"lint", "--", "fakeserver", "--tools", evil},
		{"tools", "call", "echo", "--", "fakeserver", "--name", evil},
		{"tools", "call", "echo", "--json", "--", "fakeserver", "--name", evil},
		{"tools", "call", evil, "--", "fakeserver", "--tools", evil, "--answer", "refusal"},
		{"tools", "call", "none", "--", "fakeserver", "--tools", "a," + evil},
		{"tools", "list", "--", "fakeserver", "--crash", evil},
		{"ask", "go", "--provider", "openai", "--base-url", "http://127.0.0.1:1", "--model", evil, "--", "fakeserver"},
		{"--" + evil},
	} {
		got := onTerminal(t, 100, args...)
		if bad := regexp.MustCompile(`[^\r\n\t\P{Cc}]`).FindString(ours.ReplaceAllString(got, "")); bad != "" || got == "" {
			t.Errorf("%q: %q in %q", args, bad, got)
		}
	}
	path, err := exec.LookPath("mcpbridge")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"tools", "list", "--", "fakeserver", "--tools", evil},
		{"check", "--", "fakeserver", "--crash", evil},
		{"tools", "call", evil, "--", "fakeserver", "--tools", evil, "--answer", "refusal"},
	} {
		if got, _ := exec.Command(path, args...).CombinedOutput(); strings.ContainsAny(string(got), "\x1b\a\u009b") || len(got) == 0 {
			t.Errorf("%q: %q", args, got)
		}
	}
}

// A list of tools is as wide as its terminal, and shows each name in full.
func TestListWidth(t *testing.T) {
	const name = "a_tool_with_a_rather_long_name_of_its_own"
	for columns, about := range map[uint16]string{100: "Does " + name + ".", 60: "Does " + name + ".", 30: "…"} {
		got := onTerminal(t, columns, "tools", "list", "--", "fakeserver", "--tools", "echo,"+name)
		lines := strings.Split(strings.TrimSpace(ours.ReplaceAllString(got, "")), "\n")
		last := strings.TrimSpace(lines[len(lines)-1])
		if !strings.Contains(got, "\n"+name) || !strings.HasSuffix(last, about) || uniseg.StringWidth(last) > max(int(columns), len(name)) {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
}

// Errors about a command, and notes, end their lines between words.
func TestUsageWidth(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcpbridge.json")
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"tools lsit --config mcpbridge.json":  "mcpbridge: unknown command",
		"approve":                             "mcpbridge: unknown command",
		"tools":                               "mcpbridge: tools: expected",
		"secret get A":                        "mcpbridge: secret get: ",
		"token remove ann --config " + config: "removed the token of ann\nit was the last one: ",
	} {
		if strings.HasPrefix(args, "token ") {
			runWith("token", "create", "ann", "--config", config)
		}
		text := strings.ReplaceAll(onTerminal(t, 30, strings.Fields(args)...), "\r", "")
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			if len(line) > 30 || !strings.HasPrefix(text, want) {
				t.Errorf("%q: %q", args, text)
			}
		}
	}
}

// The help of each command fits a terminal, and has no long lines on a wide one. Only an example, or a flag and its value,
// stay whole where they are wider.
func TestHelpWidth(t *testing.T) {
	lists := [][]string{{"--help"}, {"tools", "--help"}}
	for _, c := range commands() {
		lists = append(lists, append(strings.Fields(c.name), "--help"))
	}
	for columns, most := range map[uint16]int{40: 40, 56: 56, 90: 90, 200: 100} {
		ours, theirs, err := pty.Open()
		if err != nil {
			t.Skip(err)
		}
		if err := pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
			t.Fatal(err)
		}
		read := make(chan string)
		go func() {
			text, _ := io.ReadAll(ours) // Linux ends it with an error
			read <- string(text)
		}()
		for _, args := range lists {
			if code := run(t.Context(), args, streams{out: output.New(theirs), err: io.Discard}); code != exitDone {
				t.Errorf("%q: exit code %d", args, code)
			}
		}
		theirs.Close()
		longest, examples := 0, 0
		for line := range strings.Lines(<-read) {
			line = strings.TrimRight(line, "\r\n")
			if strings.HasPrefix(line, "  ") && strings.Contains(completionAbout+genAbout, line+"\n") {
				examples++
			} else if width := uniseg.StringWidth(line); width > most && !strings.HasPrefix(line, "      --") {
				t.Errorf("%d columns: %q", columns, line)
			} else {
				longest = max(longest, width)
			}
		}
		if examples < 10 {
			t.Errorf("%d columns: only %d lines of examples are whole", columns, examples)
		}
		if longest < most*3/4 {
			t.Errorf("%d columns: no line has more than %d", columns, longest)
		}
		ours.Close()
	}
}

// What an import costs is advice: check says it, and all is well.
func TestCheckAdvice(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcpbridge.json")
	operation := `"operationId": "a", "description": "` + strings.Repeat("more ", 20_000) + `"`
	text := `{"apis": {"type": "openapi", "url": "http://127.0.0.1:1", "document": {"openapi": "3.1.0", "paths": {"/a": {"get": {` + operation + `}}}}}}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := runWith("check", "--config", config)
	if code != exitDone || !strings.Contains(out, "note ") || !strings.Contains(out, "choose those that are needed with tags, include or exclude") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// askScript has a model that calls echo and answers in Markdown.
const askScript = `{"fmt":"openai-chat","resp":{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"echo","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}}
{"fmt":"openai-chat","resp":{"choices":[{"index":0,"message":{"role":"assistant","content":"It is **one**.\n\n- a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}}
`

// A terminal shows what the model writes as chat does, unless a log is shown there, too.
func TestAskOnTerminal(t *testing.T) {
	script := filepath.Join(t.TempDir(), "answers.jsonl")
	if err := os.WriteFile(script, []byte(askScript), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"ask", "--script", script, "Go!", "--", "fakeserver"}
	got := onTerminal(t, 80, args...)
	for _, want := range []string{"✓\x1b[0m \x1b[1mecho\x1b[0m", "It is \x1b[1mone\x1b[0m.\r\n\r\n• a\r", "\r\n• a\r\n\r\n\x1b[2m2 turns, 10 tokens read, 4 written\x1b[0m\r\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q without %q", got, want)
		}
	}
	got = onTerminal(t, 80, append([]string{"ask", "--log-level", "error"}, args[1:]...)...)
	if want := "mcpbridge: calls echo {\"a\":1}\r\nIt is **one**.\r\n\r\n- a\r\n"; !strings.HasSuffix(got, want) {
		t.Errorf("with a log: got %q, want %q", got, want)
	}
}

// Only the text is on the screen if standard error is somewhere else.
func TestAskOnTerminalAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "answers.jsonl"), []byte(askScript), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("mcpbridge")
	if err != nil {
		t.Fatal(err)
	}
	screen, line, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	var errs bytes.Buffer
	command := exec.Command(path, "ask", "--script", "answers.jsonl", "Go!", "--", "fakeserver")
	command.Dir, command.Stdout, command.Stderr = dir, line, &errs
	command.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "GORACE=atexit_sleep_ms=0", "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
	err = command.Run()
	line.Close()
	got, _ := io.ReadAll(screen) // Linux ends it with an error
	if !bytes.HasPrefix(got, []byte("It is **one**.\r\n\r\n• a")) || !bytes.HasSuffix(got, []byte("\n• a\r\n")) || errs.String() != "mcpbridge: calls echo {\"a\":1}\n" || err != nil {
		t.Errorf("%v: got %q and %q", err, got, errs.String())
	}
}

// A question ends between words, with room for the answer.
func TestInitQuestion(t *testing.T) {
	command, screen := startOnTerminal(t, 40, "init", "cursor", "--config", "/a-folder/another-folder/mcpbridge.json")
	var seen []byte
	for buffer := make([]byte, 1000); !bytes.HasSuffix(seen, []byte("[Y/n] ")); {
		n, err := screen.Read(buffer)
		if seen = append(seen, buffer[:n]...); err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
	}
	io.WriteString(screen, "n\n")
	_, _ = io.Copy(io.Discard, screen) // Linux ends it with an error
	_ = command.Wait()
	if want := "Found Cursor. Copy their servers into\r\n/a-folder/another-folder/mcpbridge.json,\r\nand connect each once? [Y/n] "; string(seen) != want {
		t.Errorf("got %q, want %q", seen, want)
	}
}

// What has changed can be read on a light and on a dark background.
func TestPinsColors(t *testing.T) {
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer ours.Close()
	if err := pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	change := pins.Change{Kind: bridge.Tools, Name: "add"}
	change.Accepted = &pins.Definition{Raw: []byte(`{"description":"one"}`)}
	change.Held = &pins.Definition{Raw: []byte(`{"description":"two"}`)}
	heldBacks([]pins.Change{change})[0].print(output.New(theirs))
	theirs.Close()
	text, _ := io.ReadAll(ours) // Linux ends it with an error
	if want := "\r\ntool add has changed\r\n  \x1b[31m- description: one\x1b[0m\r\n  \x1b[1m+ description: two\x1b[0m\r\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
}
