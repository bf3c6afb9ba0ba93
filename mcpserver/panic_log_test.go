package mcpserver

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// The panic of a handler is an error in the log, and a connection that cannot be accepted a warning. What clients can
// cause at will is neither.
func TestConnectionLog(t *testing.T) {
	var text bytes.Buffer
	s := New(sourcetest.NewFake(), Options{Log: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for line, level := range map[string]string{
		"http: panic serving 127.0.0.1:1: wrong\n":                                                    "level=ERROR",
		"http: Accept error: accept tcp 127.0.0.1:1: accept4: too many open files; retrying in 5ms\n": `level=WARN msg="cannot accept a connection, and tries again" reason="accept tcp 127.0.0.1:1: accept4: too many open files"`,
		"http: TLS handshake error from 127.0.0.1:1: EOF\n":                                           "level=DEBUG",
		"http: response.WriteHeader on hijacked connection\n":                                         "level=DEBUG",
	} {
		text.Reset()
		connectionLog{s}.Write([]byte(line))
		if !strings.Contains(text.String(), level) {
			t.Errorf("%q: %s", line, &text)
		}
	}
}
