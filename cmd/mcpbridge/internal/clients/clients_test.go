package clients

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/txtar"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// machineOf returns the machine that the lines of a comment describe, with the files of an archive.
// A file whose name ends with a slash is a folder.
func machineOf(t *testing.T, a *txtar.Archive) *Machine {
	t.Helper()
	env, crlf := map[string]string{}, false
	m := &Machine{Getenv: func(name string) string { return env[name] }, Root: t.TempDir()}
	for line := range strings.Lines(string(a.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "lines":
			crlf = value == "windows"
		case "system":
			m.System = value
		case "home":
			m.Home = value
		case "project":
			m.Project = value
		case "env":
			name, value, _ := strings.Cut(value, "=")
			env[name] = value
		}
	}
	for _, f := range a.Files {
		if !strings.Contains(f.Name, "/") {
			continue
		}
		name := filepath.Join(m.Root, filepath.FromSlash(f.Name))
		dir := filepath.Dir(name)
		if strings.HasSuffix(f.Name, "/") {
			dir = name
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir != name {
			text := f.Data
			if crlf {
				text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
			}
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

// golden compares got with the section want of an archive.
func golden(t *testing.T, file string, a *txtar.Archive, got string) {
	t.Helper()
	for i, f := range a.Files {
		if f.Name == "want" {
			if string(f.Data) != got && !*update {
				t.Errorf("%s:\n%s", file, diff.Diff("want", f.Data, "got", []byte(got)))
			}
			a.Files = a.Files[:i]
			break
		}
	}
	if *update {
		a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPaths shows where the files of every client lie, on each system.
func TestPaths(t *testing.T) {
	files, _ := filepath.Glob("testdata/paths/*.txtar")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := machineOf(t, a)
			var got strings.Builder
			machines := []*Machine{m}
			if w := m.Windows(); w != nil {
				machines = append(machines, w)
			}
			for _, m := range machines {
				for _, c := range All() {
					for _, project := range []bool{false, true} {
						for _, f := range m.Files(c, project) {
							mark := map[bool]string{true: "found", false: "     "}[f.Found && !project]
							if f.Exists {
								mark = "there"
							}
							if f.Read {
								mark += " (read)"
							}
							fmt.Fprintf(&got, "%s %s: %s\n", mark, f.Title, f.Path)
						}
					}
				}
			}
			golden(t, file, a, got.String())
		})
	}
}

// TestClients connects, imports, moves and disconnects on the files of each client.
func TestClients(t *testing.T) {
	files, _ := filepath.Glob("testdata/clients/*.txtar")
	if len(files) < len(All()) {
		t.Errorf("only %d files for %d clients", len(files), len(All()))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := machineOf(t, a)
			c, err := Find(strings.TrimSuffix(filepath.Base(file), ".txtar"))
			if err != nil {
				c, err = Find(strings.Split(filepath.Base(file), "_")[0])
			}
			if err != nil {
				t.Fatal(err)
			}
			if w := m.Windows(); w != nil {
				m = w
			}
			golden(t, file, a, strings.ReplaceAll(story(t, m, c), "\r", "␍"))
		})
	}
}

// story tells what becomes of the files of a client.
func story(t *testing.T, m *Machine, c *Client) string {
	var got strings.Builder
	imported, err := NewImport(ImportOptions{Config: "mcpbridge.json", Variable: unset, IsBridge: isBridge})
	if err != nil {
		t.Fatal(err)
	}
	files := append(m.Files(c, false), m.Files(c, true)...)
	for _, f := range files {
		text := read(t, f)
		if f.Exists {
			if err := imported.Add(f, text); err != nil {
				fmt.Fprintf(&got, "# %s: %v\n", f.Path, err)
				continue
			}
		}
		if !f.Read && (f.Found && !f.Project || f.Exists) {
			connected(t, &got, f, text)
		}
	}
	out, err := imported.Apply(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (config.Loader{}).Parse("mcpbridge.json", out); out != nil && err != nil {
		t.Errorf("the config is not valid: %v\n%s", err, out)
	}
	fmt.Fprintf(&got, "# import\n%s", out)
	for _, v := range imported.Vars {
		fmt.Fprintf(&got, "%s=%s\n", v.Name, v.Value)
	}
	for _, n := range imported.Notes {
		fmt.Fprintln(&got, n)
	}
	for _, f := range files {
		if names := imported.Movable(f); len(names) > 0 {
			moved(t, &got, f, names)
		}
	}
	return got.String()
}

func read(t *testing.T, f *File) []byte {
	t.Helper()
	if !f.Exists {
		return nil
	}
	text, err := os.ReadFile(f.Open())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func unset(string) (string, bool) { return "", false }

func isBridge(program string) bool {
	return strings.HasSuffix(strings.TrimSuffix(program, ".exe"), "/mcpbridge")
}

var stdio = Entry{Command: "/opt/mcpbridge", Args: []string{"stdio", "--config", "/home/ana/mcpbridge.json"}}

// connected tells the changes of connect, and checks that they are made once and undone.
func connected(t *testing.T, got *strings.Builder, f *File, text []byte) {
	t.Helper()
	for _, e := range []Entry{stdio, {URL: "http://127.0.0.1:7332/mcp", Token: "a-token"}, {URL: "ws://127.0.0.1:7332/ws", Token: "a-token"}} {
		out, err := f.Connect(text, e)
		if err != nil {
			fmt.Fprintf(got, "# connect: %v\n", err)
			continue
		}
		got.WriteString("# connect\n")
		got.Write(diff.Diff(f.Path, text, f.Path, out))
		if again, err := f.Connect(out, e); err != nil || !bytes.Equal(again, out) {
			t.Errorf("connected twice: %v\n%s", err, diff.Diff("once", out, "twice", again))
		}
		if back, err := f.Disconnect(out, text); err != nil || !bytes.Equal(back, text) {
			t.Errorf("disconnected: %v\n%s", err, diff.Diff("before", text, "after", back))
		}
		if other, err := f.Connect(out, stdio); err != nil {
			t.Error(err)
		} else if direct, _ := f.Connect(text, stdio); !bytes.Equal(other, direct) {
			t.Errorf("connected in another way:\n%s", diff.Diff("at once", direct, "after", other))
		}
		if _, err := f.Disconnect(out, nil); err != nil {
			t.Error(err)
		}
	}
}

// moved tells the change of a move, and checks that it is undone with the entry, whichever was first.
func moved(t *testing.T, got *strings.Builder, f *File, names []string) {
	t.Helper()
	text := read(t, f)
	out, err := f.Move(text, names)
	if err != nil {
		t.Errorf("move: %v", err)
		return
	}
	got.WriteString("# move\n")
	got.Write(diff.Diff(f.Path, text, f.Path, out))
	results := [][]byte{out}
	if !f.Read {
		after, err := f.Connect(out, stdio)
		if err != nil {
			t.Fatal(err)
		}
		first, err := f.Connect(text, stdio)
		if err != nil {
			t.Fatal(err)
		}
		if first, err = f.Move(first, names); err != nil {
			t.Fatal(err)
		}
		results = append(results, after, first)
	}
	for _, changed := range results {
		if back, err := f.Disconnect(changed, text); err != nil || !bytes.Equal(back, text) {
			t.Errorf("not undone: %v\n%s", err, diff.Diff("before", text, "after", back))
		}
	}
	if left, err := f.Servers(out, isBridge); err != nil {
		t.Error(err)
	} else {
		for _, s := range left {
			for _, name := range names {
				if s.Name == name && !s.Off {
					t.Errorf("%s still runs", name)
				}
			}
		}
	}
}

// TestBackup keeps what disconnect restores: the first text, or the present one if the file has changed
// since, unless only the first one has a server.
func TestBackup(t *testing.T) {
	f := (&Machine{System: "linux", Home: "/nowhere"}).Files(&table[2], false)[0]
	const first = `{"mcpServers":{"a":{"command":"a"}}}`
	const added = `{"mcpServers":{"a":{"command":"a"},"mcpbridge":{"command":"x"},"b":{"command":"b"}}}`
	for _, test := range []struct{ text, old, want string }{
		{first, "", first},
		{`{"mcpServers":{"a":{"command":"a"},"mcpbridge":{"command":"x"}}}`, first, first},
		{added, first, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`},
		{`{"mcpServers":{"mcpbridge":{"command":"x"}}}`, first, first},
		{`{"mcpServers":{"mcpbridge":{"command":"x"},"b":{"command":"b"}}}`, first, first},
		{"{", first, first},
	} {
		var old []byte
		if test.old != "" {
			old = []byte(test.old)
		}
		if got := string(f.Backup([]byte(test.text), old)); got != test.want {
			t.Errorf("%s: got %s", test.text, got)
		}
	}
}

// Without a backup, a file is removed only if the bridge has made all of it.
func TestDisconnectKeeps(t *testing.T) {
	f := (&Machine{System: "linux", Home: "/nowhere"}).Files(&table[2], false)[0]
	for text, want := range map[string]string{
		`{"mcpServers":{"mcpbridge":{"command":"x"}}}`:            ``,
		`{"mcpServers":{"a":{},"mcpbridge":{"command":"x"}}}`:     `{"mcpServers":{"a":{}}}`,
		`{"other":{},"mcpServers":{"mcpbridge":{"command":"x"}}}`: `{"other":{},"mcpServers":{}}`,
	} {
		if got, err := f.Disconnect([]byte(text), nil); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
}

// TestOdd takes what is odd in a file apart from what is not: nothing is dropped without a word.
func TestOdd(t *testing.T) {
	f := (&Machine{System: "linux", Home: "/nowhere"}).Files(&table[2], false)[0]
	i, err := NewImport(ImportOptions{Config: "mcpbridge.json", Variable: unset, IsBridge: isBridge})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Add(f, []byte(`{"mcpServers": {
"text": "x",
"list": ["x"],
"args": {"command": "x", "args": {"a": "b"}},
"element": {"command": "x", "args": [{}]},
"env": {"command": "x", "env": ["A=b"]},
"nul": {"command": "x", "env": {"TOKEN": "secret\u0000"}},
"names": {"command": "x", "env": {"": "a", "A=B": "c"}},
"good": {"command": "good", "env": {"TOKEN": "0123456789"}}
}}`)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range i.Notes {
		got = append(got, n.Text)
	}
	want := []string{
		"text: left out: is not an object",
		"list: left out: is not an object",
		`args: left out: "args" is not a list`,
		`element: left out: "args" is not a string`,
		`env: left out: "env" is not an object`,
		"nul: left out: the value for NUL_TOKEN has a NUL character",
		`names: left out: mcpServers.names.env[""]: not the name of an environment variable`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(i.Added) != 1 || len(i.Vars) != 1 {
		t.Errorf("added %v, %v", i.Added, i.Vars)
	}
	many := `{"mcpServers": {`
	for n := range maxServers + 1 {
		many += fmt.Sprintf(`"%d": {"command": "x"}, `, n)
	}
	if err := i.Add(f, []byte(many+"}}")); err == nil || err.Error() != "line 1: more than 500 servers" {
		t.Errorf("got %v", err)
	}
}

// TestBundleBounds imports extensions whose variables multiply what they stand for.
func TestBundleBounds(t *testing.T) {
	m := &Machine{System: "linux", Home: "/home", Root: t.TempDir()}
	many := func(text string, n int) string { return strings.Repeat(text+",", n) + text }
	for name, run := range map[string]string{
		"long":  `"args": ["` + strings.Repeat("${user_config.one}", 1000) + `"]`,
		"many":  `"args": [` + many(`"${user_config.list}"`, 2000) + `]`,
		"twice": `"env": {"A": "${user_config.twice}"}`,
	} {
		settings := `{"isEnabled": true, "userConfig": {"one": "` + strings.Repeat("x", 10_000) + `", "list": [` + many(`"value"`, 2000) + `]}}`
		manifest := `{"server": {"mcp_config": {"command": "x", ` + run + `}},
			"user_config": {"one": {}, "list": {}, "twice": {"default": "${user_config.one}${user_config.one}"}}}`
		for path, text := range map[string]string{"Claude Extensions Settings/" + name + ".json": settings, "Claude Extensions/" + name + "/manifest.json": manifest} {
			path = filepath.Join(m.Root, "home/.config/Claude", path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := map[string]string{}
	for _, f := range m.Files(&table[0], false)[1:] {
		servers, err := f.Servers(read(t, f), isBridge)
		if err != nil || len(servers) != 1 {
			t.Fatalf("%s: %v, %v", f.Path, servers, err)
		}
		got[servers[0].Name] = servers[0].Fault
		if name := servers[0].Name; name == "twice" && (len(servers[0].Env) != 1 || servers[0].Env[0].Value.Text != "${user_config.one}${user_config.one}") {
			t.Errorf("a default refers to another setting: %.100v", servers[0].Env)
		}
	}
	const large = "its arguments and variables are larger than 1 MiB"
	if want := map[string]string{"long": large, "many": large, "twice": ""}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestBarred notes that a list of the client's own keeps it from starting the bridge.
func TestBarred(t *testing.T) {
	gemini, err := Find("gemini")
	if err != nil {
		t.Fatal(err)
	}
	f := (&Machine{System: "linux", Home: "/nowhere"}).Files(gemini, false)[0]
	for text, barred := range map[string]bool{
		``:                         false,
		`{"mcp": {"allowed": []}}`: false,
		`{"mcp": {"allowed": ["mcpbridge", "a"]}}`: false,
		`{"mcp": {"allowed": ["a"]}}`:              true,
		`{"mcp": {"excluded": ["mcpbridge"]}}`:     true,
		`{"mcp": "a"}`:                             false,
	} {
		n := f.Barred([]byte(text))
		if n != nil != barred {
			t.Errorf("%s: %v", text, n)
		}
		if want := "/nowhere/.gemini/settings.json:1: Gemini CLI does not start mcpbridge: change its lists mcp.allowed and mcp.excluded"; n != nil && n.String() != want {
			t.Errorf("got %s, want %s", n, want)
		}
	}
}

// A server that the config got meanwhile is not replaced.
func TestApplyKeepsOthers(t *testing.T) {
	imported, err := NewImport(ImportOptions{Config: "mcpbridge.json", Variable: unset, IsBridge: isBridge})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Find("cursor")
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{System: "linux", Home: "/home/ana"}
	if err := imported.Add(m.Files(c, false)[0], []byte(`{"mcpServers": {"a": {"command": "from-cursor"}}}`)); err != nil {
		t.Fatal(err)
	}
	if out, err := imported.Apply([]byte(`{"mcpServers": {"b": {"command": "other"}}}`)); err != nil || !bytes.Contains(out, []byte("from-cursor")) {
		t.Errorf("%s, %v", out, err)
	} else if again, err := imported.Apply(out); err != nil || !bytes.Equal(again, out) {
		t.Errorf("%s, %v", again, err)
	}
	out, err := imported.Apply([]byte("{\n\"mcpServers\": {\"a\": {\"command\": \"other\"}}}"))
	if err == nil || err.Error() != "a was added meanwhile, in line 2: try again" {
		t.Errorf("%s, %v", out, err)
	}
}
