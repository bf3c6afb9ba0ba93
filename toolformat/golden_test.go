package toolformat

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares what becomes of a tool in every format with a file: the definition as
// received (in.json), in each format, and all notes. A format without a section cannot express the
// tool; its notes say why.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../testdata/tools/*.txtar")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d golden files (%v)", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := txtar.Format(ar)
			ar.Files = ar.Files[:1]
			convertGolden(t, ar)
			got := txtar.Format(ar)
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal(got, want) {
				t.Errorf("%s is not what conversion gives now (go test ./toolformat -run Golden -update writes it anew):\n%s", name, got)
			}
		})
	}
}

// convertGolden appends to an archive what becomes of its tool.
func convertGolden(t *testing.T, ar *txtar.Archive) {
	reading, err := Read(ar.Files[0].Data, "")
	if err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	say := func(who string, all []Note) {
		for _, n := range all {
			notes.WriteString(who + ": [" + n.Rule + "] " + n.String() + "\n")
		}
	}
	say("read", reading.Notes)
	for _, f := range reading.Faults {
		say("read", f.Notes)
	}
	for _, format := range Formats() {
		set, err := Encode(reading.Tools, format, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range set.Faults {
			say(string(format)+" cannot", f.Notes)
		}
		for _, c := range set.Tools {
			say(string(format), c.Notes)
			var b bytes.Buffer
			if err := json.Indent(&b, c.JSON, "", "  "); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			b.WriteByte('\n')
			ar.Files = append(ar.Files, txtar.File{Name: string(format) + ".json", Data: b.Bytes()})
		}
	}
	ar.Files = append(ar.Files, txtar.File{Name: "notes", Data: []byte(notes.String())})
}
