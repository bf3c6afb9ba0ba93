// Package providertest is what the tests of all providers share: recorded exchanges with
// real ones, and a server that replays them.
package providertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// An Exchange is one recorded request and its response.
type Exchange struct {
	File   string          `json:"file"` // the conversation that it is of
	I      int             `json:"i"`    // its place there
	Format string          `json:"fmt"`  // openai-chat, openai-responses, anthropic, gemini
	URL    string          `json:"url"`
	Status int             `json:"status"`
	SSE    bool            `json:"sse"` // whether the response was streamed
	Req    json.RawMessage `json:"req"`
	Resp   json.RawMessage `json:"resp"` // the body; of a stream a JSON string
}

// Body is the response's body as it went over the wire.
func (e *Exchange) Body() []byte {
	var text string
	if e.SSE && json.Unmarshal(e.Resp, &text) == nil {
		return []byte(text)
	}
	return e.Resp
}

// Corpus are the recorded conversations of a format, from the folder wire of
// MCPBRIDGE_CORPUS. Without that variable the test is skipped.
func Corpus(t testing.TB, format string) [][]Exchange {
	t.Helper()
	dir := os.Getenv("MCPBRIDGE_CORPUS")
	if dir == "" {
		t.Skip("MCPBRIDGE_CORPUS is not set: no recorded exchanges")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "wire", "*.jsonl"))
	var all [][]Exchange
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, len(data)+1)
		for lines.Scan() {
			var e Exchange
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if e.Format != format {
				continue
			}
			if n := len(all); n > 0 && all[n-1][0].File == e.File && all[n-1][len(all[n-1])-1].I+1 == e.I {
				all[n-1] = append(all[n-1], e)
			} else {
				all = append(all, []Exchange{e})
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no exchange of %s in %s", format, dir)
	}
	return all
}

// A Server answers each request with the next of its exchanges and keeps the requests.
type Server struct {
	URL string

	mu       sync.Mutex // guards what follows
	next     []Exchange
	Requests []json.RawMessage // read after the last response
}

// NewServer starts a server on loopback that ends with the test. A request beyond the last
// exchange gets a 500.
func NewServer(t testing.TB, exchanges ...Exchange) *Server {
	t.Helper()
	s := &Server{next: exchanges}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Requests = append(s.Requests, body.Bytes())
	if len(s.next) == 0 {
		http.Error(w, "the script has ended", http.StatusInternalServerError)
		return
	}
	e := s.next[0]
	s.next = s.next[1:]
	if e.SSE {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	if e.Status != 0 {
		w.WriteHeader(e.Status)
	}
	_, _ = w.Write(e.Body())
}
