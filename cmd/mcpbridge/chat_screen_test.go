//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The models that exist are listed, with a mark at the current one, and others are refused. Errors end
// their lines between words, and leaving says how to come back.
func TestChatModel(t *testing.T) {
	state := t.TempDir()
	config := filepath.Join(t.TempDir(), "my config.json")
	if err := os.WriteFile(config, []byte(`{"mcpServers": {"fakeserver": {"command": "fakeserver"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	k := startTalk(t, state, "--config", config)
	k.sees("> ")
	k.types("/model" + enter)
	k.sees("* openai/m")
	k.sees("  openai/large\r\n  openai/small\r\n")
	k.types("/model larg" + enter)
	k.sees(`unknown model "larg" (did you mean large?)`)
	k.types("/model nosuch" + enter)
	k.sees(`unknown model "nosuch" (/model lists those of openai)`)
	k.types("/model large" + enter)
	k.sees("switched to openai/large")
	k.sees("> ")
	k.resize(40)
	k.types("/expand " + strings.Repeat("x ", 10) + enter)
	k.sees("expected a number, not \"x x x x x x x x\r\nx x\"")
	k.sees("> ")
	k.types("hello" + enter)
	turn := k.asked(`"model":"large"`)
	turn.says("Hello.")
	turn.ends()
	k.sees("Hello.")
	k.sees("> ")
	k.types(ctrlD)
	k.sees("mcpbridge chat --resume ")
	k.sees(" --config '" + config + "' resumes this conversation")
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// The model's Markdown is rendered while it is written, and again when the conversation is resumed,
// with the prompts and the calls.
func TestChatMarkdown(t *testing.T) {
	state := t.TempDir()
	k := startTalk(t, state, "--", "fakeserver", "--read-only")
	k.sees("> ")
	k.types("show me" + enter)
	turn := k.asked(`"content":"show me"`)
	turn.says("# Title\n\nSome **bo")
	k.sees("\x1b[1mTitle\x1b[0m\r\n")
	k.sees("Some **bo")
	turn.says("ld** text\n\n```go\nx := 1\ny")
	k.sees("Some \x1b[1mbold\x1b[0m text\r\n")
	k.sees("\x1b[35mx := 1\x1b[0m\r\n")
	turn.makes("echo", `{"n":1}`)
	turn.ends()
	k.sees("\x1b[35my\x1b[0m\r\n")
	k.sees("✓")
	turn = k.asked(`fake echo`)
	turn.says("- one\n- &#27;[2J")
	turn.ends()
	k.sees("• one\r\n")
	k.sees("• \ufffd[2J\r\n")
	k.sees("2 turns")
	k.sees("> ")
	k.types("failing" + enter)
	k.asked().calls("nothing", "{}")
	k.asked().ends()
	k.sees("2 turns")
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}

	k = startTalk(t, state, "--resume", "--", "fakeserver")
	k.sees("openai/m, ")
	for _, text := range []string{"> \x1b[0mshow me\r\n", "\x1b[1mTitle\x1b[0m\r\n", "\x1b[35mx := 1\x1b[0m\r\n", "✓\x1b[0m \x1b[1mecho\x1b[0m",
		"• one\r\n", "> \x1b[0mfailing\r\n", "✗\x1b[0m \x1b[1mnothing\x1b[0m"} {
		k.sees(text)
	}
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// Neither the greeting nor the list of commands is cut off on a narrow terminal.
func TestChatNarrow(t *testing.T) {
	k := startTalk(t, t.TempDir(), "--no-history", "--model", strings.Repeat("long-", 8), "--", "fakeserver")
	k.sees("openai/")
	if text := steering.ReplaceAllString(k.sees("> "), " "); !strings.Contains(strings.Join(strings.Fields(text), " "), "/help lists the commands.") {
		t.Errorf("the greeting is %q", text)
	}
	k.resize(60)
	k.types("/help" + enter)
	k.sees("show or set whether the model thinks,\r\n" + strings.Repeat(" ", 22) + "or its most tokens\r\n")
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// What was typed before the program is there is a prompt a line.
func TestChatTypedAhead(t *testing.T) {
	k := startTalkAfter(t, "one"+enter+"/exit"+enter, t.TempDir(), "--no-history", "--", "fakeserver")
	turn := k.asked(`"content":"one"`)
	turn.says("First.")
	turn.ends()
	k.sees("First.")
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// The prompt is there before the servers. One that is sent waits for them, which Ctrl-C cancels.
func TestChatServersJoin(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	if err := syscall.Mkfifo(slow, 0o600); err != nil {
		t.Fatal(err)
	}
	k := startTalk(t, t.TempDir(), "--no-history", "--", "fakeserver", "--say", "installing \x1b[2Jit", "--await", slow)
	k.sees("connecting to fakeserver. /help lists the commands.")
	k.sees("> ")
	k.types("one" + enter)
	k.sees("fakeserver")
	k.sees("installing \ufffd[2Jit")
	k.types(ctrlC)
	k.sees("canceled: servers are still connecting")
	k.sees("> ")
	k.types("two" + enter)
	k.sees("installing ")
	ready, err := os.OpenFile(slow, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	ready.Close()
	k.sees("✓\x1b[0m \x1b[1mfakeserver\x1b[0m\x1b[2m 1 tool")
	turn := k.asked(`"content":"two"`, `"name":"echo"`)
	if strings.Contains(turn.body, `"one"`) {
		t.Errorf("the canceled prompt was sent: %s", turn.body)
	}
	turn.says("Done.")
	turn.ends()
	k.sees("Done.")
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// A server that connects while the user types is shown above the prompt, and one that has failed, too.
func TestChatJoinsAbove(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"slow", "broken"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "mcpbridge.json")
	text := `{"mcpServers": {"a": {"command": "fakeserver", "args": ["--await", "` + filepath.Join(dir, "slow") + `"]},
		"b": {"command": "fakeserver", "args": ["--await", "` + filepath.Join(dir, "broken") + `", "--fatal", "initialize"]}}}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k := startTalk(t, dir, "--no-history", "--config", config)
	k.sees("connecting to a, b. ")
	k.sees("> ")
	k.types("half")
	k.sees("half")
	for _, c := range []struct{ name, shown string }{{"slow", "1 tool"}, {"broken", "b: failed: "}} {
		ready, err := os.OpenFile(filepath.Join(dir, c.name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		ready.Close()
		k.sees(c.shown)
		k.sees("half")
	}
	k.types(" a line" + enter)
	turn := k.asked(`"content":"half a line"`, `"name":"a__echo"`)
	turn.ends()
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// A conversation is named and shown by what its user has typed, without the text of the files that were attached.
func TestChatFileRecalled(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("list.txt", []byte("bread and milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	k := startTalk(t, state, "--", "fakeserver", "--refuse", "-32601")
	k.sees("> ")
	k.types("What is in @list.txt" + enter)
	turn := k.asked("bread and milk", "What is in @list.txt")
	k.sees("attached: list.txt")
	turn.says("Food.")
	turn.ends()
	k.sees("1 turn")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	k = startTalk(t, state, "--resume")
	k.sees("2 messages: What is in @list.txt")
	k.sees("What is in @list.txt")
	k.sees("attached: list.txt")
	k.sees("Food.")
	k.types(ctrlD)
	if err := k.leaves(); err != nil || strings.Contains(k.all(), "bread") {
		t.Errorf("%v, and all that was shown is %s", err, k.all())
	}
}
