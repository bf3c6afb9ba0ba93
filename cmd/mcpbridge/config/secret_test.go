//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What other users may do with a file decides whether it is reported.
func TestFileMode(t *testing.T) {
	const (
		secret   = `{"mcpServers": {"a": {"command": "x", "env": {"A_TOKEN": "0123456789"}}}}`
		readable = "a secret in a file that every user of this computer can read"
		writable = "every user of this computer can change this file"
	)
	for _, c := range []struct {
		name, config string
		mode         os.FileMode
		want         string // in the only warning; "" means no warning
	}{
		{"for the owner", secret, 0o600, ""},
		{"for the group", secret, 0o660, ""},
		{"for all", secret, 0o644, ":1: mcpServers.a.env.A_TOKEN: " + readable},
		{"changed by all", `{}`, 0o602, ":1: " + writable},
		{"a header", `{"mcpServers": {"a": {"url": "http://x", "headers": {"X-Api-Key": "0123456789"}}}}`, 0o644, "X-Api-Key"},
		{"a URL with a password", `{"mcpServers": {"a": {"url": "http://u:p@example.com"}}}`, 0o644, "mcpServers.a.url"},
		{"a token", `{"tokens": {"alice": "0123456789abcdef", "bob": "0123456789abcdeg"}}`, 0o644, "tokens.alice"},
		{"a key", `{"providers": {"openai": {"apiKey": "0123456789"}}}`, 0o644, "providers.openai.apiKey"},
		{"a client's key", `{"mcpServers": {"a": {"url": "http://x", "oauth": {"clientId": "c", "grant": "client_credentials", "privateKey": "0123456789"}}}}`, 0o644, "oauth.privateKey"},
		{"an assertion", `{"mcpServers": {"a": {"url": "http://x", "oauth": {"clientId": "c", "grant": "jwt-bearer", "assertion": "0123456789"}}}}`, 0o644, "oauth.assertion"},
		{"the key of a server", `{"tls": {"cert": "own.env", "key": "open.env"}}`, 0o600, ":1: tls.key: every user of this computer can read this secret"},
		{"an API", `{"apis": {"a": {"type": "rest", "auth": {"bearer": "0123456789"}}}}`, 0o644, "apis.a.auth.bearer"},
		{"a database", `{"apis": {"a": {"type": "sql", "url": "postgres://u:p@h/d"}}}`, 0o644, "apis.a.url"},
		{"variables", `{"mcpServers": {"a": {"url": "http://x", "headers": {"Authorization": "Bearer ${A}", "X-Api-Key": "$UNSET_KEY"}}}}`, 0o644, "left as it is"},
		{"no secrets", `{"mcpServers": {"a": {"command": "x", "env": {"LOG": "0123456789"}, "rename": {"get_token": "get_a_token"}}}}`, 0o644, ""},
		{"a placeholder", `{"providers": {"openai": {"apiKey": "none"}}}`, 0o644, ""},
		{"an env file", `{"mcpServers": {"a": {"command": "x", "envFile": "open.env"}}}`, 0o600, "mcpServers.a: secrets in a file that"},
		{"an env file for the owner", `{"mcpServers": {"a": {"command": "x", "envFile": "own.env"}}}`, 0o600, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("A", "0123456789")
			dir := t.TempDir()
			for name, mode := range map[string]os.FileMode{FileName: c.mode, "open.env": 0o644, "own.env": 0o600} {
				path, data := filepath.Join(dir, name), "API_KEY=0123456789"
				if name == FileName {
					data = c.config
				}
				if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			cfg, err := Load(filepath.Join(dir, FileName))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(cfg.Warnings, "\n")
			if strings.Contains(got, "0123456789") || len(cfg.Warnings) > 1 || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
