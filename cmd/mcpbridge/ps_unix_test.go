//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
)

// What a program says counts, though another one does not answer as it should.
func TestOneOfSeveralPrograms(t *testing.T) {
	setFolders(t)
	node := serveConfig(t, fmt.Sprintf(`{"cluster": {"name": "test", "node": "a", "secrets": [%q], "nats": %q}, "mcpServers": {"docs": {"url": %q}}, "audit": "audit.jsonl"}`,
		fleettest.Secret, fleettest.NATS(t), peer.NewServer(peer.Modern).Serve(t, nil)+"/mcp"), nil)
	refuse(t, filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "mcpbridge", "0"))
	for command, want := range map[string]string{
		"ps --json": `"cluster":"test"`, "nodes --json": `"cluster":"test"`, "open --no-browser": "http://", "audit verify --all": "a: ",
		"stop --all-calls": "1 program told", "stop --lift": "1 program told", "approvals": "",
	} {
		var out, said strings.Builder
		code := run(t.Context(), strings.Fields(command), streams{in: strings.NewReader(""), out: &out, err: &said})
		if code != exitFailed || !strings.Contains(out.String(), want) || !strings.Contains(said.String(), "the daemon 0: it does not like that") {
			t.Errorf("%s: %d %s%s", command, code, out.String(), said.String())
		}
	}
	for {
		if value, _, err := (remoteBook{filepath.Join(node.dir, config.FileName), pinsBook}).Get(t.Context(), "docs"); value == nil && err == nil {
			break
		} else if t.Context().Err() != nil || strings.Contains(err.Error(), "like") {
			t.Fatal(err)
		}
	}
}

// A program that hangs, whose config may be another one, does not keep a command for long that tells what runs of a change.
func TestBesideHungProgram(t *testing.T) {
	setFolders(t)
	t.Setenv(secret.KeyVariable, testSecretKey)
	docs := newGuarded()
	defer docs.Close()
	folder, path := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "mcpbridge"), filepath.Join(t.TempDir(), config.FileName)
	store, bad := pinStore(path, "docs")
	err := errors.Join(bad, os.Mkdir(folder, 0o700), os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"docs": {"url": %q, "pin": true}}}`, docs.URL+"/mcp"), 0o600),
		store.Update(func([]byte) ([]byte, error) { return []byte("damaged"), nil }))
	if err != nil {
		t.Fatal(err)
	}
	occupy(t, filepath.Join(folder, "0"))
	var commands sync.WaitGroup
	for _, command := range []string{"token create ann", "pins accept docs", "login docs --no-browser"} {
		commands.Go(func() {
			said, begun := &agreeing{}, time.Now()
			code := run(t.Context(), append(strings.Fields(command), "--config", path), streams{in: strings.NewReader(""), out: io.Discard, err: said})
			if took := time.Since(begun); code != exitDone || took > askTime/2 {
				t.Errorf("%s: exit code %d after %s: %s", command, code, took, said)
			}
		})
	}
	commands.Wait()
}

// occupy is a program that answers nothing, and is asked before others.
func occupy(t *testing.T, place string) net.Listener {
	lock := flock.New(place + ".lock")
	if locked, err := lock.TryLock(); err != nil || !locked {
		t.Fatal(locked, err)
	}
	ln, err := net.Listen("unix", place+".sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ln.Close()
		lock.Close()
	})
	return ln
}

// refuse is a program that refuses all commands, and is asked before others.
func refuse(t *testing.T, place string) {
	ln := occupy(t, place)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(conn).ReadBytes('\n')
			io.WriteString(conn, `{"error":"it does not like that"}`+"\n")
			conn.Close()
		}
	}()
}

// A program that ends before it has answered has not done what it was asked.
func TestNoAnswer(t *testing.T) {
	setFolders(t)
	answerAll(t, "")
	if code, out, errs := runWith("reload"); code != exitAway || !strings.Contains(errs, "has ended before it answered") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// Of the nodes of a cluster one decides, and the others are too late.
func TestDecideAtOneNode(t *testing.T) {
	setFolders(t)
	answerAll(t, `{"done":"approval A is approved: pay"}`+"\n")
	answerAll(t, `{"error":"approval A: it is being decided at another node"}`+"\n")
	if code, out, errs := runWith("approvals", "decide", "A", "--allow"); code != exitDone || out != "approval A is approved: pay\n" || errs != "" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// Nodes of a cluster have the same approvals, of which one may know sooner that it was decided.
func TestApprovalsOfNodes(t *testing.T) {
	setFolders(t)
	pending, denied := `{"id":"A","state":"pending","target":"pay"}`+"\n", `{"id":"A","state":"denied","target":"pay"}`+"\n"
	answerAll(t, pending)
	answerAll(t, denied)
	answerAll(t, pending+`{"id":"B","state":"pending","target":"read"}`+"\n")
	code, out, errs := runWith("approvals", "--json")
	if code != exitDone || strings.Count(out, `"id"`) != 2 || strings.Count(out, `"denied"`) != 1 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// answerAll is a program that answers all commands with a text.
func answerAll(t *testing.T, text string) {
	path := filepath.Join(t.TempDir(), config.FileName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	place, err := daemon.PlaceOf(path)
	if err != nil {
		t.Fatal(err)
	}
	ln, release, err := place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		serving.Wait()
		release()
	})
	server := &daemon.Server{Log: slog.New(slog.DiscardHandler), Command: func(_ context.Context, _ *daemon.Command, out io.Writer) error {
		_, err := io.WriteString(out, text)
		return err
	}}
	serving.Go(func() { _ = server.Serve(t.Context(), ln) })
}
