package sql

import (
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A ping fails where a call would, without the password.
func TestPing(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"empty.db": "", "text.db": strings.Repeat("not a database ", 100)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, c := range []struct{ url, timeout, want string }{
		{"sqlite::memory:", "30s", ""},
		{"sqlite:empty.db", "30s", ""},
		{"sqlite:gone.db", "30s", "unable to open database file"},
		{"sqlite:text.db", "30s", "not a database"},
		{"postgres://u:" + secretInURL + "@" + closed.Addr().String() + "/d", "30s", "refused"},
		{"mysql://u:" + secretInURL + "@" + silent.Addr().String() + "/d", "20ms", "no answer within 20ms (timeout of the API)"},
	} {
		config, _ := json.Marshal(map[string]string{"url": c.url, "timeout": c.timeout}) // cannot fail: strings
		b, err := Kind.Open(bridge.BackendConfig{Name: "shop", Config: config, Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if err := b.(*backend).Ping(t.Context()); err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, c.want) || c.want == "" && text != "" {
			t.Errorf("%s: %q, want %q", c.url, text, c.want)
		}
		noSecret(t, text)
		b.Close()
	}
}
