// Package sdktest has no code: it tests the endpoint for chat completions with OpenAI's own
// clients.
package sdktest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// patience bounds a client; it is reached only by a failure.
const patience = time.Minute

// artist is a model that calls the bridge's tool double and the client's tool draw.
type artist struct{}

func (artist) Name() string              { return "artist" }
func (artist) Format() toolformat.Format { return toolformat.FormatOpenAI }

func (artist) Turn(_ context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	answers := map[string]string{}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				answers[p.Result.ID] = p.Result.Text(false)
			}
		}
	}
	m := providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: "artist", Items: json.RawMessage(`{}`)}}
	stop := providers.StopEnd
	say := func(text string) {
		emit(providers.Event{Type: providers.EventTextDelta, Text: text})
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartText, Text: text})
	}
	switch {
	case answers["call_1"] == "":
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: "call_1", Name: "double", Arguments: json.RawMessage(`{"n":4}`)}})
		stop = providers.StopCalls
	case answers["call_2"] == "":
		say("Drawing.")
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: "call_2", Name: "draw", Arguments: json.RawMessage(`{"what":"cat"}`)}})
		stop = providers.StopCalls
	default:
		say(fmt.Sprintf("Size %s, %s.", answers["call_1"], answers["call_2"]))
	}
	return &providers.Turn{Message: m, Stop: stop, Usage: providers.Usage{Input: 10, Output: 1}}, nil
}

func serveArtist(t *testing.T) string {
	double, err := bridge.Func("double", "Doubles.", func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return 2 * in.N, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, double)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(serve.New(serve.Options{
		Toolbox: providers.NewToolbox(native),
		Models:  func() []string { return []string{"here/m"} },
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			if id != "here/m" {
				return providers.Candidate{}, providers.Settings{}, fmt.Errorf("model %s is unknown", id)
			}
			return providers.Candidate{Provider: artist{}, Model: "m"}, providers.Settings{}, nil
		},
		Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} },
	}))
	t.Cleanup(func() {
		server.Close()
		native.Close()
	})
	return server.URL
}

// TestOpenAIClients needs MCPBRIDGE_OPENAI_CLIENTS, a folder with node_modules of
// testdata/package.json and a Python environment, venv, of testdata/requirements.txt.
func TestOpenAIClients(t *testing.T) {
	dir := os.Getenv("MCPBRIDGE_OPENAI_CLIENTS")
	if dir == "" {
		t.Skip("MCPBRIDGE_OPENAI_CLIENTS is not set: no clients to test with")
	}
	script := filepath.Join(dir, "client.mjs") // Node searches for packages beside the script
	source, err := os.ReadFile("testdata/client.mjs")
	if err == nil {
		err = os.WriteFile(script, source, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string][]string{
		"node":   {"node", script},
		"python": {filepath.Join(dir, "venv", "bin", "python"), "testdata/client.py"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, command[0], append(command[1:], serveArtist(t), "none")...)
			var complaint strings.Builder
			cmd.Stderr = &complaint
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, cmp.Or(complaint.String(), string(out)))
			}
			const round = `"calls":["draw"],"finish":"tool_calls","text":"Size 8, drawn: cat.","tokens":`
			lines := compact(t, string(out))
			for _, want := range []string{
				`{"name":"models","ids":["here/m"]}`,
				`{"name":"whole",` + round + `11}`,
				`{"name":"stream",` + round + `22}`,
				`{"name":"error","kind":"NotFoundError","status":404,"code":"model_not_found"}`,
			} {
				if !strings.Contains(lines, want+"\n") {
					t.Errorf("%s\nis missing in\n%s", want, lines)
				}
			}
			if name == "node" && !strings.Contains(lines, `{"name":"runTools","text":"Size 8, drawn: cat."}`) {
				t.Errorf("runTools: %s", lines)
			}
		})
	}
}

// compact removes the spaces from JSON lines.
func compact(t *testing.T, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		var v json.RawMessage
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lean := strings.NewReplacer(`": `, `":`, `, "`, `,"`).Replace(strings.TrimSpace(line))
		b.WriteString(lean + "\n")
	}
	return b.String()
}
