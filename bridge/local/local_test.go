package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// childMode is the variable that makes the test binary one of the commands below.
const childMode = "LOCAL_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(child(mode))
	}
	os.Exit(m.Run())
}

func child(mode string) int {
	switch mode {
	case "argv":
		json.NewEncoder(os.Stdout).Encode(map[string]any{"argv": os.Args[1:]})
	case "received": // its arguments and standard input
		in, _ := io.ReadAll(os.Stdin)
		json.NewEncoder(os.Stdout).Encode(received{os.Args[1:], string(in)})
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
	case "environ":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	case "dir":
		dir, _ := os.Getwd()
		fmt.Print(dir)
	case "fail":
		fmt.Println("half of it")
		fmt.Fprintln(os.Stderr, "first line\nno such thing")
		return 3
	case "flood":
		for range 1000 {
			os.Stdout.WriteString(strings.Repeat("äöü", 1000))
		}
	case "deaf": // reads nothing
		fmt.Print("deaf")
	case "tree": // starts a child that stays, and stays
		c := exec.Command(os.Args[0], os.Args[1])
		c.Env = append(os.Environ(), childMode+"=stay")
		c.Stdout = os.Stdout
		if err := c.Start(); err != nil {
			return 1
		}
		fallthrough
	case "stay": // reports its id to an address, and stays until the connection is closed
		ignoreTerm()
		conn, err := net.Dial("tcp", os.Args[1])
		if err != nil {
			return 1
		}
		fmt.Fprintln(conn, os.Getpid())
		io.Copy(io.Discard, conn)
	}
	return 0
}

// received is the input of a command.
type received struct {
	Argv  []string `json:"argv"`
	Stdin string   `json:"stdin"`
}

// open opens a backend of the kind.
func open(t testing.TB, o Options) bridge.Backend {
	t.Helper()
	return sourcetest.Open(t, o.Kind(), bridge.BackendConfig{Dir: t.TempDir()})
}

// spec returns the spec of a command that is the test binary in a mode. more has further members.
func spec(mode, more string, args ...string) string {
	command, _ := json.Marshal(append([]string{os.Args[0]}, args...))
	if more != "" {
		more = "," + more
	}
	// By default, a program built with -race sleeps for a second at its end.
	return fmt.Sprintf(`{"command":%s,"env":{%q:%q,"GORACE":"atexit_sleep_ms=0"}%s}`, command, childMode, mode, more)
}

// text returns the first block of text of a result.
func text(t testing.TB, r *toolformat.Result) string {
	t.Helper()
	all := sourcetest.Texts(t, r)
	if len(all) == 0 {
		t.Fatalf("no text: %s", r.JSON)
	}
	return all[0]
}

func TestCurrentTime(t *testing.T) {
	b := open(t, Options{})
	for _, spec := range []string{"", "null", "{}", `{"function":"CurrentTime"}`} {
		tool, _, err := b.Tool(toolformat.Tool{Name: "CurrentTime"}, json.RawMessage(spec))
		if err != nil {
			t.Fatal(err)
		}
		if tool.Timeout != 5*time.Second || !tool.ReadOnly || tool.Description != "Current date and time in ISO 8601 format" {
			t.Errorf("%+v", tool)
		}
		now, err := time.Parse(time.RFC3339, text(t, sourcetest.Do(t, tool, `{"customerid":7}`)))
		if err != nil || time.Since(now).Abs() > time.Minute {
			t.Errorf("%s: %v", now, err)
		}
	}
}

func TestFunction(t *testing.T) {
	add, err := bridge.Func("add", "Adds.", func(_ context.Context, in struct{ A, B int }) (string, error) {
		return fmt.Sprint(in.A + in.B), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reads := add
	reads.ReadOnly, reads.Idempotent, reads.Cancelable, reads.Concurrency = true, true, true, 3
	b := open(t, Options{Functions: map[string]bridge.Tool{"add": add, "reads": reads}})
	tool, _, err := b.Tool(toolformat.Tool{Name: "sum", Description: "Sums."}, json.RawMessage(`{"function":"add","timeout":"2s"}`))
	if err != nil {
		t.Fatal(err)
	}
	if tool.Name != "sum" || tool.Description != "Sums." || tool.Timeout != 2*time.Second || string(tool.InputSchema) != string(add.InputSchema) || tool.ReadOnly || tool.Cancelable {
		t.Errorf("%+v", tool)
	}
	if tool, _, err := b.Tool(toolformat.Tool{Name: "reads"}, nil); err != nil || !tool.ReadOnly || !tool.Idempotent || !tool.Cancelable || tool.Concurrency != 3 {
		t.Errorf("%v: %+v", err, tool)
	}
	if got := text(t, sourcetest.Do(t, tool, `{"A":1,"B":2}`)); got != "3" {
		t.Errorf("got %s", got)
	}
	if _, _, err = b.Tool(toolformat.Tool{Name: "mul"}, nil); err == nil || !strings.Contains(err.Error(), `unknown Go function "mul" (known: CurrentTime, add, reads)`) {
		t.Errorf("error %v", err)
	}
}

func TestSpecErrors(t *testing.T) {
	b := open(t, Options{})
	for _, c := range []struct{ spec, want string }{
		{`{"function":"CurrentTime","command":["ls"]}`, "more than one"},
		{`{"command":["ls"],"wasm":"x.wasm"}`, "more than one"},
		{`{"command":[]}`, "empty"},
		{`{"command":[""]}`, "empty"},
		{`{"command":"ls -l"}`, "command"},
		{`{"comand":["ls"]}`, "command"},
		{`{"command":["{x}"]}`, "which program"},
		{`{"command":["/bin/{x}"]}`, "which program"},
		{`{"command":["ls","a\u0000"]}`, "NUL"},
		{`{"command":["ls"],"env":{"A=B":"c"}}`, "env"},
		{`{"command":["ls"],"env":{"":"c"}}`, "env"},
		{`{"command":["ls"],"env":{"A":"c\u0000"}}`, "env"},
		{`{"command":["ls"],"timeout":"-1s"}`, "duration"},
		{`{"command":["ls"],"maxBytes":-1}`, "maxBytes"},
		{`{"command":["ls"],"maxRunning":1001}`, "maxRunning"},
		{`{"command":["ls"],"maxMemory":1}`, "maxMemory"},
		{`{"function":"CurrentTime","dir":"/"}`, "dir"},
		{`{"function":"CurrentTime","maxBytes":1}`, "maxBytes"},
		{`{"wasm":"x.wasm","stdin":false}`, "stdin"},
		{`{"wasm":"no.wasm"}`, "no.wasm"},
		{`{"command":["sh","-c","echo {x}"]}`, "as code"},
		{`{"command":["/bin/bash","-ec","{x}"]}`, "as code"},
		{`{"command":["env","A=b","sh","-c","{x}"]}`, "as code"},
		{`{"command":["python3.12","-c{x}"]}`, "as code"},
		{`{"command":["perl","-ne","{x}"]}`, "as code"},
		{`{"command":["node","--eval={x}"]}`, "as code"},
		{`{"command":["cmd.exe","/c","dir","{x}"]}`, "as code"},
		{`{"command":["ssh","host","ls","{x}"]}`, "as code"},
		{`{"command":["bash"]}`, `bash would run standard input, which has the arguments, as code: name its program or text, or set "stdin": false`},
	} {
		_, _, err := b.Tool(toolformat.Tool{Name: "tool"}, json.RawMessage(c.spec))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "local") != 1 {
			t.Errorf("%s: error %v, want %q", c.spec, err, c.want)
		}
	}
	for _, spec := range []string{
		`{"command":["sh","-c","echo \"$1\"","-","{x}"]}`,
		`{"command":["python3","script.py","{x}"]}`,
		`{"command":["git","commit","-m","{x}"]}`,
		`{"command":["awk","{print $1}"]}`,
		`{"command":["grep","-c","--","{x}"]}`,
		`{"command":["bash"],"stdin":false}`,
	} {
		sourcetest.Tool(t, b, spec)
	}
}

func TestNotes(t *testing.T) {
	b := open(t, Options{})
	definition := toolformat.Tool{Name: "tool", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{"default":1}},"required":["a"]}`)}
	_, notes, err := b.Tool(definition, json.RawMessage(`{"command":["ls","{a}","{b}","{d}","-{a}","{x}"],"stdin":false}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range notes {
		got = append(got, n.Rule+" "+n.Path)
	}
	want := "placeholder /local/command/2, option /local/command/4, placeholder /local/command/5, unused /input_schema/properties/c"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}
