package providertest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/providers"
)

// Section is what a provider sends for a request, for a golden file, and behind it what the
// caller is told. It holds that the request stays as it was.
func Section(t *testing.T, name string, p Maker, req *providers.Request) txtar.File {
	t.Helper()
	before, _ := json.Marshal(req) // there are requests with arguments that are no JSON
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

// Golden holds a golden file, or writes it anew.
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
		t.Errorf("%s is not what comes now (go test -update writes it anew):\n%s", file, got)
	}
}
