package observe_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
)

// recorded is a line of a file, as far as tests read it.
type recorded struct {
	Time    time.Time
	Target  string
	Outcome string
	Lost    int
}

// lines returns the lines of a file and its old ones, oldest first.
func lines(t *testing.T, path string, old int) (all []recorded) {
	t.Helper()
	for n := old; n >= 0; n-- {
		name := path
		if n > 0 {
			name += "." + string(rune('0'+n))
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			var r recorded
			if err := json.Unmarshal([]byte(line), &r); err != nil || !strings.HasSuffix(line, "}\n") {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			all = append(all, r)
		}
	}
	return all
}

// A file is the user's alone, becomes an old one when it is full, and of those only some are kept.
func TestFileRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "calls.jsonl")
	var stream observe.Stream
	const most = 100_000
	file, err := observe.OpenFile(&stream, observe.FileOptions{Path: path, MaxBytes: most, Files: 3})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range 4 {
		session := open(t, &stream)
		work.Go(func() { do(t, session, 1500) })
	}
	work.Wait()
	file.Close()
	if _, err := os.Stat(path + ".4"); err == nil {
		t.Error("too many old files are kept")
	}
	for _, name := range []string{path, path + ".1", path + ".2", path + ".3"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most || info.Size() < most/2 && name != path {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
		if runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
	if all := lines(t, path, 3); len(all) < 1500 || all[0].Outcome != "ok" || all[0].Time.IsZero() {
		t.Errorf("%d lines, the first is %+v", len(all), all[0])
	}
}

// Of two processes that write to one file none loses lines, whichever moves it.
func TestFileOfTwo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not move a file that another process has open: it grows")
	}
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	var streams [2]observe.Stream
	var files [2]*observe.File
	for i := range files {
		var err error
		if files[i], err = observe.OpenFile(&streams[i], observe.FileOptions{Path: path, MaxBytes: 50_000, Files: 9}); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	sessions := []bridge.Session{open(t, &streams[0]), open(t, &streams[1])}
	const rounds, calls = 20, 50
	for range rounds {
		for i, s := range sessions {
			do(t, s, calls)
			files[i].Flush()
		}
	}
	old, err := filepath.Glob(path + ".[0-9]")
	if err != nil || len(old) < 5 {
		t.Fatalf("%d old files, %v", len(old), err)
	}
	if all := lines(t, path, len(old)); len(all) != rounds*2*calls {
		t.Errorf("%d lines", len(all))
	}
}

// A line that was torn by a crash stays alone.
func TestFileAfterCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(path, []byte(`{"time":"2026`), 0o600); err != nil {
		t.Fatal(err)
	}
	var stream observe.Stream
	file, err := observe.OpenFile(&stream, observe.FileOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	do(t, open(t, &stream), 2)
	file.Close()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(string(raw), "\n"); len(got) != 4 || !json.Valid([]byte(got[1])) || !json.Valid([]byte(got[2])) {
		t.Errorf("the file is\n%s", raw)
	}
}

// What cannot be a file of lines is refused at once, and so is a folder that cannot be made.
func TestOpenFileFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: dir + " is not a regular file: name one, or one that does not exist",
		filepath.Join(dir, "file", "calls.jsonl"): "file",
	} {
		if _, err := observe.OpenFile(&observe.Stream{}, observe.FileOptions{Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// A file that cannot be written is reported once, and the lines after it say what is missing.
func TestFileFault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	path := filepath.Join(dir, "calls.jsonl")
	var log bytes.Buffer
	var stream observe.Stream
	file, err := observe.OpenFile(&stream, observe.FileOptions{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	session := open(t, &stream)
	write := func(n int) {
		do(t, session, n)
		file.Flush()
	}
	write(1)
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Skip("the system does not move an open file") // Windows
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be made here
		t.Fatal(err)
	}
	write(3)
	write(4)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	write(2)
	file.Close()
	if all := lines(t, path, 0); len(all) != 2 || all[0].Lost != 7 || all[1].Lost != 0 {
		t.Errorf("the lines after the fault are %+v", all)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "lost=7") {
		t.Errorf("%d warnings:\n%s", n, &log)
	}
}
