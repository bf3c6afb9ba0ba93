package clients

import (
	"bytes"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// FuzzFile connects, imports and moves on any text of any client: nothing panics, the entry is undone
// to the byte, and what is imported is a valid config.
func FuzzFile(f *testing.F) {
	files, _ := filepath.Glob("testdata/clients/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for i := range All() {
			f.Add(i, a.Files[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, number int, text []byte) {
		if number < 0 || number >= len(All()) {
			return
		}
		m := &Machine{System: "linux", Home: "/nowhere", Project: "/nowhere/project"}
		file := m.Files(All()[number], false)[0]
		out, err := file.Connect(text, stdio)
		if err != nil {
			return
		}
		if back, err := file.Disconnect(out, text); err != nil || !bytes.Equal(back, text) && !bytes.Equal(out, text) && !file.Connected(text) {
			t.Errorf("not undone: %v\n%q\n%q\n%q", err, text, out, back)
		}
		imported, err := NewImport(ImportOptions{Config: "mcpbridge.json", Variable: unset, IsBridge: isBridge})
		if err != nil {
			t.Fatal(err)
		}
		if err := imported.Add(file, text); err != nil {
			t.Fatal(err)
		}
		if _, err := imported.Apply(nil); err != nil {
			t.Errorf("%v: %q", err, text)
		}
		_, _ = file.Move(text, imported.Movable(file))
	})
}
