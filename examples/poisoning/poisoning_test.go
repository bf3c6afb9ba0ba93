package main

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience bounds the compilation of the programs, on a slow machine with nothing cached.
const patience = 5 * time.Minute

// TestREADME runs the commands of the README and compares what they print. A command that fails prints
// nothing but its error.
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
	program := filepath.Join(t.TempDir(), "mcpbridge.exe")
	if out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", program, "../../cmd/mcpbridge").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, variable := range []string{"XDG_STATE_HOME", "LocalAppData"} { // where pins are kept
		t.Setenv(variable, t.TempDir())
	}
	commands := 0
	for _, block := range strings.Split(string(readme), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			line, day2 := strings.CutPrefix(line, "DAY=2 ")
			line, found := strings.CutPrefix(line, "go run ./cmd/mcpbridge ")
			if !found {
				t.Fatalf("the README has another command: %s", line)
			}
			commands++
			cmd := exec.CommandContext(ctx, program, strings.Fields(line)...)
			cmd.Dir = "../.."
			if day2 {
				cmd.Env = append(os.Environ(), "DAY=2")
			}
			var out, failure bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &failure
			err := cmd.Run()
			if got := cmp.Or(strings.TrimSpace(out.String()), strings.TrimSpace(withoutProgress(failure.String()))); got != strings.TrimSpace(want) {
				t.Errorf("%s (%v) prints\n%s\nwant\n%s\nerrors: %s", line, err, got, want, failure.String())
			}
		}
	}
	if commands < 4 {
		t.Errorf("the README has only %d commands", commands)
	}
}

// withoutProgress leaves out the lines that tell, after a few seconds, which servers are not up yet.
func withoutProgress(text string) string {
	lines := slices.Collect(strings.Lines(text))
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "mcpbridge: waiting for ") }), "")
}
