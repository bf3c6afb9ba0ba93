package clients

import (
	"bytes"
	"os"
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

// FuzzBundle imports and moves an extension of any settings and manifest: nothing panics, what is imported
// is a valid config, and a move is undone to the byte.
func FuzzBundle(f *testing.F) {
	a, err := txtar.ParseFile("testdata/clients/claude-desktop_extensions.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		f.Add(a.Files[i].Data, a.Files[i+1].Data)
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, settings, manifest []byte) {
		m := &Machine{System: "linux", Home: "/home", Root: root}
		for name, text := range map[string][]byte{"Claude Extensions Settings/x.json": settings, "Claude Extensions/x/manifest.json": manifest} {
			name = filepath.Join(root, "home/.config/Claude", name)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files := m.Files(All()[0], false)
		file := files[len(files)-1]
		imported, err := NewImport(ImportOptions{Config: "mcpbridge.json", Variable: unset, IsBridge: isBridge})
		if err != nil {
			t.Fatal(err)
		}
		if imported.Add(file, settings) != nil {
			return
		}
		if _, err := imported.Apply(nil); err != nil {
			t.Errorf("%v: %q", err, manifest)
		}
		moved, err := file.Move(settings, imported.Movable(file))
		if err != nil {
			return
		}
		if back, err := file.Disconnect(moved, settings); err != nil || !bytes.Equal(back, settings) {
			t.Errorf("not undone: %v\n%q\n%q\n%q", err, settings, moved, back)
		}
	})
}
