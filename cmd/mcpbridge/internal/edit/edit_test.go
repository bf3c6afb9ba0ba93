package edit

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A golden file has cases of the files NAME (a text), NAME set (a path and a value, a line each, as
// JSON) and NAME after. NAME removed is there if Remove does not restore the text.
func TestGolden(t *testing.T) {
	for f, name := range []string{"json", "toml", "yaml"} {
		path := filepath.Join("testdata", name+".txtar")
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, file := range archive.Files {
			files[file.Name] = string(file.Data)
		}
		var out []txtar.File
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if strings.Contains(name, " ") {
				continue
			}
			step, value, _ := strings.Cut(files[name+" set"], "\n")
			after, removed := golden(t, Format(f), name, files[name], step, value)
			out = append(out, txtar.File{Name: name, Data: []byte(files[name])}, txtar.File{Name: name + " set", Data: []byte(files[name+" set"])}, txtar.File{Name: name + " after", Data: []byte(after)})
			if removed != files[name] {
				out = append(out, txtar.File{Name: name + " removed", Data: []byte(removed)})
			} else {
				removed = ""
			}
			if !*update && (after != files[name+" after"] || removed != files[name+" removed"]) {
				t.Errorf("%s: %s: after Set\n%s\nwant\n%s\nafter Remove\n%s\nwant\n%s", path, name, after, files[name+" after"], removed, files[name+" removed"])
			}
		}
		if *update {
			archive.Files = out
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func golden(t *testing.T, f Format, name, before, step, value string) (after, removed string) {
	t.Helper()
	var path []string
	if err := json.Unmarshal([]byte(step), &path); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	set, err := Set(f, []byte(before), path, json.RawMessage(value))
	if err != nil {
		return "error: " + err.Error() + "\n", before
	}
	again, err := Set(f, set, path, json.RawMessage(value))
	if err != nil || !bytes.Equal(again, set) {
		t.Errorf("%s: the second Set: %v\n%s", name, err, again)
	}
	crlf, err := Set(f, []byte(bom+strings.ReplaceAll(before, "\n", "\r\n")), path, json.RawMessage(value))
	if got := strings.TrimPrefix(strings.ReplaceAll(string(crlf), "\r\n", "\n"), bom); err != nil || strings.Contains(before, "\n") && got != string(set) {
		t.Errorf("%s: with CRLF: %v\n%s", name, err, crlf)
	}
	gone, err := Remove(f, set, path)
	if err != nil {
		return string(set), "error: " + err.Error() + "\n"
	}
	return string(set), string(gone)
}
