package providertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
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

// Decoded returns the turn of a recorded exchange, and checks what all have: the same text in
// events and message, valid calls and their stop, a usage, a model.
func Decoded(t *testing.T, p Maker, req *providers.Request, e *Exchange) *providers.Turn {
	t.Helper()
	turn, events, err := Ask(t, p, req, e.Answer())
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	u, calls := turn.Usage, turn.Message.Calls()
	if turn.Stop == providers.StopOther || len(turn.Message.Parts) == 0 || turn.Model == "" || u.Input == 0 || u.Output == 0 || u.Output < u.Reasoning {
		t.Errorf("%s: %+v", e, turn)
	}
	if emitted := JoinText(events, providers.EventTextDelta); emitted != turn.Message.Text() {
		t.Errorf("%s: emitted %q, the message says %q", e, emitted, turn.Message.Text())
	}
	if (turn.Stop == providers.StopCalls) != (len(calls) > 0) {
		t.Errorf("%s: %s with %d calls", e, turn.Stop, len(calls))
	}
	for _, c := range calls {
		if req.Tools != nil && req.Tools.Find(c.Name) == nil || !json.Valid(c.Arguments) || c.Arguments[0] != '{' {
			t.Errorf("%s: call %+v", e, c)
		}
	}
	return turn
}

const (
	pieceSize = 97      // a prime, so that pieces end at all places of a stream's lines
	mostBytes = 3 << 20 // read in total while one stream is cut at many places
)

// CheckChunks checks that the recorded streams of a format are decoded the same in any pieces:
// each in small ones; the shortest with a call also byte by byte, and in two, cut at every
// place, or at regular distances if it is long.
func CheckChunks(t *testing.T, format string, p Maker) {
	t.Helper()
	var shortest []byte
	for _, conversation := range Corpus(t, format) {
		for i := range conversation {
			e := &conversation[i]
			if !e.SSE {
				continue
			}
			body := e.Body()
			want, calls := streamed(t, p, body)
			if got, _ := streamed(t, p, body, each(pieceSize, body)...); got != want {
				t.Errorf("%s in pieces:\n got %s\nwant %s", e, got, want)
			}
			if calls && (shortest == nil || len(body) < len(shortest)) {
				shortest = body
			}
		}
	}
	want, calls := streamed(t, p, shortest)
	if got, _ := streamed(t, p, shortest, each(1, shortest)...); got != want || !calls {
		t.Errorf("byte by byte, %s\n got %s\nwant %s", shortest, got, want)
	}
	for _, cut := range each(1+len(shortest)*len(shortest)/mostBytes, shortest) {
		if got, _ := streamed(t, p, shortest, cut); got != want {
			t.Fatalf("cut at %d of %s\n got %s\nwant %s", cut, shortest, got, want)
		}
	}
}

// each returns cuts after every size bytes.
func each(size int, body []byte) (cuts []int) {
	for at := size; at < len(body); at += size {
		cuts = append(cuts, at)
	}
	return cuts
}

// streamed returns all that is made of a stream in pieces, and whether it has calls.
func streamed(t *testing.T, p Maker, body []byte, cuts ...int) (says string, calls bool) {
	t.Helper()
	req := &providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("Hello")}}
	turn, events, err := Ask(t, p, req, newAnswer("text/event-stream", pieces(body, cuts...)))
	return fmt.Sprintf("%s (%v)\n%s", marshal(t, turn), err, eventLines(events)), turn != nil && len(turn.Message.Calls()) > 0
}
