package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// transcript returns a conversation of so many prompts, each with a call.
func transcript(id string, prompts int) *providers.Transcript {
	at := time.Date(2026, 11, 21, 8, 0, prompts, 5_000_000, time.UTC)
	t := &providers.Transcript{Heading: providers.Heading{ID: id, Title: "about <" + id + ">", Provider: "local", Model: "m", System: "be brief", Created: at, Updated: at}}
	for i := range prompts {
		call := &providers.Call{ID: fmt.Sprint("c", i), Name: "add", Arguments: json.RawMessage(`{"a":12345678901234567890,"b":"<&>"}`)}
		t.Messages = append(t.Messages, providers.UserText(fmt.Sprint("prompt ", i)),
			providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartCall, Call: call}},
				Raw: &providers.Raw{Provider: "p", Model: "m", Items: json.RawMessage(`[{"sig":"a<b>&c","n":1e400}]`)}},
			providers.Message{Role: providers.RoleTool, Parts: []providers.Part{{Type: providers.PartResult,
				Result: &providers.Result{ID: call.ID, Name: "add", Content: toolformat.TextResult("<3>", false)}}}})
	}
	t.Stop, t.Turns, t.Usage, t.Dropped, t.Begin = providers.StopEnd, prompts, providers.Usage{Input: 7, Output: 3}, 1, len(t.Messages)
	return t
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mustSave(t *testing.T, s *Store, c *providers.Transcript) {
	t.Helper()
	if err := s.Save(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// compare loads a conversation and compares it with the saved one.
func compare(t *testing.T, s *Store, want *providers.Transcript) {
	t.Helper()
	got, err := s.Load(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if asJSON(t, got) != asJSON(t, want) {
		t.Errorf("%s\nwas\n%s", asJSON(t, got), asJSON(t, want))
	}
	if len(want.Messages) > 1 && string(got.Messages[1].Raw.Items) != string(want.Messages[1].Raw.Items) {
		t.Errorf("raw items %s\nwere %s", got.Messages[1].Raw.Items, want.Messages[1].Raw.Items)
	}
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "history.db")
	s := open(t, path)
	if _, err := s.Load(t.Context(), "a"); !errors.Is(err, providers.ErrNoConversation) || !strings.HasPrefix(err.Error(), "history "+path+": no such conversation: \"a\"") {
		t.Errorf("nothing there: %v", err)
	}
	if all, err := s.List(t.Context(), 0); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", err, all)
	}
	for _, c := range []*providers.Transcript{transcript("a", 1), transcript("b", 5), transcript("a", 3), transcript("empty", 0)} {
		mustSave(t, s, c)
		compare(t, s, c)
	}
	shorter := transcript("b", 2)
	shorter.Messages[3] = providers.UserText("another way")
	mustSave(t, s, shorter) // another continuation
	compare(t, s, shorter)
	compare(t, s, transcript("a", 3))
	all, err := s.List(t.Context(), 2)
	if err != nil || len(all) != 2 || all[0] != transcript("a", 3).Heading || all[1].ID != "b" {
		t.Errorf("%v, %+v", err, all)
	}
	if all, err = s.List(t.Context(), -1); err != nil || len(all) != 3 {
		t.Errorf("%v, %+v", err, all)
	}
	if err := s.Save(t.Context(), &providers.Transcript{}); err == nil {
		t.Error("a conversation without an ID was saved")
	}
	// A second store on the same file has the same conversations.
	compare(t, open(t, path), shorter)
}

// Only the owner can read the file.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	path := filepath.Join(t.TempDir(), "state", "history.db")
	mustSave(t, open(t, path), transcript("a", 1))
	for _, name := range []string{filepath.Dir(path), path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err != nil {
			t.Error(err)
		} else if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", name, info.Mode())
		}
	}
}

// A call that was in progress when the program was killed is canceled.
func TestKilled(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h.db"))
	c := transcript("a", 2)
	c.Messages, c.Begin = c.Messages[:5], 5
	mustSave(t, s, c)
	got, err := s.Load(t.Context(), "a")
	if err != nil || len(got.Messages) != 6 || !got.Messages[5].Parts[0].Result.Content.IsError() {
		t.Errorf("%v, %s", err, asJSON(t, got))
	}
}

// Calls that wait for a decision still wait.
func TestWaiting(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h.db"))
	c := transcript("a", 2)
	c.Messages, c.Begin, c.Waiting, c.Stop = c.Messages[:5], 4, []string{"c1"}, providers.StopDeferred
	mustSave(t, s, c)
	compare(t, s, c)
}

// Several programs can write at once.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	var writers sync.WaitGroup
	for w := range 4 {
		s := open(t, path)
		writers.Go(func() {
			for i := range 5 {
				if err := s.Save(t.Context(), transcript(fmt.Sprint(w), i)); err != nil {
					t.Error(err)
				}
				if err := s.Save(t.Context(), transcript("shared", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	s := open(t, path)
	for w := range 4 {
		compare(t, s, transcript(fmt.Sprint(w), 4))
	}
	if c, err := s.Load(t.Context(), "shared"); err != nil || asJSON(t, c) != asJSON(t, transcript("shared", c.Turns)) {
		t.Errorf("%v, %s", err, asJSON(t, c))
	}
}

// A change that is interrupted has no effect.
func TestCancelled(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h.db"))
	before := transcript("a", 2)
	mustSave(t, s, before)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Save(ctx, transcript("a", 4)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	broken := transcript("a", 4)
	broken.Messages[7].Parts[0].Call.Arguments = json.RawMessage("{")
	if err := s.Save(t.Context(), broken); err == nil {
		t.Error("what is no JSON was saved")
	}
	compare(t, s, before)
}

// A file of a newer version, or of another kind, is left alone.
func TestForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	s := open(t, path)
	mustSave(t, s, transcript("a", 1))
	if _, err := s.db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err == nil || !strings.HasSuffix(err.Error(), "its version is 99, and this program knows up to 2: use a newer mcpbridge, or another file") {
		t.Errorf("%v", err)
	}
	var n int
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM message").Scan(&n); err != nil || n != 3 {
		t.Errorf("%v, %d messages", err, n)
	}
	other := filepath.Join(t.TempDir(), "notes.txt")
	text := strings.Repeat("my notes\n", 1000)
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), other); err == nil || !strings.HasPrefix(err.Error(), "history "+other+": ") {
		t.Errorf("%v", err)
	}
	if kept, err := os.ReadFile(other); err != nil || string(kept) != text {
		t.Errorf("%v: the file has changed", err)
	}
	if _, err := Open(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}

// A message that another program corrupted is an error with its path.
func TestBrokenBody(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h.db"))
	mustSave(t, s, transcript("a", 1))
	if err := s.change(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE message SET body = '{"role":"x"}' WHERE place = 1`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), `messages/1: unknown role "x"`) {
		t.Errorf("%v", err)
	}
}
