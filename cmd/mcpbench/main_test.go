package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
)

// asProgram makes the test binary be the program, in the processes that a test starts.
const asProgram = "MCPBENCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// invoke runs a command in this process; what it starts are processes of their own.
func invoke(t *testing.T, args ...string) (out, log string, err error) {
	t.Helper()
	t.Setenv(asProgram, "1")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else each process waits a second before it ends
	var o, l bytes.Buffer
	err = dispatch(context.Background(), args, &o, &l)
	return o.String(), l.String(), err
}

// gateways describes two gateways: the floor, and one that ends at once.
func gateways(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "gateways.json")
	text := fmt.Sprintf(`{"gateways": [
		{"name": "floor", "version": "1", "tool": "*cho", "addresses": {"http": "http://127.0.0.1:{port}/mcp"}, "modern": true,
		 "stdio": [%[1]q, "echo"],
		 "upstreams": {"stdio": {"command": [%[1]q, "floor", "--listen", "127.0.0.1:{port}", "--", "{command}", "{args}"]},
		               "http": {"command": [%[1]q, "floor", "--listen", "127.0.0.1:{port}", "--upstream", "{url}"]}}},
		{"name": "broken", "tool": "echo", "command": [%[1]q, "floor", "--wrong"], "addresses": {"http": "http://127.0.0.1:{port}/mcp"}, "upstreams": {"http": {}}},
		{"name": "absent", "tool": "echo", "command": ["{home}/no-such-gateway"], "install": "make {home}/no-such-gateway",
		 "addresses": {"http": "http://127.0.0.1:{port}/mcp"}, "upstreams": {"http": {}}}
	]}`, self)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Each kind of cell is measured on each carrier, written, shown and compared.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	short := []string{"run", "--gateways", gateways(t), "--pairs=1", "--again=0", "--for=10ms", "--warm=1ms", "--only=floor"}
	out, log, err := invoke(t, append(short, "--suite=calls", "--suite=carriers", "--cell=C=32, 32 B", "--json="+file)...)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, log)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r bench.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, row := range r.Rows {
		kinds[row.Cell.Client+" "+row.Cell.Kind+" "+row.Cell.Era]++
		if row.Error != "" || len(row.Pairs) != 1 || row.Pairs[0].Gateway == nil || row.Pairs[0].Direct == nil {
			t.Errorf("%s: %d pairs", row, len(row.Pairs))
		}
	}
	for _, kind := range []string{"http call legacy", "http call modern", "stdio call legacy"} {
		if kinds[kind] == 0 {
			t.Errorf("nothing is measured of %q: %v", kind, kinds)
		}
	}
	testReport(t, file)
	out, _, err = invoke(t, append(short, "--cell=http -> http, C=32, 32 B", "--against="+file)...)
	if !strings.Contains(out, "http -> http, C=32, 32 B: CPU a call") {
		t.Errorf("against: %v\n%s", err, out)
	}
}

// testReport shows figures in a page and in a picture.
func testReport(t *testing.T, file string) {
	folder := t.TempDir()
	page, picture := filepath.Join(folder, "page.md"), filepath.Join(folder, "picture.svg")
	if err := os.WriteFile(page, []byte("a\n<!-- mcpbench calls -->\nold\n<!-- end -->\nb\n<!-- mcpbench soak -->\nkept\n<!-- end -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := invoke(t, "report", "--page", page, "--svg", picture, file); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		page: "| http -> stdio, C=32, 32 B |", picture: "stdio server, 32 callers, 32 B", file: "\n{\"gateway\":\"floor\",",
	} {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q: %v\n%s", name, want, err, text)
		}
		if name == page && (strings.Contains(string(text), "old") || !strings.Contains(string(text), "kept")) {
			t.Errorf("%s", text)
		}
	}
	if _, _, err := invoke(t, "report", "--page", page, file); err != nil {
		t.Error(err)
	}
}

// What is more than calls: cold starts, lists, idle sessions, a process for each round of a curve.
func TestOtherSuites(t *testing.T) {
	args := []string{"run", "--gateways", gateways(t), "--only=floor", "--pairs=1", "--again=0", "--for=1ms", "--warm=0s"}
	for suite, c := range map[string]struct{ cell, want string }{
		"start": {"-> stdio, start to first list", "more than the floor"}, "lists": {"http, list of 1000,", "list of 1000, C=1"},
		"idle": {"-> http", "KB a session"}, "connections": {"-> http, C=8,", "| connections | "},
	} {
		out, log, err := invoke(t, append(args, "--suite", suite, "--cell", c.cell)...)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v\n%s%s", suite, err, out, log)
		}
	}
}

func TestErrors(t *testing.T) {
	file := gateways(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"walk"}, `no command "walk"`},
		{[]string{"run", "--for"}, "mcpbench run --help"},
		{[]string{"run", "x"}, `unexpected argument "x"`},
		{[]string{"run", "--pairs=0"}, "--pairs of at least 1"},
		{[]string{"load", "--url=http://h/", "--payload=1"}, "--payload of at least 20"},
		{[]string{"run", "--gateways", file, "--only=floor", "--suite=x"}, `no suite "x"`},
		{[]string{"run", "--gateways", file, "--only=x"}, `no gateway "x": known are floor, broken, absent`},
		{[]string{"run", "--gateways", file, "--only=absent"}, "/gateways/no-such-gateway"},
		{[]string{"run", "--gateways", file, "--only=floor", "--cell=x"}, "nothing to measure"},
		{[]string{"run", "--gateways", file, "--only=broken", "--pairs=1"}, "4 of 4 cells failed"},
		{[]string{"run", "--gateways", "none.json"}, "none.json"},
		{[]string{"echo", "--modern=x"}, `invalid argument "x" for "--modern"`},
		{[]string{"floor"}, "--upstream URL or -- COMMAND"},
		{[]string{"load"}, "--url URL or -- COMMAND"},
		{[]string{"load", "--url=http://127.0.0.1:1/mcp"}, "connection refused"},
		{[]string{"report"}, "expected files"},
	} {
		if out, log, err := invoke(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q\n%s%s", c.args, err, c.want, out, log)
		}
	}
}

// A gateway that ends says why.
func TestBrokenGateway(t *testing.T) {
	_, log, _ := invoke(t, "run", "--gateways", gateways(t), "--only=broken", "--pairs=1")
	if !strings.Contains(log, "gateway: it has ended: exit status 1: mcpbench: floor: unknown flag: --wrong (see") {
		t.Error(log)
	}
}

func TestHelp(t *testing.T) {
	out, _, err := invoke(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		help, _, err := invoke(t, c.name, "--help")
		if err != nil || !strings.Contains(out, "mcpbench "+c.name) || !strings.HasPrefix(help, "Usage: mcpbench "+c.name) {
			t.Errorf("%s: %v\n%s", c.name, err, help)
		}
	}
}

// The descriptions that are built in can be read and say how to install what they describe.
func TestGateways(t *testing.T) {
	all, err := bench.ReadGateways(gatewaysFile, "home")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if g.Install == "" || g.Project == "" {
			t.Errorf("%s: neither a project nor how to install it", g.Name)
		}
	}
	if out, _, err := invoke(t, "gateways"); err != nil || !strings.Contains(out, "mcpbridge: ") {
		t.Errorf("%v\n%s", err, out)
	}
}
