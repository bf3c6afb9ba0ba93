package providertest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
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

// Outline formats JSON for a golden file: down to depth each member and element is on its own
// line, deeper values have no white space.
func Outline(raw []byte, depth int) string {
	var b strings.Builder
	outline(&b, bytes.TrimSpace(raw), depth, "")
	return b.String()
}

func outline(b *strings.Builder, raw []byte, depth int, indent string) {
	var inside []string
	begin := func() *strings.Builder {
		var part strings.Builder
		part.WriteString(indent + "  ")
		return &part
	}
	if depth > 0 {
		for key, value := range wire.Members(raw) {
			part := begin()
			part.Write(append(wire.AppendString(nil, key), ": "...))
			outline(part, value, depth-1, indent+"  ")
			inside = append(inside, part.String())
		}
		for value := range wire.Elements(raw) {
			part := begin()
			outline(part, value, depth-1, indent+"  ")
			inside = append(inside, part.String())
		}
	}
	if inside == nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			compact.WriteString("not JSON: " + err.Error())
		}
		b.Write(compact.Bytes())
		return
	}
	b.WriteString(string(raw[0]) + "\n" + strings.Join(inside, ",\n") + "\n" + indent + string(raw[len(raw)-1]))
}
