package observe_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
)

var update = flag.Bool("update", false, "write the golden files")

// examples are calls of all kinds.
func examples() []observe.Call {
	editor := &observe.Caller{Session: 3, Principal: "ann", Client: "some-editor", Version: "1.2"}
	at := time.Date(2026, 11, 23, 19, 8, 4, 56_789_012, time.FixedZone("", 3600))
	return []observe.Call{
		{Time: at, Took: 1234567, Caller: editor, Profile: "support", Method: "tools/call", Target: "github__search", Server: "github", In: 120, Out: 4096, Outcome: "ok"},
		{Time: at, Took: 250, Caller: &observe.Caller{Session: 4}, Model: "anthropic/claude", Method: "vendor/method", Outcome: "unsupported", Reason: "method not found: vendor/method"},
		{Time: at, Took: 90 * time.Second, Asked: 89 * time.Second, Queued: 12 * time.Millisecond, First: 500 * time.Millisecond, Caller: editor, Method: "tools/call", Target: "rm", Server: "files",
			In: 60, Out: 30, Sent: 131, Received: 75, Outcome: "tool_error", Arguments: []byte(`{"path":"/tmp/é", "n":1e400}`), Lost: 12},
		{Time: at, Took: time.Minute, Caller: editor, Method: "tools/call", Target: "pay", Server: "bank", In: 60, Out: 30, Outcome: "ok",
			Decision: &bridge.Decision{Verdict: "allow", Rule: "payments", By: "bob"}},
		{Time: at, Took: 5 * time.Millisecond, Caller: &observe.Caller{Session: 5, Client: "a\x1b[31m\"\nb", Version: "\x9b"},
			Method: "resources/read", Target: "file:///a b?c=\u2028", Server: "файлы", Outcome: "unavailable", Reason: "files: the connection was lost: exit status 1\nlevel=ERROR"},
	}
}

// The golden file has the lines of files and of the log. Others read them: members may only be added.
func TestLines(t *testing.T) {
	const golden = "testdata/lines.txtar"
	got := &txtar.Archive{Files: []txtar.File{{Name: "calls.jsonl"}, {Name: "log"}}}
	calls := examples()
	for i := range calls {
		got.Files[0].Data = observe.AppendLine(got.Files[0].Data, &calls[i])
	}
	for line := range bytes.Lines(got.Files[0].Data) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
	got.Files[1].Data = observe.LogLines(calls)
	if *update {
		if err := os.WriteFile(golden, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(txtar.Format(got)); text != string(want) {
		t.Errorf("the lines are\n%s\nwant\n%s", text, want)
	}
}

// A call is one line of the log, at its level and with the time at which it ended.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream observe.Stream
		var out bytes.Buffer
		log := observe.Log(&stream, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})).With("part", "calls"))
		do(t, open(t, &stream), 2)
		ended := time.Now().Format("time=2006-01-02T15:04:05.000")
		log.Close()
		if n := strings.Count(out.String(), ended); n != 2 || strings.Count(out.String(), "level=DEBUG msg=call part=calls method=tools/call target=x ") != 2 {
			t.Errorf("the log is\n%s", &out)
		}
	})
}
