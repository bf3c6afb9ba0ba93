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

// patience bounds the compilation of the programs, on a slow machine with nothing cached.
const patience = 5 * time.Minute

// TestREADME runs the commands of the README and compares what they print. The generated file must
// not change.
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
	programs := build(ctx, t)
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

// build compiles both programs of the README at once.
func build(ctx context.Context, t *testing.T) (programs map[string]string) {
	t.Helper()
	dir, suffix := t.TempDir(), ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", dir, "../../cmd/mcpbridge", ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return map[string]string{"./cmd/mcpbridge": filepath.Join(dir, "mcpbridge"+suffix), "./examples/functions": filepath.Join(dir, "functions"+suffix)}
}

// command returns the command of a line of the README. Compiled programs replace go run.
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

// The source tells gen what the types tell a program, which lacks only the comments.
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
