//go:build unix

package rest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// A named pipe in the folder of files is refused at once, not waited for.
func TestNamedPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := sourcetest.Open(t, Kind, bridge.BackendConfig{Name: "shop", Dir: dir, Config: json.RawMessage(`{"url":"http://127.0.0.1:1","files":"."}`)})
	tool := sourcetest.Tool(t, b, `{"method":"POST","path":"/","body":"multipart","encoding":{"file":{"style":"file"}}}`)
	if _, err := tool.Call(t.Context(), json.RawMessage(`{"file":"file:pipe"}`)); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Error(err)
	}
}
