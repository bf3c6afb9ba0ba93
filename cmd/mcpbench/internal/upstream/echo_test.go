package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
)

const asEcho = "MCPBENCH_TEST_AS_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(asEcho) != "" {
		NewEcho(true, 2).ServeStdio(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// listen serves an echo, with its answers as streams of events if wanted, and returns its address.
func listen(t *testing.T, events bool) string {
	t.Helper()
	echo := NewEcho(true, 2)
	handler := http.Handler(echo)
	if events {
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			if echo.ServeHTTP(answer, r); answer.Body.Len() == 0 {
				w.WriteHeader(answer.Code)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Mcp-Session-Id", answer.Header().Get("Mcp-Session-Id"))
			fmt.Fprintf(w, ": none\n\nevent: message\ndata: {\"method\":\"x\"}\n\nevent: message\ndata: %s\n\n", answer.Body)
		})
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// Client, echo and floor understand each other on every carrier, in both eras, and with texts that do
// not fit a buffer.
func TestCarriers(t *testing.T) {
	t.Setenv(asEcho, "1")
	address, events := listen(t, false), listen(t, true)
	floor := httptest.NewServer(FloorHTTP("http://" + address + "/mcp"))
	defer floor.Close()
	handler, err := FloorStdio(os.Args[:1], func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	stdioFloor := httptest.NewServer(handler)
	defer stdioFloor.Close()
	for name, target := range map[string]client.Target{
		"http":            {Carrier: client.HTTP, URL: "http://" + address + "/mcp"},
		"events":          {Carrier: client.HTTP, URL: "http://" + events + "/mcp"},
		"ws":              {Carrier: client.WS, URL: "ws://" + address + "/ws"},
		"stdio":           {Carrier: client.Stdio, Command: os.Args[:1]},
		"floor to http":   {Carrier: client.HTTP, URL: floor.URL},
		"floor to events": {Carrier: client.HTTP, URL: floorTo(t, events)},
		"floor to stdio":  {Carrier: client.HTTP, URL: stdioFloor.URL},
	} {
		for _, modern := range []bool{false, true} {
			target.Modern, target.Until = modern, time.Now().Add(20*time.Second)
			t.Run(fmt.Sprint(name, modern), func(t *testing.T) { talk(t, target) })
		}
	}
}

func floorTo(t *testing.T, address string) string {
	s := httptest.NewServer(FloorHTTP("http://" + address + "/mcp"))
	t.Cleanup(s.Close)
	return s.URL
}

func talk(t *testing.T, target client.Target) {
	s, err := client.Open(target)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if names, err := s.Tools(); err != nil || strings.Join(names, " ") != "echo filler_00001" {
		t.Fatalf("tools %q, %v", names, err)
	}
	for id, size := range []int{1, 100, 10_000, 300_000, 2} {
		text, _ := json.Marshal(strings.Repeat("a\"b\n", size))
		params := `{` + s.Meta + `"name":"echo","arguments":{"text":` + string(text) + `}}`
		answer, err := s.Call(&client.Request{ID: int64(100 + id), Method: "tools/call", Name: "echo", Params: []byte(params)})
		result := answer.Result
		if err != nil || !bytes.Contains(result, text) {
			t.Fatalf("%d bytes: %v, %.100q", size, err, result)
		}
		if modern := bytes.Contains(result, []byte("resultType")); modern != target.Modern {
			t.Errorf("modern %t: %.100q", target.Modern, result)
		}
	}
}

// The connections of a floor take its servers in turn.
func TestSpread(t *testing.T) {
	var handlers []http.Handler
	for i := range 3 {
		handlers = append(handlers, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, i) }))
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config = Spread(handlers)
	s.Start()
	defer s.Close()
	seen := map[string]int{}
	for range 6 {
		client := &http.Client{Transport: &http.Transport{}}
		for range 2 {
			answer, err := client.Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			seen[string(text)]++
		}
		client.CloseIdleConnections()
	}
	if fmt.Sprint(seen) != "map[0:4 1:4 2:4]" {
		t.Errorf("requests to each: %v", seen)
	}
}

// A server of the legacy era refuses the other.
func TestEras(t *testing.T) {
	for _, c := range []struct {
		modern  bool
		method  string
		refused bool
	}{
		{false, "initialize", false}, {false, "server/discover", true}, {true, "initialize", false}, {true, "server/discover", false}, {true, "x", true},
	} {
		echo := NewEcho(c.modern, 1)
		var out bytes.Buffer
		echo.answer(&out, []byte(`{"jsonrpc":"2.0","id":"a","method":"`+c.method+`","params":{}}`))
		if !json.Valid(out.Bytes()) || strings.Contains(out.String(), "-32601") != c.refused || !strings.Contains(out.String(), `"id":"a"`) {
			t.Errorf("%t, %s: %s", c.modern, c.method, &out)
		}
	}
}

func TestHTTPRules(t *testing.T) {
	address := listen(t, false)
	for method, want := range map[string]int{"GET": 405, "DELETE": 204} {
		r, _ := http.NewRequest(method, "http://"+address+"/mcp", nil)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", method, answer.StatusCode, want)
		}
	}
}
