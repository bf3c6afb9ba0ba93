package console_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestScripts runs the scripts of testdata, each beside the files of the page, in Node.
func TestScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node is not installed")
	}
	scripts, err := fs.Glob(os.DirFS("testdata"), "*.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		t.Run(script, func(t *testing.T) {
			dir := t.TempDir()
			text, err := os.ReadFile(filepath.Join("testdata", script))
			if err == nil {
				err = os.CopyFS(dir, os.DirFS("files"))
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, script), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), node, filepath.Join(dir, script)).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
