package layouttest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/mcpbridge/mcpbridge"
	top    = "../../.." // the module's folder
)

var (
	leaves = []string{"toolformat", "bridge/wire", "bridge/wire/lenient", "bridge/process", "bridge/process/sandbox", "bridge/outbound", "bridge/scope", "bridge/nonblock"}
	centre = with(leaves, "bridge")

	// toolformatBelow lists what is below toolformat; each imports only those before it.
	toolformatBelow = []string{"toolformat/internal/wording", "toolformat/internal/tree", "toolformat/internal/vocabulary",
		"toolformat/internal/rewrite", "toolformat/internal/check"}
)

// rules lists which packages of this module the packages of a folder may import. The first
// row that matches the importing package decides; in a pattern, * stands for one folder and a
// final /... for the folder and all below it. Tests may import what they need.
var rules = []struct {
	from string
	may  []string
}{
	// The leaves: data and bytes.
	{"toolformat", []string{"toolformat/internal/*"}},
	{"toolformat/internal/wording", nil},
	{"toolformat/internal/tree", toolformatBelow[:1]},
	{"toolformat/internal/vocabulary", toolformatBelow[:2]},
	{"toolformat/internal/rewrite", toolformatBelow[:3]},
	{"toolformat/internal/check", toolformatBelow[:4]},
	{"toolformat/internal/gotype", toolformatBelow[:5]},
	{"bridge/wire", nil},
	{"bridge/wire/lenient", nil},
	{"bridge/process", []string{"bridge/process/internal/supervisor", "bridge/process/sandbox"}},
	{"bridge/process/sandbox", []string{"bridge/process/internal/launcher"}},
	{"bridge/process/internal/launcher", nil},
	{"bridge/process/internal/supervisor", nil},
	{"bridge/outbound", nil},
	{"bridge/scope", nil},
	{"bridge/nonblock", nil},

	// The centre, and below it the kinds of native tools and the wrappers of a source.
	{"bridge", []string{"toolformat", "bridge/wire"}},
	{"bridge/internal/native", []string{"toolformat", "bridge/wire"}},
	{"bridge/internal/*", []string{"toolformat", "bridge/wire", "bridge/outbound", "bridge", "bridge/internal/native", "bridge/internal/member"}},
	{"bridge/sourcetest/...", with(centre, "bridge/sourcetest/...")},
	{"bridge/openapi", with(centre, "bridge/internal/*", "bridge/rest")},  // whose definitions it writes
	{"bridge/audit", with(centre, "bridge/internal/*", "bridge/observe")}, // whose calls it writes down
	{"bridge/fleet/engine/...", nil},
	{"bridge/fleet/fleettest", []string{"bridge/fleet", "bridge/fleet/engine"}},
	{"bridge/fleet/internal/mux", nil},
	{"bridge/fleet/place", with(centre, "bridge/fleet", "bridge/fleet/engine")},
	{"bridge/fleet", with(centre, "bridge/fleet/engine", "bridge/fleet/internal/mux")},
	{"bridge/*", with(centre, "bridge/internal/*")},

	// The ends: each knows the centre and never another end.
	{"mcpclient", with(centre, "mcpclient/internal/*")},
	{"mcpclient/internal/*", leaves},
	{"mcpclient/*", with(centre, "mcpclient")},
	{"mcpclient/oauth/providertest", []string{"mcpclient/oauth"}},
	{"mcpclient/oauth/*", with(centre, "mcpclient/oauth")},
	{"mcpserver", with(centre, "mcpserver/internal/*", "mcpserver/auth")},
	{"mcpserver/auth", centre},
	{"mcpserver/internal/*", []string{"bridge/nonblock"}},
	{"mcpserver/web/console", with(centre, "bridge/observe", "mcpserver")},
	{"mcpserver/*", with(centre, "mcpserver")},
	{"providers", centre},
	{"providers/internal/*", centre},
	{"providers/serve", with(centre, "providers", "providers/internal/*", "providers/serve/internal/*")},
	{"providers/serve/internal/member", []string{"bridge/wire"}},
	{"providers/serve/internal/endpoint", with(centre, "providers", "providers/internal/*", "providers/serve/internal/member")},
	{"providers/serve/internal/*", with(centre, "providers", "providers/internal/*", "providers/serve/internal/endpoint", "providers/serve/internal/member", "providers/serve/internal/parameter")},
	{"providers/*", with(centre, "providers", "providers/internal/*")},

	// The programs.
	{"cmd/mcpbridge/config", with(leaves, "cmd/mcpbridge/internal/hint", "cmd/mcpbridge/internal/file", "cmd/mcpbridge/internal/envfile",
		"cmd/mcpbridge/internal/secret", "cmd/mcpbridge/internal/tokens")},
	{"cmd/mcpbridge/internal/hint", []string{"toolformat"}},
	{"cmd/mcpbridge/internal/file", nil},
	{"cmd/mcpbridge/internal/tokens", []string{"cmd/mcpbridge/internal/file"}},
	{"cmd/mcpbridge/internal/envfile", []string{"cmd/mcpbridge/internal/hint", "cmd/mcpbridge/internal/file"}},
	{"cmd/mcpbridge/internal/secret", []string{"cmd/mcpbridge/internal/file"}},
	{"cmd/mcpbridge/internal/clients", []string{"cmd/mcpbridge/config", "cmd/mcpbridge/internal/edit", "cmd/mcpbridge/internal/file", "cmd/mcpbridge/internal/hint", "toolformat"}},
	{"cmd/mcpbridge/internal/output", []string{"cmd/mcpbridge/internal/terminal"}},
	{"cmd/mcpbridge/internal/markdown", []string{"cmd/mcpbridge/internal/terminal"}},
	{"cmd/mcpbridge/internal/*", with(centre, "cmd/mcpbridge/internal/hint")},
	{"cmd/mcpbridge/...", []string{"..."}},
	{"cmd/mcpbench/...", []string{"bridge/process", "cmd/mcpbench/internal/*"}}, // it measures the rest from outside
	{"cmd/*", []string{"..."}},
	{"examples/...", with(centre, "bridge/*", "mcpclient/...", "mcpserver/...", "providers/...",
		"cmd/mcpbridge/config", "cmd/mcpbridge/stack")},
}

func with(patterns []string, more ...string) []string { return slices.Concat(patterns, more) }

// TestImports holds the packages to the rules.
func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if to, ours := strings.CutPrefix(imported, module+"/"); ours && !mayImport(p.folder, to) {
				t.Errorf("%s must not import %s", p.ImportPath, imported)
			}
		}
	}
}

// TestTakesOverEarly holds the packages with a func init to imports that let it run before most others.
func TestTakesOverEarly(t *testing.T) {
	early := []string{"bufio", "bytes", "errors", "io", "os", "os/signal", "runtime", "slices", "strconv", "strings", "syscall", "time", "unsafe",
		"golang.org/x/sys/unix"}
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if takesOver[p.folder] && !slices.Contains(early, imported) {
				t.Errorf("%s must not import %s: each import delays its func init", p.ImportPath, imported)
			}
		}
	}
}

// mayImport reports whether the rules let the package in folder from import the one in to.
func mayImport(from, to string) bool {
	if above, _, is := strings.Cut(to, "/internal/"); is && from != above && !strings.HasPrefix(from, above+"/") {
		return false
	}
	for _, r := range rules {
		if matches(r.from, from) {
			return slices.ContainsFunc(r.may, func(pattern string) bool { return matches(pattern, to) })
		}
	}
	return false // a new folder needs a row
}

// matches reports whether folder matches a pattern of the rules.
func matches(pattern, folder string) bool {
	if above, is := strings.CutSuffix(pattern, "..."); is {
		return strings.HasPrefix(folder+"/", above)
	}
	ok, _ := path.Match(pattern, folder)
	return ok
}

func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"toolformat", "toolformat/internal/check", true}, {"toolformat", "bridge/wire", false},
		{"toolformat/internal/tree", "toolformat/internal/check", false}, {"toolformat/internal/check", "toolformat/internal/tree", true},
		{"toolformat/internal/check", "toolformat", false}, {"bridge", "toolformat/internal/tree", false},
		{"bridge", "bridge/wire", true}, {"bridge", "bridge/process", false}, {"bridge", "mcpclient", false},
		{"bridge", "bridge/internal/httpapi", false}, {"bridge/internal/httpapi", "bridge", true},
		{"bridge/internal/httpapi", "bridge/rest", false}, {"bridge/internal/httpapi", "bridge/process", false},
		{"bridge/rest", "bridge", true}, {"bridge/rest", "bridge/internal/httpapi", true}, {"bridge/rest", "bridge/sql", false},
		{"bridge/acorn", "bridge", true}, {"bridge", "bridge/acorn", false}, {"bridge/acorn", "providers", false},
		{"mcpclient", "bridge/process", true}, {"mcpclient", "mcpserver", false}, {"mcpclient", "bridge/internal/httpapi", false},
		{"mcpclient", "mcpclient/internal/h1", true}, {"mcpclient/internal/h1", "bridge/wire", true}, {"mcpclient/internal/h1", "bridge", false},
		{"mcpclient/oauth", "mcpclient", true}, {"mcpclient", "mcpclient/oauth", false}, {"mcpserver/auth", "mcpclient", false},
		{"mcpserver", "bridge", true}, {"mcpserver", "bridge/acorn", false}, {"mcpserver", "cmd/mcpbridge/config", false},
		{"providers", "bridge", true}, {"providers/ollama", "providers", true}, {"providers/ollama", "providers/gemini", false},
		{"cmd/mcpbridge", "mcpclient", true}, {"cmd/mcpbridge/stack", "bridge/rest", true}, {"cmd/mcpbridge/stack", "cmd/mcpbridge/config", true},
		{"cmd/mcpbridge/config", "toolformat", true}, {"cmd/mcpbridge/config", "bridge", false}, {"cmd/mcpbridge/config", "mcpclient", false},
		{"examples/client", "cmd/mcpbridge/stack", true}, {"examples/client", "cmd/mcpbridge", false},
		{"elsewhere", "bridge", false},
	} {
		if got := mayImport(c.from, c.to); got != c.want {
			t.Errorf("mayImport(%q, %q) = %v", c.from, c.to, got)
		}
	}
}

// TestPackageNames refuses names that do not say what a package is for.
func TestPackageNames(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains([]string{"util", "utils", "common", "types", "helper", "helpers"}, p.Name) {
			t.Errorf("%s: name the package after what it provides", p.ImportPath)
		}
	}
}

// goPackage is a package as go list describes it.
type goPackage struct {
	ImportPath, Name string
	Imports          []string // of its code without tests
	folder           string   // below top, with slashes
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports", "./...")
	cmd.Dir, cmd.Stderr = top, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.folder = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		all = append(all, p)
	}
}
