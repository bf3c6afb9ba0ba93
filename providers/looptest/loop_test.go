// Package looptest runs whole conversations against the scripted server of each provider.
//
// loop_test.go reads and compares the files of testdata/loop, dialogue_test.go carries out their
// lines, vendor_test.go is the server, tools_test.go has the tools.
package looptest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the requests and events of testdata/loop anew")

// TestLoop runs conversations with the servers of the providers over HTTP. Each file is a
// conversation, each folder a provider. The sections of a file:
//
//   - conversation has the commands, one a line: see dialogue.do.
//   - outcome has the resulting messages, one a line: see dialogue.tell. It is written by hand.
//     testdata/loop has the conversations and outcomes of all providers; the file of a provider
//     may override them.
//   - response-N is a response of the server: see readAnswer.
//   - request-N is a request, exact except for white space, and events lists the events of the
//     conversation. -update writes both.
func TestLoop(t *testing.T) {
	for _, folder := range loopFolders(t) {
		files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			scene := strings.TrimSuffix(filepath.Base(file), ".txtar")
			t.Run(filepath.Base(folder)+"/"+scene, func(t *testing.T) {
				own := readArchive(t, file)
				all := own.Files
				if shared := filepath.Join("../../testdata/loop", scene+".txtar"); !slices.ContainsFunc(all, named("conversation")) {
					all = slices.Concat(all, readArchive(t, shared).Files)
				}
				synctest.Test(t, func(t *testing.T) { rehearse(t, file, own, all) })
			})
		}
	}
}

// loopFolders are the folders of the providers.
func loopFolders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("../../testdata/loop")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string // and one for conversations that move between them
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, filepath.Join("../../testdata/loop", e.Name()))
		}
	}
	if len(folders) < 7 {
		t.Fatalf("testdata/loop has only %v", folders)
	}
	return folders
}

// rehearse runs the conversation of a file. all are its sections and the shared ones.
func rehearse(t *testing.T, file string, own *txtar.Archive, all []txtar.File) {
	var answers []answer
	for i := 1; ; i++ {
		text, ok := section(all, fmt.Sprintf("response-%d", i))
		if !ok {
			break
		}
		answers = append(answers, readAnswer(t, text))
	}
	v := openVendor(answers)
	defer v.end()
	d := newDialogue(t, v, filepath.Base(filepath.Dir(file)))
	defer d.close()
	conversation, _ := section(all, "conversation")
	for line := range strings.Lines(conversation) {
		if line = strings.TrimSpace(line); line != "" {
			d.do(line)
		}
	}
	if want, _ := section(all, "outcome"); d.outcome.String() != want {
		t.Errorf("the outcome of %s is\n%s\nwant\n%s", file, &d.outcome, want)
	}
	if len(v.requests) != len(answers) {
		t.Errorf("%d requests for %d responses", len(v.requests), len(answers))
	}
	var kept []txtar.File
	for _, f := range own.Files {
		if isScripted(f.Name) {
			kept = append(kept, f)
		}
	}
	golden(t, file, &txtar.Archive{Comment: own.Comment, Files: v.record(kept, d.events.Bytes())})
}

// isScripted reports whether a section is written by hand.
func isScripted(name string) bool { return !strings.HasPrefix(name, "request-") && name != "events" }

// golden compares a file with its new content, or updates it.
func golden(t *testing.T, file string, ar *txtar.Archive) {
	t.Helper()
	got := txtar.Format(ar)
	want, err := os.ReadFile(file)
	switch {
	case err != nil:
		t.Fatal(err)
	case bytes.Equal(got, want):
	case !*update:
		line, was, is := firstDifference(string(want), string(got))
		t.Errorf("%s:%d is not what happens now (go test . -run TestLoop -update writes it anew):\n%s\nwant\n%s", file, line, is, was)
	default:
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(a, b string) (line int, inA, inB string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for line < len(as)-1 && line < len(bs)-1 && as[line] == bs[line] {
		line++
	}
	return line + 1, as[line], bs[line]
}

func readArchive(t *testing.T, file string) *txtar.Archive {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ar
}

// section returns the text of the first section of a name.
func section(files []txtar.File, name string) (text string, ok bool) {
	i := slices.IndexFunc(files, named(name))
	if i < 0 {
		return "", false
	}
	return string(files[i].Data), true
}

func named(name string) func(txtar.File) bool {
	return func(f txtar.File) bool { return f.Name == name }
}

// TestLoopScenes checks that all providers have the same scenes, except for those that cannot
// happen to them.
func TestLoopScenes(t *testing.T) {
	without := map[string]string{
		"anthropic/no_tools":    "all its models take tools",
		"prompted/no_tools":     "that is what it is for",
		"gemini/no_json":        "arguments are an object",
		"ollama/no_json":        "arguments are an object",
		"ollama/quota":          "there is none",
		"prompted/quota":        "there is none",
		"ollama/refusal":        "a refusal is an answer like any other",
		"prompted/refusal":      "a refusal is an answer like any other",
		"ollama/refused_tool":   "it does not say which tool it refuses",
		"prompted/refused_tool": "tools are no more than text",
	}
	scenes, err := filepath.Glob("../../testdata/loop/*.txtar")
	if err != nil || len(scenes) < 10 {
		t.Fatalf("%d scenes (%v)", len(scenes), err)
	}
	for _, folder := range loopFolders(t) {
		if filepath.Base(folder) == "switch" {
			continue
		}
		for _, scene := range scenes {
			file := filepath.Join(folder, filepath.Base(scene))
			_, err := os.Stat(file)
			why := without[filepath.Base(folder)+"/"+strings.TrimSuffix(filepath.Base(scene), ".txtar")]
			if (err == nil) == (why != "") {
				t.Errorf("%s: %v (%s)", file, err, why)
			}
		}
	}
}
