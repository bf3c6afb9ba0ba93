package edit

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// A member that is added to any object of any file, and removed, leaves the file as it was.
func TestRestore(t *testing.T) {
	changes := 0
	for format, name := range []string{"json", "toml", "yaml"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			f, text := Format(format), string(file.Data)
			root, err := Read(f, file.Data)
			if err != nil || strings.HasSuffix(file.Name, " set") {
				continue
			}
			for _, path := range objects(root, nil) {
				for _, value := range []string{`1`, `"a b"`, `[1, "x"]`, `{"a": {"b": [true]}, "c": "d"}`} {
					at := append(path[:len(path):len(path)], "added")
					set, err := Set(f, []byte(text), at, json.RawMessage(value))
					if err != nil {
						continue
					}
					if f == JSON && len(root.Members) == 0 && !strings.Contains(text, "{") || f == TOML && strings.Count("\n"+string(set), "\n[") > strings.Count("\n"+text, "\n[") && value[0] != '{' {
						continue // the object was not written
					}
					changes++
					if got, err := Remove(f, set, at); err != nil || string(got) != text {
						t.Errorf("%s: %s: %q %s: %v\n%s\nof\n%s\nwant\n%s", name, file.Name, at, value, err, got, set, text)
					}
				}
			}
		}
	}
	if changes < 500 {
		t.Errorf("only %d changes were made", changes)
	}
}

// objects returns the paths of the objects of a file.
func objects(n Node, path []string) (all [][]string) {
	if n.Value != nil {
		return nil
	}
	all = append(all, path)
	for _, m := range n.Members {
		all = append(all, objects(m, append(path[:len(path):len(path)], m.Key))...)
	}
	return all
}
