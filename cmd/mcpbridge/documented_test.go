//go:build unix

package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every command at the console of docs/commands.md prints what the page shows, in any order of lines.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/documented")); err != nil {
		t.Fatal(err)
	}
	guarded := newGuarded()
	defer guarded.Close()
	query := regexp.MustCompile(`\?client_id=\S+`)
	commands := 0
	for _, block := range strings.Split(string(page), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, example := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(strings.TrimSuffix(example, "\n")+"\n", "\n")
			commands++
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir, "MCPBRIDGE_SECRET_KEY="+testSecretKey,
				"GUARDED="+guarded.URL, "BROWSER=fakebrowser")
			got, _ := cmd.CombinedOutput() // some examples fail
			got = query.ReplaceAll([]byte(strings.ReplaceAll(string(got), guarded.URL, "https://docs.example.com")), []byte("?…"))
			if sortedLines(withoutWaiting(string(got))) != sortedLines(want) {
				t.Errorf("%s prints\n%s\nand not\n%s", line, got, want)
			}
		}
	}
	if commands < 4 {
		t.Errorf("only %d commands were found", commands)
	}
}

func sortedLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
