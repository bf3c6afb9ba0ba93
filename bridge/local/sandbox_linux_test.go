package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A command reads and writes what its sandbox grants.
func TestSandbox(t *testing.T) {
	if err := sandbox.Supported(); err != nil {
		t.Skip(err)
	}
	b := open(t, Options{})
	mine, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{mine, other} {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf("cat %s/f; echo x > %s/new && echo written; echo x > $TMPDIR/new && echo own; cat %s/f 2>&1; echo done", mine, mine, other)
	for _, c := range []struct{ policy, want string }{
		{fmt.Sprintf(`{"read":[%q]}`, mine), "text own cat: " + other + "/f: Permission denied done"},
		{fmt.Sprintf(`{"write":[%q]}`, mine), "text written own cat: " + other + "/f: Permission denied done"},
	} {
		spec := fmt.Sprintf(`{"command":["sh","-c",%q],"stdin":false,"timeout":"1m","limits":{"files":50},"sandbox":%s}`, script, c.policy)
		got := text(t, sourcetest.Do(t, sourcetest.Tool(t, b, spec), `{}`))
		if got = strings.Join(strings.Fields(strings.ReplaceAll(got, "text", "text ")), " "); got != c.want {
			t.Errorf("%s: %s", c.policy, got)
		}
	}
}

// A program that can change the config or definitions of tools can leave its sandbox.
func TestSandboxNotes(t *testing.T) {
	if err := sandbox.Supported(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	own := func() []string { return []string{dir, "/tools/*.json"} }
	b := sourcetest.Open(t, Options{}.Kind(), bridge.BackendConfig{Dir: dir, Own: own})
	for write, want := range map[string]string{
		`"."`:                               "sandbox /local/sandbox/write",
		`"/"`:                               "sandbox /local/sandbox/write",
		fmt.Sprintf("%q", dir):              "sandbox /local/sandbox/write",
		`"below"`:                           "",
		fmt.Sprintf("%q", t.TempDir()):      "",
		fmt.Sprintf("%q, %q", dir+"x", "/"): "sandbox /local/sandbox/write",
		`"/tools"`:                          "sandbox /local/sandbox/write",
	} {
		_, notes, err := b.Tool(toolformat.Tool{Name: "t"}, fmt.Appendf(nil, `{"command":["cat"],"sandbox":{"write":[%s]}}`, write))
		var got []string
		for _, n := range notes {
			got = append(got, n.Rule+" "+n.Path)
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("write %s: %q, %v, want %q", write, got, err, want)
		}
	}
}

func TestSandboxSpec(t *testing.T) {
	b := open(t, Options{})
	for spec, want := range map[string]string{
		`{"command":["cat"],"sandbox":true}`:                     "sandbox",
		`{"command":["cat"],"sandbox":{"raed":["x"]}}`:           `did you mean "read"?`,
		`{"command":["cat"],"sandbox":{"memory":-1}}`:            "expected a size",
		`{"command":["cat"],"sandbox":{"processes":-1}}`:         "sandbox.processes: expected a number above 0",
		`{"command":["cat"],"sandbox":{},"limits":{"memory":1}}`: "limits.memory and sandbox are mutually exclusive",
		`{"wasm":"x.wasm","sandbox":{}}`:                         "sandbox and limits are for a command",
	} {
		if _, _, err := b.Tool(toolformat.Tool{Name: "t"}, []byte(spec)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
