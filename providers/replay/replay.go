package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxScript bounds the bytes of a file.
const maxScript = 256 << 20

// A Script is the exchanges of one or more files. It is immutable and may be used from many
// goroutines.
type Script struct {
	format    toolformat.Format
	exchanges []exchange
}

// An exchange is a line of a script.
type exchange struct {
	at       string          // file:line
	Format   string          `json:"fmt"`
	Status   int             `json:"status"`
	Streamed bool            `json:"sse"`
	Check    bool            `json:"check"`
	Prompt   string          `json:"prompt"`
	Req      json.RawMessage `json:"req"`
	Resp     json.RawMessage `json:"resp"` // the bytes of the body

	File string `json:"file"` // this and what follows is for people
	I    int    `json:"i"`
	URL  string `json:"url"`
}

// Open reads the files of a script, in order. The error names the file and the line.
func Open(files ...string) (*Script, error) {
	s := &Script{}
	for _, file := range files {
		if err := s.load(file); err != nil {
			return nil, err
		}
	}
	if len(s.exchanges) == 0 {
		return nil, fmt.Errorf("replay: no exchange in %q: expected a JSON object a line, with fmt and resp", files)
	}
	return s, nil
}

func (s *Script) load(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if len(data) > maxScript {
		return fmt.Errorf("replay: %s: longer than %d bytes", file, maxScript)
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e := exchange{at: fmt.Sprintf("%s:%d", file, n)}
		if err := s.add(&e, line); err != nil {
			return fmt.Errorf("replay: %s: %w", e.at, err)
		}
	}
	return nil
}

// add appends the exchange in a line.
func (s *Script) add(e *exchange, line []byte) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(e); err != nil {
		return fmt.Errorf("expected an exchange as one JSON object a line: %w", err)
	}
	format := toolformat.Format(e.Format)
	if format == "openai-chat" {
		format = toolformat.FormatOpenAI
	}
	var stream string
	switch e.Status = cmp.Or(e.Status, http.StatusOK); {
	case format == "":
		return fmt.Errorf("fmt is missing: expected the format of the API, such as openai-chat or anthropic")
	case s.format != "" && s.format != format:
		return fmt.Errorf("fmt %s: expected %s, as in the exchanges before it", format, s.format)
	case e.Status < 200 || e.Status > 599:
		return fmt.Errorf("status %d: expected one from 200 to 599", e.Status)
	case e.Resp == nil:
		return fmt.Errorf("resp is missing: expected the body of the response")
	case e.Check && e.Req == nil:
		return fmt.Errorf("check without req: expected the body of the recorded request")
	case e.Streamed:
		if json.Unmarshal(e.Resp, &stream) != nil {
			return fmt.Errorf("resp: expected a JSON string of the stream, as sse is true")
		}
		e.Resp = json.RawMessage(stream)
	}
	if len(s.exchanges) > 0 && e.Prompt != "" && s.exchanges[0].Prompt == "" {
		return fmt.Errorf("prompt: expected one on the first line, too")
	}
	s.format = format
	s.exchanges = append(s.exchanges, *e)
	return nil
}

// Format returns the format of the script's API.
func (s *Script) Format() toolformat.Format { return s.format }

// contentType returns the Content-Type of a response. JSON lines begin with a bracket,
// which no server-sent event does.
func (e *exchange) contentType() string {
	switch {
	case !e.Streamed:
		return "application/json"
	case bytes.HasPrefix(e.Resp, []byte("{")):
		return "application/x-ndjson"
	}
	return "text/event-stream"
}

// Provider returns a provider that newProvider makes over a client. The client plays the
// script from its beginning: each request, whatever its URL, gets the next response. A
// request after the last one, or one that fails a check, fails with a *providers.APIError
// that names the file and the line. The provider may be used from many goroutines; their
// requests are answered in the order in which they arrive. In a script with prompts each request gets
// the exchange at its place behind the newest prompt of its conversation, and no order counts.
func (s *Script) Provider(newProvider func(*http.Client) providers.Provider) (providers.Provider, error) {
	t := &transport{script: s}
	p := newProvider(&http.Client{Transport: t})
	if p.Format() != s.format {
		return nil, fmt.Errorf("replay: %s: fmt %q: provider %s speaks %s", s.exchanges[0].at, s.exchanges[0].Format, p.Name(), p.Format())
	}
	t.place, _ = p.(resultPlace)
	for i := range s.exchanges {
		if e := &s.exchanges[i]; e.Check && t.place == nil {
			return nil, fmt.Errorf("replay: %s: check: provider %s has no ResultPlace", e.at, p.Name())
		}
	}
	if s.exchanges[0].Prompt != "" {
		return &prompted{p, s}, nil
	}
	return p, nil
}

// A transport answers the requests of one provider.
type transport struct {
	script *Script
	place  resultPlace // nil when nothing is checked

	mu   sync.Mutex // guards next
	next int
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.script.exchanges
	if i, ok := r.Context().Value(exchangeKey{}).(int); ok {
		t.next = i
	}
	if t.next == len(all) {
		return nil, refuse(&all[len(all)-1], fmt.Sprintf("the script has ended: it has %d exchanges, and this is one request more", len(all)))
	}
	e := &all[t.next]
	if e.Check {
		if err := check(t.place, e.Req, body); err != nil {
			return nil, refuse(e, err.Error())
		}
	}
	t.next++
	return &http.Response{
		StatusCode: e.Status,
		Header:     http.Header{"Content-Type": {e.contentType()}},
		Body:       io.NopCloser(bytes.NewReader(e.Resp)),
		Request:    r,
	}, nil
}

// refuse returns the error of a request that the script does not answer, however often it is repeated.
func refuse(e *exchange, why string) error {
	err := toolformat.Errorf(toolformat.Invalid, "replay: %s: %s", e.at, why)
	return &providers.APIError{Message: err.Error(), Cause: err}
}

// A result is a tool's result in a request.
type result struct {
	call string // the call's id, or the tool's name in an API without ids
	text string
}

// A resultPlace is a provider that says where the requests of its API have results of tools.
type resultPlace interface {
	// ResultPlace returns the path of the objects that are results, and their members: those
	// that name the call, of which the first present counts, and the one with the result. A
	// step of the path is the name of a member, * for all elements, or name=value to keep
	// the objects with that text.
	ResultPlace() (path string, ids []string, result string)
}

// check compares the results in a request with those of the recorded one: each of them
// must be present, in their order.
func check(place resultPlace, recorded, request []byte) error {
	if !json.Valid(request) {
		return fmt.Errorf("the request is not JSON")
	}
	have := results(place, request)
	for _, want := range results(place, recorded) {
		i := slices.IndexFunc(have, func(r result) bool { return r.call == want.call })
		if i < 0 {
			return fmt.Errorf("the request lacks a result of the call %s; the recorded one has %.200q", want.call, want.text)
		}
		if have[i].text != want.text {
			return fmt.Errorf("the result of the call %s is %.200q; the recorded one has %.200q", want.call, have[i].text, want.text)
		}
		have = have[i+1:]
	}
	return nil
}

// results returns the results in a request, in order.
func results(place resultPlace, request []byte) []result {
	path, ids, value := place.ResultPlace()
	objects := [][]byte{request}
	for step := range strings.SplitSeq(path, "/") {
		var found [][]byte
		for _, o := range objects {
			key, text, filter := strings.Cut(step, "=")
			member := wire.Lookup(o, key)
			switch have, _ := wire.Text(member); {
			case step == "*":
				found = slices.AppendSeq(found, wire.Elements(o))
			case filter && have == text:
				found = append(found, o)
			case !filter && member != nil:
				found = append(found, member)
			}
		}
		objects = found
	}
	var all []result
	for _, o := range objects {
		r := result{text: flatten(wire.Lookup(o, value))}
		for _, id := range ids {
			text, _ := wire.Text(wire.Lookup(o, id))
			r.call = cmp.Or(r.call, text)
		}
		all = append(all, r)
	}
	return all
}

// flatten returns the text of a result, which can be a string or blocks.
func flatten(raw []byte) string {
	if text, ok := wire.Text(raw); ok {
		return text
	}
	var parts []string
	for element := range wire.Elements(raw) {
		parts = append(parts, flatten(element))
	}
	if parts != nil {
		return strings.Join(parts, "\n")
	}
	if text, ok := wire.Text(wire.Lookup(raw, "text")); ok {
		return text
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // raw is valid, or empty
	return b.String()
}
