package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A signal ends a command that reads standard input: what that is may never end.
func TestInputInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcpbridge.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"a": {"command": "a-server"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"convert --to mcp",
		"lint -",
		"tools call a --args -",
		"prompts get a --args -",
		"add b --from -",
		"ask --provider ollama --model m a",
		"secret set A",
	} {
		t.Run(command, func(t *testing.T) {
			in, typed := io.Pipe()
			defer typed.Close()
			ctx, interrupt := context.WithCancel(t.Context())
			interrupt()
			var out, said bytes.Buffer
			args := strings.Fields(command)
			if args[0] != "convert" && args[0] != "lint" && args[0] != "secret" {
				args = append(args, "--config", path)
			}
			if code := run(ctx, args, streams{in: in, out: &out, err: &said}); code != exitInterrupted || out.Len()+said.Len() > 0 {
				t.Errorf("got exit code %d, %q and %q, want %d and no word", code, &out, &said, exitInterrupted)
			}
		})
	}
}

// A picture that is not saved is shown with its size.
func TestSizeOfContent(t *testing.T) {
	for data, want := range map[string]string{"aGVsbG8=": "[image, image/png, 5 bytes: --out DIR saves it]\n", "aGVs": "[image, image/png, 3 bytes: --out DIR saves it]\n"} {
		var out bytes.Buffer
		if err := save(&out, "", 1, &toolformat.Content{Type: "image", MimeType: "image/png", Data: data}); err != nil || out.String() != want {
			t.Errorf("%s: got %q, %v", data, &out, err)
		}
	}
}
