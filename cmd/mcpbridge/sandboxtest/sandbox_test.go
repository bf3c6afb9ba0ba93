// Package sandboxtest runs MCP's reference servers in their sandboxes. It needs npm and Python
// packages: MCPBRIDGE_SANDBOXED_SERVERS names the folder with them, as .ci/run installs it.
package sandboxtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// calls are one call a line for each server: a tool, its arguments, and what its result has; after "!"
// the call has to fail. $ROOT is the folder that the server may change, $OUT another one, $URL a page.
var calls = map[string]string{
	"filesystem": `
		list_allowed_directories {} | $ROOT
		create_directory {"path": "$ROOT/d"} | Success
		write_file {"path": "$ROOT/d/a.txt", "content": "one\ntwo\n"} | Success
		read_file {"path": "$ROOT/d/a.txt"} | one
		read_text_file {"path": "$ROOT/d/a.txt", "head": 1} | one
		read_media_file {"path": "$ROOT/d/a.txt"} | b25l
		read_multiple_files {"paths": ["$ROOT/d/a.txt"]} | two
		edit_file {"path": "$ROOT/d/a.txt", "edits": [{"oldText": "two", "newText": "three"}]} | +three
		list_directory {"path": "$ROOT"} | [DIR] d
		list_directory_with_sizes {"path": "$ROOT/d"} | a.txt
		directory_tree {"path": "$ROOT"} | a.txt
		move_file {"source": "$ROOT/d/a.txt", "destination": "$ROOT/b.txt"} | Success
		search_files {"path": "$ROOT", "pattern": "**/*.txt"} | b.txt
		get_file_info {"path": "$ROOT/b.txt"} | size
		read_file {"path": "$OUT/secret"} ! denied`,
	"memory": `
		create_entities {"entities": [{"name": "ann", "entityType": "person", "observations": ["sings"]}, {"name": "bob", "entityType": "person", "observations": []}]} | ann
		create_relations {"relations": [{"from": "ann", "to": "bob", "relationType": "knows"}]} | knows
		add_observations {"observations": [{"entityName": "bob", "contents": ["reads"]}]} | reads
		read_graph {} | sings
		search_nodes {"query": "sings"} | ann
		open_nodes {"names": ["bob"]} | reads
		delete_observations {"deletions": [{"entityName": "bob", "observations": ["reads"]}]} | success
		delete_relations {"relations": [{"from": "ann", "to": "bob", "relationType": "knows"}]} | success
		delete_entities {"entityNames": ["ann"]} | success`,
	"git": `
		git_status {"repo_path": "$ROOT"} | new.txt
		git_diff_unstaged {"repo_path": "$ROOT"} | changed
		git_add {"repo_path": "$ROOT", "files": ["new.txt"]} | staged
		git_diff_staged {"repo_path": "$ROOT"} | new.txt
		git_reset {"repo_path": "$ROOT"} | reset
		git_add {"repo_path": "$ROOT", "files": ["new.txt", "old.txt"]} | staged
		git_commit {"repo_path": "$ROOT", "message": "second"} | committed
		git_log {"repo_path": "$ROOT", "max_count": 2} | second
		git_show {"repo_path": "$ROOT", "revision": "HEAD"} | new.txt
		git_diff {"repo_path": "$ROOT", "target": "HEAD~1"} | changed
		git_create_branch {"repo_path": "$ROOT", "branch_name": "b"} | b
		git_checkout {"repo_path": "$ROOT", "branch_name": "b"} | b
		git_branch {"repo_path": "$ROOT", "branch_type": "local"} | * b
		git_status {"repo_path": "$OUT"} ! $OUT`,
	"fetch": `
		fetch {"url": "$URL"} | fetched
		fetch {"url": "$URL", "raw": true} | <p>fetched
		fetch {"url": "file://$OUT/secret"} ! `,
	"time": `
		get_current_time {"timezone": "Europe/Paris"} | Europe/Paris
		convert_time {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"} | time_difference`,
}

// The servers do under their presets all that they are for, and what they may not do fails.
func TestPresets(t *testing.T) {
	packages := os.Getenv("MCPBRIDGE_SANDBOXED_SERVERS")
	if packages == "" {
		t.Skip("MCPBRIDGE_SANDBOXED_SERVERS is not set")
	}
	if err := sandbox.Supported(); err != nil {
		t.Skip(err)
	}
	node, python := filepath.Join(packages, "node_modules", ".bin"), filepath.Join(packages, "venv", "bin")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "<html><body><article><p>fetched from a page that has some words of text in it</p></article></body></html>")
	}))
	t.Cleanup(page.Close)
	for name, server := range map[string]string{
		"filesystem": `"command": "` + node + `/mcp-server-filesystem", "args": ["$ROOT"]`,
		"memory":     `"command": "` + node + `/mcp-server-memory", "env": {"MEMORY_FILE_PATH": "$ROOT/memory.json"}`,
		"git":        `"command": "` + python + `/mcp-server-git", "args": ["--repository", "$ROOT"]`,
		"fetch":      `"command": "` + python + `/mcp-server-fetch", "args": ["--ignore-robots-txt", "--allow-private-ips"]`,
		"time":       `"command": "` + python + `/mcp-server-time"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, out := newRepository(t), newRepository(t)
			fill := strings.NewReplacer("$ROOT", root, "$OUT", out, "$URL", page.URL+"/page").Replace
			session := open(t, fill(`{"mcpServers": {"s": {`+server+`, "sandbox": "`+name+`", "connectTimeout": "3m"}}}`))
			for line := range strings.Lines(fill(calls[name])) {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				call, want, works := strings.Cut(line, " | ")
				if !works {
					call, want, _ = strings.Cut(line, " !")
				}
				tool, arguments, _ := strings.Cut(call, " ")
				text, err := do(t, session, tool, arguments)
				if (err == nil) != works || !strings.Contains(text, strings.TrimSpace(want)) {
					t.Errorf("%s: %s, %v", call, text, err)
				}
			}
		})
	}
}

// newRepository returns the folder of a git repository with a file that has changed and one that is new.
func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	write("old.txt", "old\n")
	git("init", "-q")
	git("config", "user.name", "Ann")
	git("config", "user.email", "ann@example.com")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	write("old.txt", "changed\n")
	write("new.txt", "new\n")
	write("secret", "secret\n")
	return dir
}

func open(t *testing.T, text string) bridge.Session {
	t.Helper()
	cfg, err := config.Loader{}.Parse(filepath.Join(t.TempDir(), config.FileName), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := stack.New(cfg, stack.Options{Once: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	session, err := s.Open(t.Context(), &bridge.Caller{ID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// do calls a tool and returns the text of its result, also where the tool has failed.
func do(t *testing.T, session bridge.Session, tool, arguments string) (string, error) {
	t.Helper()
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":` + arguments + `}`))
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: tool, Params: &params})
	if reply.Err != nil {
		return reply.Err.Message, reply.Err
	}
	result, failed := reply.Result, error(nil)
	if string(wire.Lookup(result, "isError")) == "true" {
		failed = fmt.Errorf("%s failed", tool)
	}
	return string(result), failed
}
