package edit

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Whatever a file is, Set writes the value and changes nothing else, and Remove takes it away again.
func FuzzSet(f *testing.F) {
	for format, name := range []string{"json", "toml", "yaml"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if !strings.HasSuffix(file.Name, " set") {
				f.Add(format, string(file.Data), "mcpServers", "x", `{"command": "npx", "args": ["-y"], "env": {"A": "b"}}`)
			}
		}
	}
	f.Add(0, `{"a": {"b": 1 /* c */, /* d */}}`, "a", "c", `"\u0000"`)
	f.Fuzz(func(t *testing.T, format int, text, outer, inner, value string) {
		form := Format(format % 3)
		if format < 0 || len(text) > 10_000 {
			return
		}
		before, err := Read(form, []byte(text))
		if err != nil {
			return
		}
		path := []string{outer, inner}
		if v := json.RawMessage(value); json.Valid(v) {
			checkSet(t, form, text, before, path, v)
		}
	})
}

func checkSet(t *testing.T, form Format, text string, before Node, path []string, value json.RawMessage) {
	_, had := before.At(path...)
	_, hadOuter := before.At(path[0])
	set, err := Set(form, []byte(text), path, value)
	if err != nil {
		return // a layout that cannot be edited
	}
	after, err := Read(form, set)
	if err != nil {
		t.Fatalf("after Set: %v\n%s", err, set)
	}
	if got, ok := after.At(path...); form != TOML && (!ok || !sameJSON(got.JSON(), value) && !strings.HasPrefix(path[1], "[")) {
		t.Fatalf("Set wrote %s instead of %s:\n%s", got.JSON(), value, set)
	}
	again, err := Set(form, set, path, value)
	if err != nil || !bytes.Equal(again, set) {
		t.Errorf("the second Set: %v\n%s\nfirst\n%s", err, again, set)
	}
	removed, err := Remove(form, set, path)
	if err != nil {
		return
	}
	if left, err := Read(form, removed); err != nil || left.has(path) {
		t.Errorf("after Remove: %v\n%s", err, removed)
	}
	if !had && hadOuter && !bytes.Equal(removed, []byte(text)) {
		t.Logf("not restored:\n%q, want\n%q", removed, text)
	}
}

func (n Node) has(path []string) bool {
	_, ok := n.At(path...)
	return ok
}

func sameJSON(a, b json.RawMessage) bool {
	x, err := parseValue(a)
	y, err2 := parseValue(b)
	return err == nil && err2 == nil && reflect.DeepEqual(values(x), values(y))
}
