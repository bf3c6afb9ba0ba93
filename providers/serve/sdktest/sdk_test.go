// Package sdktest has no code: it tests the endpoints for models with the clients that people use, over each
// provider.
//
// double_test.go has the servers of the providers, sdk_test.go runs the clients of testdata, which print what
// expected_test.go has, and matrix_test.go makes the table of docs/models.md.
package sdktest

import (
	"context"
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
const patience = 5 * time.Minute

// serveDoubles serves the doubles of all providers, each as NAME/m, with the bridge's tool double.
func serveDoubles(t *testing.T) (url string, doubles map[string]*double) {
	doubled, err := bridge.Func("double", "Doubles.", func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return 2 * in.N, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, doubled)
	if err != nil {
		t.Fatal(err)
	}
	doubles = map[string]*double{}
	for _, name := range providerNames {
		doubles[name] = newDouble(t, name)
	}
	server := httptest.NewServer(serve.New(serve.Options{
		Toolbox: providers.NewToolbox(native),
		Models:  func(context.Context) []string { return modelIDs() },
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			d := doubles[strings.TrimSuffix(id, "/m")]
			if d == nil {
				return providers.Candidate{}, providers.Settings{}, toolformat.Errorf(toolformat.NotFound, "model %s is unknown", id)
			}
			return providers.Candidate{Provider: d, Model: "m"}, providers.Settings{}, nil
		},
		Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} },
	}))
	t.Cleanup(func() {
		server.Close()
		native.Close()
	})
	return server.URL, doubles
}

// modelIDs returns the ids of the models of all doubles.
func modelIDs() []string {
	var ids []string
	for _, name := range providerNames {
		ids = append(ids, name+"/m")
	}
	return ids
}

// TestClients needs MCPBRIDGE_SDK_CLIENTS, a folder with node_modules of testdata/package.json and a Python
// environment, venv, of testdata/requirements.txt.
func TestClients(t *testing.T) {
	dir := os.Getenv("MCPBRIDGE_SDK_CLIENTS")
	if dir == "" {
		t.Skip("MCPBRIDGE_SDK_CLIENTS is not set: no clients to test with")
	}
	scripts := t.TempDir() // Node searches for packages in the folders above a script
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(scripts, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(scripts, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	url, _ := serveDoubles(t)
	for script, want := range expected() {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			program := "node"
			if strings.HasSuffix(script, ".py") {
				program = filepath.Join(dir, "venv", "bin", "python")
			}
			got := runClient(t, program, append([]string{filepath.Join(scripts, script), url}, modelIDs()...)...)
			for _, line := range want {
				if !strings.Contains(got, line+"\n") {
					t.Errorf("%s\nis missing", line)
				}
			}
			if t.Failed() {
				t.Log(got)
			}
		})
	}
}

// runClient runs a client and returns what it prints.
func runClient(t *testing.T, program string, arguments ...string) string {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "OPENAI_API_KEY=none", "ANTHROPIC_API_KEY=none")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, complaint.String())
	}
	return string(out)
}

// expected returns the lines that each client must print. A line with MODEL is one for each model.
func expected() map[string][]string {
	all := map[string][]string{}
	for script, lines := range scenarios {
		for _, line := range lines {
			if !strings.Contains(line, "MODEL") {
				all[script] = append(all[script], line)
				continue
			}
			for _, id := range modelIDs() {
				all[script] = append(all[script], strings.ReplaceAll(line, "MODEL", fmt.Sprintf("%q", id)))
			}
		}
	}
	return all
}
