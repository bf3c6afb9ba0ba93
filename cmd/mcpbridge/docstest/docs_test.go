// Package docstest holds what the documentation shows to what the program does: links lead
// somewhere, configs load, commands and flags exist.
package docstest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

const root = "../../.."

// pages are the Markdown files of the project, by their path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/README.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(root, file)
			all[filepath.ToSlash(name)] = string(text)
		}
	}
	return all
}

// The README is for the first ten minutes.
func TestREADME(t *testing.T) {
	if size := len(pages(t)["README.md"]); size == 0 || size > 8000 {
		t.Errorf("README.md has %d bytes, 8000 are allowed", size)
	}
}

// docs/architecture.md says what each direct dependency is for.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\nrequire (\n")
	list, _, _ = strings.Cut(list, "\n)")
	page, found := pages(t)["docs/architecture.md"], 0
	for line := range strings.Lines(list) {
		module, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if found++; !strings.Contains(page, strings.TrimPrefix(module, "github.com/")+"`") {
			t.Errorf("%s is not in docs/architecture.md", module)
		}
	}
	if found < 20 {
		t.Errorf("only %d modules were found", found)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinks(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := name
			if target != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(name), target))
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s: %s leads nowhere", name, m[1])
			} else if anchor != "" && !anchors(all[path])[anchor] {
				t.Errorf("%s: %s has no heading #%s", name, path, anchor)
			}
		}
	}
}

// anchors are the headings of a page, as links spell them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(page) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			heading = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			all[strings.ReplaceAll(heading, " ", "-")] = true
		}
	}
	return all
}

// blocks are the fenced blocks of a page in one of the languages.
func blocks(page string, languages ...string) (all []string) {
	for i, part := range strings.Split(page, "```") {
		language, body, _ := strings.Cut(part, "\n")
		for _, l := range languages {
			if i%2 == 1 && language == l {
				all = append(all, body)
			}
		}
	}
	return all
}

var variable = regexp.MustCompile(`\$\{(?:env:)?([A-Z_]+)\}`)

// Every config that is shown loads, and all other JSON is JSON.
func TestConfigs(t *testing.T) {
	loaded := 0
	for name, text := range pages(t) {
		for _, block := range blocks(text, "json", "jsonc") {
			raw, err := hujson.Standardize([]byte(block))
			if err != nil {
				t.Errorf("%s: %v in\n%s", name, err, block)
				continue
			}
			var keys map[string]any
			if json.Unmarshal(raw, &keys) != nil || !isConfig(keys) {
				continue
			}
			load(t, name, block)
			loaded++
		}
	}
	if loaded < 5 {
		t.Errorf("only %d configs were found", loaded)
	}
}

// load loads a config that is shown somewhere.
func load(t *testing.T, where, text string) {
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		t.Setenv(m[1], "the-value-of-"+m[1])
	}
	file := filepath.Join(t.TempDir(), "mcpbridge.json")
	if _, err := (config.Loader{}).Parse(file, []byte(text)); err != nil {
		t.Errorf("%s: %v in\n%s", where, err, text)
	}
}

// The configs of manifests load.
func TestDeployed(t *testing.T) {
	files, err := filepath.Glob("../../../examples/fleet/deploy/*")
	if err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, in := string(raw), filepath.Ext(file) == ".json"
		if _, after, is := strings.Cut(text, "mcpbridge.json: |\n"); is {
			text, _, in = strings.Cut(after, "---\n")
		}
		if in {
			load(t, file, text)
			loaded++
		}
	}
	if loaded != 3 {
		t.Errorf("%d configs were found", loaded)
	}
}

// isConfig reports whether an object is a config, and not one of an editor.
func isConfig(keys map[string]any) bool {
	for _, key := range []string{"mcpServers", "apis", "providers", "tools", "context", "loop", "profiles", "policy"} {
		if _, ok := keys[key]; ok {
			return true
		}
	}
	return false
}

var command = regexp.MustCompile(`(?m)^(?:.*[|;&]\s*)?\$?\s*(?:go run ./cmd/|[A-Z]+=\S+ )?(mcpbridge|mcpbench) ([a-z]+(?: (?:list|call|create|remove|test|show|decide))?)(.*)$`)

// Every command that is shown exists, and has the flags that it is shown with.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs")
	}
	programs := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", programs, "../", "../../mcpbench").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	help := map[string]string{}
	found := 0
	for name, text := range pages(t) {
		languages := []string{"sh", "console"}
		if name == "docs/commands.md" {
			languages = languages[:1] // TestDocumented runs what is at the console
		}
		for _, block := range blocks(text, languages...) {
			for _, m := range command.FindAllStringSubmatch(strings.ReplaceAll(block, "\\\n", " "), -1) {
				found++
				words := m[1] + " " + m[2]
				if _, ok := help[words]; !ok {
					out, err := exec.CommandContext(context.Background(), filepath.Join(programs, m[1]), append(strings.Fields(m[2]), "--help")...).CombinedOutput()
					if err != nil {
						t.Errorf("%s: %s --help: %v\n%s", name, words, err, out)
					}
					help[words] = string(out)
				}
				arguments, _, _ := strings.Cut(m[3], " -- ")
				for _, flag := range regexp.MustCompile(` --[a-z-]+`).FindAllString(arguments, -1) {
					if !strings.Contains(help[words], flag) {
						t.Errorf("%s: %s has no flag%s", name, words, flag)
					}
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d commands were found", found)
	}
	testDocumented(t, filepath.Join(programs, "mcpbridge"))
}

var (
	usage = regexp.MustCompile(`(?m)^  mcpbridge ([a-z]+(?: [a-z]+)?)`)
	flag  = regexp.MustCompile(`(?m)^ +(?:-[a-z], )?(--[a-z-]+)`)
)

// testDocumented tests that each command of a program has a row in docs/commands.md, and that each of its flags is on
// some page.
func testDocumented(t *testing.T, program string) {
	run := func(arguments ...string) string {
		out, err := exec.CommandContext(t.Context(), program, arguments...).Output()
		if err != nil {
			t.Errorf("%s: %v", strings.Join(arguments, " "), err)
		}
		return string(out)
	}
	all := pages(t)
	rows, text := "", ""
	for name, page := range all {
		text += page
		for line := range strings.Lines(page) {
			if name == "docs/commands.md" && strings.HasPrefix(line, "| `mcpbridge ") {
				rows += line
			}
		}
	}
	commands := usage.FindAllStringSubmatch(run("help"), -1)
	for _, m := range commands {
		if !strings.Contains(rows, m[1]) {
			t.Errorf("docs/commands.md has no row for %s", m[1])
		}
		for _, f := range flag.FindAllStringSubmatch(run(append(strings.Fields(m[1]), "--help")...), -1) {
			if !strings.Contains(text, f[1]) {
				t.Errorf("no page names the flag %s of %s", f[1], m[1])
			}
		}
	}
	if len(commands) < 40 {
		t.Errorf("only %d commands were found", len(commands))
	}
}

var testName = regexp.MustCompile("`((?:Test|Example)[A-Z]\\w*)`")

// Each promise in seeds.md has a test in a package that its row links to, or a reason why not.
func TestSeeds(t *testing.T) { testRows(t, "docs/seeds.md", "promise", 60) }

// Each threat in SECURITY.md has a test in a package that its row links to.
func TestThreats(t *testing.T) { testRows(t, "SECURITY.md", "threat", 15) }

// testRows looks for the tests that the last cells of a page's tables name, of which there must be some.
func testRows(t *testing.T, page, heading string, least int) {
	rows := 0
	for row := range strings.Lines(pages(t)[page]) {
		cells := strings.Split(strings.TrimSpace(row), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], " ---") || cells[1] == " "+heading+" " {
			continue
		}
		rows++
		names := testName.FindAllStringSubmatch(row, -1)
		if names == nil && !strings.Contains(row, ".txtar)") && strings.TrimSpace(cells[3]) == "" {
			t.Errorf("neither a test nor a reason: %s", row)
		}
		tests := testsBeside(t, path.Dir(page), link.FindAllStringSubmatch(row, -1))
		for _, m := range names {
			if !strings.Contains(tests, "\nfunc "+m[1]+"(") {
				t.Errorf("%s is not in a package that its row links to: %s", m[1], row)
			}
		}
	}
	if rows < least {
		t.Errorf("only %d rows were found", rows)
	}
}

// testsBeside returns the test files in the folders that links of a page in a folder lead to.
func testsBeside(t *testing.T, folder string, links [][]string) string {
	t.Helper()
	var all strings.Builder
	for _, m := range links {
		dir := filepath.Join(root, folder, m[1])
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}
