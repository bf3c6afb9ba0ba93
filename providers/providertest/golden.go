package providertest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/providers"
)

// Section returns what a provider sends for a request, and the notes about it, for a golden
// file. It checks that the request is not changed.
func Section(t *testing.T, name string, p Maker, req *providers.Request) txtar.File {
	t.Helper()
	before, _ := json.Marshal(req) // fails for requests with arguments that are not JSON
	_, body, notes := Sent(t, p, req)
	if after, _ := json.Marshal(req); !bytes.Equal(after, before) {
		t.Errorf("%s: the request is\n%s\nand was\n%s", name, after, before)
	}
	if !json.Valid(body) {
		t.Fatalf("%s: not JSON: %s", name, body)
	}
	text := Outline(body, 4) + "\n"
	for _, note := range notes {
		text += "note: " + note + "\n"
	}
	return txtar.File{Name: name, Data: []byte(text)}
}

// Golden checks a golden file, or updates it.
func Golden(t *testing.T, update bool, file string, sections ...txtar.File) {
	t.Helper()
	got := txtar.Format(&txtar.Archive{Files: sections})
	if update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", file, got)
	}
}
