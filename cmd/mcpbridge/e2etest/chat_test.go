package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers"
	models "github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestChatModule runs prompts through mcpbridge.js in Node, with lost connections.
func TestChatModule(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node is not installed")
	}
	var cut cutter
	write, err := bridge.Func("write", "Writes a number.", func(_ context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		cut.all()
		return fmt.Sprint("wrote ", in.N), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wait, err := bridge.Func("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, write, wait)
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	chat := models.NewChat(models.ChatOptions{
		Source: native, Caller: mcpserver.CallerOf,
		Loop: providers.Options{Policy: askAlways},
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			if id != "" {
				return providers.Candidate{}, providers.Settings{}, fmt.Errorf("unknown model %s", id)
			}
			return providers.Candidate{Provider: chatty{}, Model: "m"}, providers.Settings{}, nil
		},
	})
	defer chat.Close()
	front := mcpserver.New(native, mcpserver.Options{Protected: map[string]http.Handler{"/chat": chat}})
	defer front.Close()
	server := httptest.NewServer(front.Handler())
	defer server.Close()
	address := cut.listen(t, server.Listener.Addr().String())

	docs, err := os.ReadFile("../../../docs/browser.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(docs), "\n## Chat\n\n```js\n")
	example, _, _ = strings.Cut(example, "```")
	dir := t.TempDir()
	example = fmt.Sprintf("import { connect } from \"./mcpbridge.mjs\";\n"+
		"const bridge = await connect({ url: %q }), confirm = () => true, document = { body: { append: (text) => console.log(text) } };\n%s\nbridge.close();\n", "http://"+address, example)
	if err := os.WriteFile(filepath.Join(dir, "example.mjs"), []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"../../../mcpserver/web/mcpbridge.js": "mcpbridge.mjs", "testdata/chat.mjs": "chat.mjs"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for script, want := range map[string]string{"chat.mjs": "", "example.mjs": "Done.\n"} {
		out, err := exec.CommandContext(ctx, node, "--experimental-websocket", "--no-warnings", filepath.Join(dir, script), "http://"+address).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

// chatty is a model that does what it is asked to.
type chatty struct{}

func (chatty) Name() string              { return "chatty" }
func (chatty) Format() toolformat.Format { return toolformat.FormatAnthropic }

func (chatty) Turn(_ context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	last := req.Messages[len(req.Messages)-1]
	answers := map[string]string{"Write 1.": "write", "Again.": "write", "Wait.": "wait"}
	turn := &providers.Turn{Message: providers.Message{Role: providers.RoleAssistant}, Stop: providers.StopEnd}
	if tool := answers[last.Text()]; tool != "" {
		turn.Stop = providers.StopCalls
		call := &providers.Call{ID: fmt.Sprint("call", len(req.Messages)), Name: tool, Arguments: json.RawMessage(`{"n":1}`)}
		if tool == "wait" {
			call.Arguments = json.RawMessage(`{}`)
		}
		turn.Message.Parts = []providers.Part{{Type: providers.PartCall, Call: call}}
		return turn, nil
	}
	text := "Done."
	for _, part := range last.Parts {
		if part.Result != nil && part.Result.Content.IsError() {
			text = "As you like."
		}
	}
	emit(providers.Event{Type: providers.EventTextDelta, Text: text})
	turn.Message.AddText(providers.PartText, text)
	return turn, nil
}

// cutter is a proxy whose connections can be cut.
type cutter struct {
	mu   sync.Mutex // guards open
	open []net.Conn
}

// listen listens in front of a server until the test ends.
func (c *cutter) listen(t *testing.T, server string) (address string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	t.Cleanup(func() { ln.Close(); c.all(); work.Wait() })
	work.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				in.Close()
				continue
			}
			c.mu.Lock()
			c.open = append(c.open, in, out)
			c.mu.Unlock()
			work.Go(func() { io.Copy(out, in); out.Close() })
			work.Go(func() { io.Copy(in, out); in.Close() })
		}
	})
	return ln.Addr().String()
}

// all cuts the connections that are open.
func (c *cutter) all() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		conn.Close()
	}
	c.open = nil
}

// askAlways asks about each call.
func askAlways(*providers.Question) providers.Ruling {
	return providers.Ruling{Verdict: providers.VerdictAsk}
}
