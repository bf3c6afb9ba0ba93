package providertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

// A Known is an intended difference between a request of ours and a recorded one.
type Known struct {
	Path string // a pattern of path.Match for paths in the request: messages/*/content/*/caller
	File string // a part of the file names of its conversations; "" means any
	Why  string
}

// Differences compares requests with recorded ones.
type Differences struct {
	known []Known
	met   map[Known]bool
}

// NewDifferences allows known differences. The test fails if one of them is never met.
func NewDifferences(t *testing.T, known ...Known) *Differences {
	d := &Differences{known: known, met: map[Known]bool{}}
	t.Cleanup(func() {
		for _, k := range known {
			if !d.met[k] && !t.Failed() && !t.Skipped() {
				t.Errorf("no request differs at %s any more (%s)", k.Path, k.Why)
			}
		}
	})
	return d
}

// Check reports where got differs from want, both JSON, except for known differences.
func (d *Differences) Check(t *testing.T, name string, got, want []byte) {
	t.Helper()
	d.compare(t, name, "", decode(t, got), decode(t, want))
}

func decode(t *testing.T, raw []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %.500s", err, raw)
	}
	return v
}

// absent is the value of a missing member.
type absent struct{}

func (d *Differences) compare(t *testing.T, name, at string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	for _, k := range d.known {
		if ok, _ := path.Match(k.Path, at); ok && strings.Contains(name, k.File) {
			d.met[k] = true
			return
		}
	}
	g, isObject := got.(map[string]any)
	w, both := want.(map[string]any)
	if isObject && both {
		d.members(t, name, at, g, w)
		return
	}
	gs, isArray := got.([]any)
	ws, both := want.([]any)
	if isArray && both && len(gs) == len(ws) {
		for i := range gs {
			d.compare(t, name, path.Join(at, strconv.Itoa(i)), gs[i], ws[i])
		}
		return
	}
	t.Errorf("%s: at %s:\n got %.600s\nwant %.600s", name, at, show(got), show(want))
}

func (d *Differences) members(t *testing.T, name, at string, got, want map[string]any) {
	t.Helper()
	all := maps.Clone(got)
	maps.Copy(all, want)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		g, ok := got[key]
		if !ok {
			g = absent{}
		}
		w, ok := want[key]
		if !ok {
			w = absent{}
		}
		d.compare(t, name, path.Join(at, key), g, w)
	}
}

func show(v any) string {
	if v == (absent{}) {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
