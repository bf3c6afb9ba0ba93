package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/ledger"
)

// bank is an MCP server that counts the calls of its tool by their argument.
type bank struct {
	mu   sync.Mutex // guards what follows
	paid map[string]int
	at   func(moment string) // what happens at a moment of a call
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments struct{ To string } }
	}
	raw, _ := io.ReadAll(r.Body)
	if json.Unmarshal(raw, &req); r.Method != http.MethodPost || req.ID == nil {
		w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == http.MethodPost])
		return
	}
	result := `{}`
	switch req.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bank","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		b.moment("received")
		b.mu.Lock()
		b.paid[req.Params.Arguments.To]++
		b.mu.Unlock()
		b.moment("paid")
		result = `{"content":[{"type":"text","text":"paid"}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
}

func (b *bank) moment(name string) {
	b.mu.Lock()
	at := b.at
	b.mu.Unlock()
	if at != nil {
		at(name)
	}
}

func (b *bank) when(at func(string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = at
}

// killed is a bridge on stdio that is killed.
type killed struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startKilled(t *testing.T, config string) *killed {
	t.Helper()
	k := &killed{cmd: exec.Command("mcpbridge", "stdio", "--alone", "--config", config)}
	k.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	var err error
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.out = bufio.NewReader(out)
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(k.in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if _, ok := k.answer(`0`); !ok {
		t.Fatal("no initialize")
	}
	fmt.Fprintln(k.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return k
}

func (k *killed) send(to string) {
	fmt.Fprintf(k.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","_meta":{"idempotencyKey":"key-%s"},"arguments":{"to":%q}}}`+"\n", to, to)
}

// answer returns the answer to a request; ok is false if the bridge ends before it.
func (k *killed) answer(id string) (line []byte, ok bool) {
	for {
		line, err := k.out.ReadBytes('\n')
		if err != nil {
			return nil, false
		}
		var m struct{ ID json.RawMessage }
		if json.Unmarshal(line, &m) == nil && string(m.ID) == id {
			return line, true
		}
	}
}

func (k *killed) kill() { k.cmd.Process.Kill() }

func (k *killed) end() {
	k.kill()
	k.in.Close()
	k.cmd.Wait()
}

// A bridge is killed at random moments of calls, which are then repeated with their keys: none is paid twice, and
// none is paid without a line in the ledger. With MCPBRIDGE_LONG and -count=10 it is killed a thousand times.
func TestLedgerKills(t *testing.T) {
	kills := 20
	if os.Getenv("MCPBRIDGE_LONG") != "" {
		kills = 100
	}
	b := &bank{paid: map[string]int{}}
	server := httptest.NewServer(b)
	defer server.Close()
	dir := t.TempDir()
	config, book := filepath.Join(dir, "mcpbridge.json"), filepath.Join(dir, "ledger.jsonl")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{"mcpServers":{"bank":{"url":%q}},"ledger":{"file":%q}}`, server.URL, book), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range kills {
		to, moment := fmt.Sprint(i), []string{"received", "paid", "random", "answered"}[i%4]
		k := startKilled(t, config)
		b.when(func(name string) {
			if name == moment {
				k.kill()
			}
		})
		k.send(to)
		if moment == "random" {
			timer := time.AfterFunc(rand.N(20*time.Millisecond), k.kill)
			defer timer.Stop()
		}
		k.answer(`1`)
		k.end()
		b.when(nil)

		k = startKilled(t, config)
		k.send(to)
		if _, ok := k.answer(`1`); !ok {
			t.Fatal("no answer to the repeated call")
		}
		k.end()
	}
	calls, err := ledger.Read(book)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range calls {
		known[c.Key] = true
	}
	total := 0
	for to, times := range b.paid {
		total += times
		sum := sha256.Sum256([]byte("key-" + to))
		if times > 1 || !known[hex.EncodeToString(sum[:16])] {
			t.Errorf("call %s: paid %d times, in the ledger: %t", to, times, known[hex.EncodeToString(sum[:16])])
		}
	}
	t.Logf("%d kills, %d paid", kills, total)
}
