//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// A talk is a chat in a terminal, with a model that the test is.
type talk struct {
	*testing.T
	terminal *os.File // the end of whoever types
	line     *os.File // the program's end
	command  *exec.Cmd
	turns    chan *modelTurn

	mu     sync.Mutex // guards what follows
	more   *sync.Cond
	output string
	seen   int
	ended  bool
}

// modelTurn is a request to the model, and its answer.
type modelTurn struct {
	body string
	pipe chan string
	gone chan struct{} // closed when nobody waits for the answer any more
	made int           // calls
}

// startTalk starts the program; state is the folder of its history.
func startTalk(t *testing.T, state string, args ...string) *talk {
	t.Helper()
	return startTalkAfter(t, "", state, args...)
}

// startTalkAfter is startTalk at a terminal where something has been typed before.
func startTalkAfter(t *testing.T, typed, state string, args ...string) *talk {
	t.Helper()
	k := &talk{T: t, turns: make(chan *modelTurn, 1)}
	server := httptest.NewServer(http.HandlerFunc(k.model))
	t.Cleanup(server.Close)
	k.start(typed, state, append([]string{"chat", "--provider", "openai", "--base-url", server.URL, "--model", "m"}, args...)...)
	return k
}

// start starts the program at a terminal.
func (k *talk) start(typed, state string, args ...string) {
	t := k.T
	t.Helper()
	k.more = sync.NewCond(&k.mu)
	path, err := exec.LookPath("mcpbridge")
	if err != nil {
		t.Fatal(err)
	}
	k.terminal, k.line, err = pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	k.resize(80)
	k.types(typed)
	k.command = exec.Command(path, args...)
	if os.Getenv("TERM") != "dumb" {
		t.Setenv("TERM", "xterm")
	}
	k.command.Env = append(os.Environ(), "NO_COLOR=", "XDG_STATE_HOME="+state, "OPENAI_API_KEY=", "GORACE=atexit_sleep_ms=0")
	k.command.Stdin, k.command.Stdout, k.command.Stderr = k.line, k.line, k.line
	if err := k.command.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(k.read)
	t.Cleanup(func() {
		k.command.Process.Kill()
		k.line.Close()
		k.terminal.Close()
		reading.Wait()
	})
}

// model hands each request to the test, and the test's answer back.
func (k *talk) model(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		io.WriteString(w, `{"data":[{"id":"m"},{"id":"large"},{"id":"small"}]}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	turn := &modelTurn{body: string(body), pipe: make(chan string), gone: make(chan struct{})}
	defer close(turn.gone)
	k.turns <- turn
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		select {
		case data, ok := <-turn.pipe:
			if !ok {
				io.WriteString(w, "data: [DONE]\n\n")
				return
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// asked waits for the next request to the model, which must contain these texts.
func (k *talk) asked(texts ...string) *modelTurn {
	k.Helper()
	select {
	case turn := <-k.turns:
		for _, text := range texts {
			if !strings.Contains(turn.body, text) {
				k.Fatalf("the model was asked\n%s\nwithout %s", turn.body, text)
			}
		}
		return turn
	case <-time.After(patience):
		k.Fatalf("the model is not asked\n%s", k.all())
		return nil
	}
}

// says streams text.
func (m *modelTurn) says(text string) { m.chunk(object{"content": text}, nil) }

// makes streams a call.
func (m *modelTurn) makes(name, arguments string) {
	call := object{"index": m.made, "id": fmt.Sprintf("c%d-%d", strings.Count(m.body, `"role":`), m.made), "type": "function",
		"function": object{"name": name, "arguments": arguments}}
	m.made++
	m.chunk(object{"tool_calls": []object{call}}, nil)
}

// ends ends the answer.
func (m *modelTurn) ends() {
	reason := "stop"
	if m.made > 0 {
		reason = "tool_calls"
	}
	m.chunk(object{}, reason)
	close(m.pipe)
}

func (m *modelTurn) chunk(delta object, reason any) {
	data, _ := json.Marshal(object{"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}}})
	select {
	case m.pipe <- string(data):
	case <-m.gone:
	}
}

// read collects the output until the terminal is closed.
func (k *talk) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := k.terminal.Read(buffer)
		k.mu.Lock()
		k.output += string(buffer[:n])
		k.ended = err != nil
		k.more.Broadcast()
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (k *talk) types(s string) {
	k.Helper()
	if _, err := io.WriteString(k.terminal, s); err != nil {
		k.Fatal(err)
	}
}

// sees waits until the text is printed, after all that was seen before. It returns what
// stands between.
func (k *talk) sees(text string) string {
	k.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		late = true
		k.more.Broadcast()
	})
	defer timer.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		if before, _, found := strings.Cut(k.output[k.seen:], text); found {
			k.seen += len(before) + len(text)
			return before
		}
		if late || k.ended {
			rest := k.output[k.seen:]
			k.Fatalf("there is no %q in\n%q", text, rest[:min(len(rest), 2000)])
		}
		k.more.Wait()
	}
}

func (k *talk) all() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.output
}

func (k *talk) resize(columns uint16) {
	k.Helper()
	if err := pty.Setsize(k.line, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		k.Fatal(err)
	}
}

// leaves waits for the program's end.
func (k *talk) leaves() error {
	k.Helper()
	done := make(chan error, 1)
	go func() { done <- k.command.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		k.Fatal("the program does not end")
		return nil
	}
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
	enter = "\r"
)

// Whoever presses Ctrl-C while the model speaks keeps the conversation and what it has
// said so far.
func TestChatInterrupted(t *testing.T) {
	k := startTalk(t, t.TempDir(), "--no-history", "--", "fakeserver")
	before, err := term.GetState(int(k.line.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	k.sees("openai/m, ")
	k.sees("1 tool")
	k.types("hello" + enter)
	turn := k.asked(`"content":"hello"`)
	turn.says("I was about to \x1b[2J")
	turn.says("tell you")
	k.sees("I was about to \ufffd[2Jtell")
	k.types(ctrlC)
	<-turn.gone
	k.sees("you") // it has waited for its end
	k.sees("canceled")
	k.sees("> ")

	k.types("half a line" + ctrlC)
	k.sees("Ctrl-C once more, or Ctrl-D, ends")
	k.types("go on" + enter)
	turn = k.asked(`"content":"hello"`, "I was about to", `"content":"go on"`)
	turn.says("Yes.")
	turn.ends()
	k.sees("Yes.")
	k.sees("1 turn")
	k.sees("> ")
	k.types(ctrlC)
	k.sees("Ctrl-C once more")
	k.types(ctrlC)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	after, err := term.GetState(int(k.line.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Errorf("the terminal was %v, and is left as %v", before, after)
	}
	if strings.Contains(k.all(), "\x1b[2J") {
		t.Errorf("an escape sequence of the model's reached the terminal")
	}
}

// Calls are asked about, and each answer does what it says.
func TestChatApproval(t *testing.T) {
	k := startTalk(t, t.TempDir(), "--", "fakeserver", "--tools", "echo,other")
	k.sees("2 tools")
	k.types("go" + enter)
	k.asked().calls("echo", `{"n":1}`)
	k.sees("? ")
	k.sees("echo")
	k.sees("Does echo.")
	k.sees(`{"n":1}`)
	k.sees("[d]efer: ")
	k.types("\x1b[200~y\x1b[201~\x1b[A\x1bOa\x1bywhat?" + enter) // a paste, keys with escape sequences, a word
	k.types("Y")
	k.sees("✓")
	k.asked(`fake echo {\"n\":1}`).calls("echo", `{"n":2}`)
	k.sees("[d]efer: ")
	k.types("n")
	k.sees("why (Enter for no reason): ")
	k.types(ctrlC)
	k.sees("[d]efer: ")
	k.types("n too many" + enter)
	k.sees("✗")
	k.sees("denied")
	k.asked("denied: the user says: too many").calls("echo", `{"n":3}`)
	k.sees("[d]efer: ")
	k.types("e" + enter) // the Enter changes nothing
	k.sees("[d]efer: ")
	k.types("e")
	k.sees(`arguments: `)
	k.types(ctrlC)
	k.sees("[d]efer: ")
	k.types("e")
	k.sees(`arguments: `)
	k.sees(`{"n":3}`)
	k.types("\x7f\x1b[200~4,\r\n\t\"m\":5\x1b[201~}" + enter)
	k.sees("✓")
	k.asked(`the user edited: {\"n\":34,\n\t\"m\":5}`).calls("other", `{"n":5}`)
	k.sees("[d]efer: ")
	k.types("a")
	k.sees("✓")
	k.asked(`fake other {\"n\":5}`).calls("other", `{"n":6}`)
	k.sees("✓") // without a question
	k.asked(`fake other {\"n\":6}`).calls("echo", `{"n":7}`)
	k.sees("[d]efer: ")
	k.types("d")
	k.sees("1 call deferred: /decide reviews it")
	k.sees("> ")
	k.types("meanwhile" + enter)
	turn := k.asked("Error: deferred: the user has not decided yet", `"content":"meanwhile"`)
	turn.says("Well.")
	turn.ends()
	k.sees("1 call deferred: /decide reviews it")
	k.sees("> ")
	k.types("/decide" + enter)
	k.sees("[d]efer: ")
	k.types("y" + enter)
	k.sees("✓")
	turn = k.asked("Error: deferred: the user has not decided yet", `fake echo {\"n\":7}`)
	turn.says("All done.")
	turn.ends()
	k.sees("All done.")
	k.types("again" + enter)
	k.asked().calls("echo", `{"n":8}`)
	k.sees("[d]efer: ")
	k.types(ctrlC)
	k.sees("canceled")
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// calls is an answer of one call.
func (m *modelTurn) calls(name, arguments string) {
	m.makes(name, arguments)
	m.ends()
}

// steering is what a terminal does not show.
var steering = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]|\r`)

// erasing erases lines that were drawn.
var erasing = regexp.MustCompile(`\r(\x1b\[[0-9]+A)?\x1b\[[JK]`)

// The lines are as wide as the terminal is when they are printed, and pasted lines are one
// prompt.
func TestChatWidth(t *testing.T) {
	k := startTalk(t, t.TempDir(), "--no-history", "--", "fakeserver", "--read-only")
	k.sees("> ")
	k.types("\x1b[200~first line\r\n\tsecond 字\x1b[201~ typed" + enter)
	turn := k.asked(`"content":"first line\n\tsecond 字 typed"`)
	k.resize(40)
	turn.says("begin " + strings.Repeat("wide 漢字 words ", 20))
	turn.makes("echo", `{"long":"`+strings.Repeat("漢", 100)+`"}`)
	turn.ends()
	k.sees("begin")
	text := "begin" + k.sees("✓")
	k.asked().calls("nothing", "{}")
	text += "✓" + k.sees("unknown tool")
	k.asked().ends()
	k.sees("3 turns")
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	text = erasing.ReplaceAllString(text, "\n") // what was drawn there is gone
	for _, line := range strings.Split(steering.ReplaceAllString(text, ""), "\n") {
		if width := uniseg.StringWidth(line); width > 40 {
			t.Errorf("a line of %d columns: %q", width, line)
		}
	}
}

// A terminal that can do nothing but print is asked line by line, and gets no escapes.
func TestChatDumb(t *testing.T) {
	t.Setenv("TERM", "dumb")
	k := startTalk(t, t.TempDir(), "--no-history", "--", "fakeserver")
	k.sees("openai/m, ")
	k.sees("> ")
	k.types("go" + enter)
	k.asked(`"content":"go"`).calls("echo", `{"n":1}`)
	k.sees(`run echo {"n":1}?`)
	k.sees("[d]efer: ")
	k.types("what?" + enter)
	k.sees("expected y, n, a, e or d")
	k.sees("[d]efer: ")
	k.types("d" + enter)
	k.sees("1 call deferred: /decide reviews it")
	k.sees("> ")
	k.types("/decide" + enter)
	k.sees("[d]efer: ")
	k.types("y" + enter)
	turn := k.asked(`fake echo {\"n\":1}`)
	turn.says("All \x1b[31mdone.")
	turn.ends()
	k.sees("All \ufffd[31mdone.")
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	if strings.Contains(k.all(), "\x1b") {
		t.Errorf("escapes have been printed: %q", k.all())
	}
}

// What a signal has ended is kept, and can be gone on with.
func TestChatEnded(t *testing.T) {
	state := t.TempDir()
	k := startTalk(t, state, "--", "fakeserver")
	k.sees("> ")
	k.types("remember this" + enter)
	turn := k.asked(`"content":"remember this"`)
	turn.says("I shall ")
	k.sees("shall")
	k.command.Process.Signal(syscall.SIGTERM)
	var exit *exec.ExitError
	if err := k.leaves(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("the program ended with %v", err)
	}

	k = startTalk(t, state, "--resume", "--", "fakeserver")
	k.sees("openai/m, 2 messages: remember this")
	k.sees("I shall")
	k.sees("> ")
	k.types("\x1b[A") // the arrow up
	k.sees("remember this")
	k.types(" again" + enter)
	turn = k.asked(`"content":"remember this"`, "I shall", `"content":"remember this again"`)
	turn.ends()
	k.sees("1 turn")
	k.sees("> ")
	k.types("/exit" + enter)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	info, err := os.Stat(filepath.Join(state, "mcpbridge", "history.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history is %v, %v", info, err)
	}
}

// What an API keeps is shown as far as it is known.
func TestChatKept(t *testing.T) {
	api := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", `[{"role":"assistant","content":"200.","timestamp":"2024-06-05T10:34:56Z"},{"role":"user","content":"Ink?"}]`))
	k := startTalk(t, t.TempDir(), "--resume", "--config", chatConfig(t, api.URL, api.URL))
	k.sees("2024-06-0") // the day depends on where one is
	k.sees(", openai/m, 2 messages")
	k.sees("Ink?")
	k.sees("200.")
	k.sees("> ")
	k.types("And pens?" + enter)
	turn := k.asked(`"content":"Ink?"`, `"content":"200."`, `"content":"And pens?"`)
	turn.says("None.")
	turn.ends()
	k.sees("None.")
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// A call that was deferred is decided in a later chat, where nothing else has happened yet.
// Whoever says no is not told of it as of a failure.
func TestChatDecided(t *testing.T) {
	state := t.TempDir()
	k := startTalk(t, state, "--", "fakeserver")
	k.sees("> ")
	k.types("go" + enter)
	k.asked().calls("echo", `{"n":1}`)
	k.sees("[d]efer: ")
	k.types("d" + enter)
	k.sees("1 call deferred")
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Fatalf("the program ended with %v", err)
	}

	k = startTalk(t, state, "--resume", "--", "fakeserver")
	k.sees("1 call deferred: /decide reviews it")
	k.sees("> ")
	k.types("/continue" + enter)
	k.sees("there are deferred calls: /decide reviews them")
	k.sees("> ")
	k.types("/decide" + enter)
	k.sees(`{"n":1}`)
	k.sees("[d]efer: ")
	k.types("n" + enter)
	turn := k.asked("denied by the user")
	turn.says("Well then.")
	turn.ends()
	if shown := k.sees("Well then."); strings.Contains(shown, "denied by") {
		t.Errorf("a denial is shown as a failure: %q", shown)
	}
	k.sees("> ")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// /continue goes on with an answer that a limit, an error or Ctrl-C has ended in the middle,
// and not with one that is whole.
func TestChatContinued(t *testing.T) {
	k := startTalk(t, t.TempDir(), "--no-history", "--", "fakeserver")
	k.sees("> ")
	k.types("go" + enter)
	turn := k.asked()
	turn.says("Once upon ")
	turn.chunk(object{}, "length")
	close(turn.pipe)
	k.sees("reached the token limit")
	k.types("/continue" + enter)
	turn = k.asked("Once upon", "Continue.")
	turn.says("a time not")
	k.sees("time")
	k.types(ctrlC)
	k.sees("canceled")
	k.types("/continue" + enter)
	turn = k.asked("Continue.")
	if strings.Contains(turn.body, "a time") {
		t.Errorf("half an answer is sent back: %s", turn.body)
	}
	turn.says("a time.")
	turn.ends()
	k.sees("1 turn")
	k.types("/continue" + enter)
	k.sees("nothing to continue")
	k.types(ctrlD)
	if err := k.leaves(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}
