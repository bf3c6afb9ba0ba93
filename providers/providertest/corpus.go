package providertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// An Exchange is a recorded request and its response.
type Exchange struct {
	File   string          `json:"file"` // of the conversation
	I      int             `json:"i"`    // the index in the conversation
	Format string          `json:"fmt"`  // as in scripts of package replay
	URL    string          `json:"url"`
	Status int             `json:"status"`
	SSE    bool            `json:"sse"` // the response was streamed
	Req    json.RawMessage `json:"req"`
	Resp   json.RawMessage `json:"resp"` // the body; a JSON string for a stream
}

// Body returns the body of the response.
func (e *Exchange) Body() []byte {
	var text string
	if e.SSE && json.Unmarshal(e.Resp, &text) == nil {
		return []byte(text)
	}
	return e.Resp
}

// String returns the file and the index of the exchange.
func (e *Exchange) String() string { return fmt.Sprintf("%s %d", e.File, e.I) }

// Answer returns the response, for a Transport.
func (e *Exchange) Answer() Answer {
	a := newAnswer("application/json", bytes.NewReader(e.Body()))
	if e.SSE {
		a.Header.Set("Content-Type", "text/event-stream")
	}
	a.Status = e.Status
	return a
}

// Corpus returns the recorded conversations of a format, from the folder wire of
// MCPBRIDGE_CORPUS. Without that variable it skips the test.
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
			if !bytes.Contains(lines.Bytes(), []byte(format)) { // decoding is slow
				continue
			}
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
