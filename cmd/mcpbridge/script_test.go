package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "8") // scripts mostly wait; the command line may say otherwise
	testscript.Main(m, map[string]func(){"mcpbridge": main, "fakeserver": fakeServer, "notes-server": fakeServer, "fakebrowser": fakeBrowser})
}

// TestScripts runs testdata/script/*.txtar: the command line as its users type it. With
// UPDATE_GOLDEN=1 in the environment what a script compares with is written anew.
//
// Beside testscript's own commands there are:
//
//	exits CODE COMMAND…   runs a command that ends with that exit code; stderr has no lines that say what it waits for
//	talk FILE COMMAND…    runs a command that exits with 0; it reads FILE, and then the end when each request has its response
//	serve ARG…            runs mcpbridge serve until it says where it listens: $URL, and $ADDR without the scheme
//	get PATH              fetches $URL/PATH and prints the status and the body
//	call NAME ARGS H=V…   calls a tool of serve, with HTTP headers, and prints the response
//	api                   starts an API, $API, that keeps messages: each POST one, and GET has those of its path, the newest first. All else fails
//	guarded               starts an MCP server that wants OAuth, at $GUARDED/mcp; fakebrowser is a browser whose user agrees
//	signal SIGNAL         sends serve a signal, and does not wait for its end
//	logged TEXT           waits until serve has logged a text that it had not logged at the last time
//	end SIGNAL            ends serve with TERM or INT; it must exit with 0. stdout and stderr are its own
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_GOLDEN") != "",
		Setup: func(env *testscript.Env) error {
			// HOME is one that does not exist; caches belong into the script's folder.
			env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/.cache")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/.config")
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/.state")
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir+"/.run")
			if err := os.Mkdir(env.WorkDir+"/.run", 0o700); err != nil {
				return err
			}
			env.Setenv("MCPBRIDGE_SECRET_KEY", testSecretKey)
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("TOKEN", "0123456789abcdef") // for serve, which a script's own env does not reach
			env.Values[servedKey{}] = &served{env: env}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "talk": cmdTalk, "serve": cmdServe, "get": cmdGet, "call": cmdCall, "api": cmdAPI, "guarded": cmdGuarded, "signal": cmdSignal, "logged": cmdLogged, "end": cmdEnd,
		},
	})
}

// testSecretKey is a key for secrets, so that no test asks for a keychain.
const testSecretKey = "0123456789abcdef0123456789abcdef"

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	code := "0"
	err := ts.Exec(args[1], args[2:]...)
	if printed := ts.ReadFile("stderr"); withoutWaiting(printed) != printed {
		io.WriteString(ts.Stdout(), ts.ReadFile("stdout"))
		io.WriteString(ts.Stderr(), withoutWaiting(printed))
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = strconv.Itoa(exit.ExitCode())
	} else {
		ts.Check(err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, not %s", code, args[0])
	}
}

// withoutWaiting returns what a command has printed without the lines about servers that take long, as they may on a
// machine under load.
func withoutWaiting(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "mcpbridge: waiting for ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func cmdTalk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: talk FILE COMMAND…")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = ts.MkAbs("."), ts.Value(servedKey{}).(*served).env.Vars, ts.Stderr()
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer time.AfterFunc(patience, func() { cmd.Process.Kill() }).Stop()
	said := ts.ReadFile(args[0])
	io.WriteString(stdin, said) // what fails here, the output tells
	lines := bufio.NewReader(stdout)
	for range strings.Count(said, `"id":`) {
		line, err := lines.ReadString('\n')
		io.WriteString(ts.Stdout(), line)
		if err != nil {
			break
		}
	}
	stdin.Close()
	io.Copy(ts.Stdout(), lines)
	ts.Check(cmd.Wait())
}

// patience bounds every wait: long enough for a machine under load.
const patience = time.Minute

type servedKey struct{}

// served is a bridge that a script has started.
type served struct {
	env    *testscript.Env
	cmd    *exec.Cmd
	stdout strings.Builder
	stderr lineLog
	done   chan error
}

// lineLog keeps what is written to it and passes on the first address that the bridge
// says it listens on.
type lineLog struct {
	found chan string

	mu   sync.Mutex // guards what follows
	text strings.Builder
	told bool
	seen int // bytes of text before which logged does not look
}

// find reports whether a text stands behind what find has found before.
func (l *lineLog) find(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := strings.Index(l.text.String()[l.seen:], text)
	if at >= 0 {
		l.seen += at + len(text)
	}
	return at >= 0
}

func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	_, rest, _ := strings.Cut(l.text.String(), "listening on ")
	if url, _, whole := strings.Cut(rest, "\n"); whole && !l.told {
		l.found <- url
		l.told = true
	}
	return len(p), nil
}

func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(servedKey{}).(*served)
	if neg || s.cmd != nil {
		ts.Fatalf("usage: serve ARG…, once")
	}
	path, err := exec.LookPath("mcpbridge")
	ts.Check(err)
	s.cmd = exec.Command(path, append([]string{"serve"}, args...)...)
	s.cmd.Dir, s.cmd.Env = ts.MkAbs("."), s.env.Vars
	s.stderr.found, s.done = make(chan string, 1), make(chan error, 1)
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	ts.Check(s.cmd.Start())
	go func() { s.done <- s.cmd.Wait() }()
	ts.Defer(func() { s.cmd.Process.Kill() })
	select {
	case url := <-s.stderr.found:
		ts.Setenv("URL", url)
		ts.Setenv("ADDR", strings.TrimPrefix(url, "http://"))
	case err := <-s.done:
		ts.Fatalf("serve ended: %v\n%s", err, s.stderr.text.String())
	case <-time.After(patience):
		ts.Fatalf("serve does not say where it listens")
	}
}

func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: get PATH")
	}
	client := http.Client{Timeout: patience}
	resp, err := client.Get(ts.Getenv("URL") + args[0])
	ts.Check(err)
	defer resp.Body.Close()
	fmt.Fprintln(ts.Stdout(), resp.Status)
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}

func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: call NAME ARGS HEADER=VALUE…")
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, args[0], args[1])
	req, err := http.NewRequest("POST", ts.Getenv("URL")+"/mcp", strings.NewReader(body))
	ts.Check(err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": args[0]} {
		req.Header.Set(name, value)
	}
	for _, h := range args[2:] {
		name, value, _ := strings.Cut(h, "=")
		req.Header.Add(name, value)
	}
	client := http.Client{Timeout: patience}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}

func cmdAPI(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: api")
	}
	var mu sync.Mutex // guards kept
	kept := map[string][]json.RawMessage{}
	handle := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var message json.RawMessage
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !strings.HasSuffix(r.URL.Path, "/messages"):
			http.Error(w, "out of order", http.StatusInternalServerError)
		case r.Method == http.MethodGet:
			json.NewEncoder(w).Encode(append([]json.RawMessage{}, kept[r.URL.Path]...))
		case json.NewDecoder(r.Body).Decode(&message) == nil:
			kept[r.URL.Path] = append([]json.RawMessage{message}, kept[r.URL.Path]...)
			io.WriteString(w, "{}")
		}
	}
	api := httptest.NewServer(http.HandlerFunc(handle))
	ts.Defer(api.Close)
	ts.Setenv("API", api.URL)
}

func signals() map[string]os.Signal {
	return map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt, "HUP": syscall.SIGHUP}
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(servedKey{}).(*served)
	if neg || len(args) != 1 || signals()[args[0]] == nil || s.cmd == nil {
		ts.Fatalf("usage: signal TERM|INT|HUP, after serve")
	}
	ts.Check(s.cmd.Process.Signal(signals()[args[0]]))
}

func cmdLogged(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(servedKey{}).(*served)
	if neg || len(args) != 1 || s.cmd == nil {
		ts.Fatalf("usage: logged TEXT, after serve")
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !s.stderr.find(args[0]); <-tick.C {
		if time.Now().After(end) {
			ts.Fatalf("serve has not logged %q", args[0])
		}
	}
}

func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(servedKey{}).(*served)
	if neg || len(args) != 1 || signals()[args[0]] == nil || s.cmd == nil {
		ts.Fatalf("usage: end TERM|INT|HUP, after serve")
	}
	ts.Check(s.cmd.Process.Signal(signals()[args[0]]))
	select {
	case err := <-s.done:
		fmt.Fprint(ts.Stdout(), s.stdout.String())
		fmt.Fprint(ts.Stderr(), s.stderr.text.String())
		ts.Check(err)
	case <-time.After(patience):
		ts.Fatalf("serve does not end")
	}
}
