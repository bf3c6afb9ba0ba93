package tokens

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCreateAndRemove(t *testing.T) {
	path := Path(filepath.Join(t.TempDir(), "mcpbridge.json"))
	if all, err := Read(path); all != nil || err != nil {
		t.Fatalf("got %v, %v without a file", all, err)
	}
	text, err := Create(path, Token{Name: "ann", Profiles: []string{"p"}})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(kept), text) {
		t.Errorf("the file has the token itself: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	all, err := Read(path)
	if err != nil || len(all) != 1 || all[0].Sum() != sha256.Sum256([]byte(text)) {
		t.Errorf("got %v, %v", all, err)
	}
	for _, name := range []string{"ann", "", "a b", "https://id.example#ann"} {
		if _, err := Create(path, Token{Name: name}); err == nil {
			t.Errorf("a second token, or one with a bad name: %q", name)
		}
	}
	if err := Remove(path, "ann", "bob"); err == nil {
		t.Error("a token is removed that there is not")
	}
	if err := Remove(path, "ann"); err != nil {
		t.Error(err)
	}
	if all, err := Read(path); all == nil || len(all) > 0 || err != nil {
		t.Errorf("%#v are left, %v", all, err)
	}
}

// The error of a file that cannot be written names it.
func TestCannotBeWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := Path(filepath.Join(folder, "mcpbridge.json"))
	if _, err := Create(path, Token{Name: "ann"}); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

// A file that is damaged is an error: without its tokens nobody would need one.
func TestReadDamaged(t *testing.T) {
	for _, text := range []string{"", " \n", `{}`, `{"tokens":null}`, `{`, `[]`, `{"tokens":[{"name":"a"}]}`, `{"tokens":[{"name":"a","sha256":"zz"}]}`, `{"tokens":[],"x":1}`} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
		if err := Remove(path, "a"); err == nil {
			t.Errorf("%s is written over", text)
		}
	}
}
