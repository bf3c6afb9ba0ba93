package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// patience is how long the programs may take to be compiled, on a slow machine with
// nothing cached.
const patience = 5 * time.Minute

// TestREADME types what the README shows and compares what is printed. The generated
// file must stay what it is.
func TestREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles two programs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	generated, err := os.ReadFile("mcpbridge_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{"./cmd/mcpbridge": build(ctx, t, "../../cmd/mcpbridge"), "./examples/functions": build(ctx, t, ".")}
	commands := 0
	for _, block := range strings.Split(string(readme), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			commands++
			cmd := command(ctx, t, line, programs)
			got, err := cmd.CombinedOutput()
			if string(bytes.TrimSpace(got)) != strings.TrimSpace(want) {
				t.Errorf("%s (%v) prints\n%s\nwant\n%s", line, err, got, want)
			}
		}
	}
	if commands < 8 {
		t.Errorf("the README has only %d commands", commands)
	}
	if again, err := os.ReadFile("mcpbridge_gen.go"); err != nil || !bytes.Equal(again, generated) {
		t.Errorf("go generate has changed mcpbridge_gen.go (%v)", err)
	}
}

// build compiles a program.
func build(ctx context.Context, t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, dir).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", dir, err, out)
	}
	return program
}

// command is a line of the README, with programs that are compiled in the place of go
// run.
func command(ctx context.Context, t *testing.T, line string, programs map[string]string) *exec.Cmd {
	t.Helper()
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 { // quoted
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	var run []string
	for i := 0; i < len(words); i++ {
		if i+2 < len(words) && words[i] == "go" && words[i+1] == "run" && programs[words[i+2]] != "" {
			run = append(run, programs[words[i+2]])
			i += 2
			continue
		}
		run = append(run, words[i])
	}
	cmd := exec.CommandContext(ctx, run[0], run[1:]...)
	cmd.Dir = "../.."
	return cmd
}

// What gen finds out from the source is what a program finds out from its types; only
// the comments are gone by then.
func TestSameAsFunc(t *testing.T) {
	want, err := bridge.Func("get_year_of_weather", "", GetYear)
	if err != nil {
		t.Fatal(err)
	}
	comments := regexp.MustCompile(`"description":"(the cities, as in Rome|the temperature unit to use|by month, from January on)",`)
	got := Tools()[1]
	for _, c := range []struct{ got, want json.RawMessage }{{got.InputSchema, want.InputSchema}, {got.OutputSchema, want.OutputSchema}} {
		if bare := comments.ReplaceAllString(string(c.got), ""); bare != string(c.want) || bare == string(c.got) {
			t.Errorf("gen has found\n%s\nwant\n%s", bare, c.want)
		}
	}
	if got.Name != want.Name || got.Timeout != want.Timeout {
		t.Errorf("gen has made %s with %s, Func %s with %s", got.Name, got.Timeout, want.Name, want.Timeout)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := native.Close(); err != nil {
		t.Fatal(err)
	}
}
