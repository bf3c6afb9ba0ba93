package load

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/upstream"
)

// server starts an echo whose answers are changed.
func server(t *testing.T, change func(answer []byte) []byte) client.Target {
	t.Helper()
	echo := upstream.NewEcho(true, 3)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var out bytes.Buffer
		echo.ServeStdio(bytes.NewReader(append(body, '\n')), &out)
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			out = *bytes.NewBuffer(change(out.Bytes()))
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(bytes.TrimSpace(out.Bytes()))
	})
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return client.Target{Carrier: client.HTTP, URL: s.URL}
}

func try(target client.Target) (Calls, error) {
	return Load{Target: target, Callers: 3, Payload: 100, Tool: "*cho", Length: 50 * time.Millisecond}.Run(context.Background())
}

// A single wrong answer fails a load.
func TestWrongAnswers(t *testing.T) {
	replace := func(old, with string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(with), 1) }
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string // in the error; "" for none
	}{
		"right":          {func(b []byte) []byte { return b }, ""},
		"another id":     {replace(`"id":`, `"id":9`), "not the answer to id"},
		"no id":          {replace(`"id":`, `"other":`), "not the answer to id"},
		"cut short":      {replace("xx\"", "x\""), "did not come back"},
		"one byte":       {replace("xxx\"", "xyx\""), "did not come back"},
		"another's text": {replace("text\":\"0000000", "text\":\"0000009"), "did not come back"},
		"an error":       {replace(`"result":{`, `"error":{"code":1},"x":{`), "error response"},
		"a tool's error": {replace(`"result":{`, `"result":{"isError":true,`), "the tool failed"},
		"no result":      {replace(`"result"`, `"x"`), "no result"},
		"nothing":        {func([]byte) []byte { return nil }, "not the answer"},
	} {
		calls, err := try(server(t, c.change))
		switch {
		case c.want == "" && (err != nil || calls.Calls == 0 || calls.P50 <= 0 || calls.P99 < calls.P50 || calls.First <= 0):
			t.Errorf("%s: %+v, %v", name, calls, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// A server that does not answer ends the load when its patience does.
func TestPatience(t *testing.T) {
	stuck := make(chan struct{})
	target := server(t, func([]byte) []byte { <-stuck; return nil })
	t.Cleanup(func() { close(stuck) }) // before the server's
	target.Until = time.Now().Add(500 * time.Millisecond)
	l := Load{Target: target, Callers: 1, Tool: "echo", Length: time.Millisecond}
	if _, err := l.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("error %v, want a timeout", err)
	}
}

func TestLists(t *testing.T) {
	target := server(t, nil)
	l := Load{Target: target, Callers: 1, Tool: "echo", List: true, Tools: 3, Length: time.Millisecond}
	if calls, err := l.Run(context.Background()); err != nil || calls.Calls == 0 {
		t.Errorf("%+v, %v", calls, err)
	}
	l.Tools = 4
	if _, err := l.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "a list of 3 tools, not 4") {
		t.Errorf("error %v", err)
	}
	l.Tool = "*none"
	if _, err := l.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "no tool *none") {
		t.Errorf("error %v", err)
	}
}

func TestNumber(t *testing.T) {
	text := []byte(strings.Repeat("x", 25))
	if number(text, 1234567890123); string(text) != "00000001234567890123xxxxx" {
		t.Errorf("%s", text)
	}
}

func TestQuantile(t *testing.T) {
	times := []time.Duration{1000, 2000, 3000, 4000}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 0.99: 4, 1: 4} {
		if got := quantile(times, q); got != want {
			t.Errorf("quantile(%g) = %g, want %g", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("a quantile of nothing")
	}
}
