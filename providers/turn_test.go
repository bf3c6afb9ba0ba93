package providers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A lineDecoder makes a text of lines. The line "end" is the last; "error" is an error that
// repeats a key.
type lineDecoder struct {
	text string
	done bool
}

func (d *lineDecoder) Read(resp *Response, emit func(Event)) error {
	err := resp.Lines(func(line []byte) error {
		switch string(line) {
		case "end":
			d.done = true
		case "error":
			return &APIError{Status: 200, Message: "bad key sk-0123456789", Again: true}
		default:
			d.text += string(line)
			emit(Event{Type: EventTextDelta, Text: string(line)})
		}
		return nil
	}, nil)
	if err == nil && !d.done {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (d *lineDecoder) Turn() *Turn {
	m := Message{Role: RoleAssistant, Parts: []Part{{Type: PartText, Text: d.text}}, Raw: &Raw{Items: []byte("{}")}}
	return &Turn{Message: m, Stop: StopEnd}
}

func TestClientTurn(t *testing.T) {
	for _, c := range []struct {
		name, body string
		max        int
		stop       Stop
		err        string
		again      bool
	}{
		{"whole", "a\nb\nend\n", 0, StopEnd, "<nil>", false},
		{"cut", "a\nb\n", 0, StopCut, "the response broke off: unexpected EOF (request req_1)", true},
		{"refused in the middle", "a\nb\nerror\n", 0, StopCut, "bad key [hidden] (request req_1)", true},
		{"too long a line", "a\nb\n0123456789\n", 9, StopCut, "the response broke off: a message of 10 bytes is over the limit of 9 bytes (request req_1)", false},
	} {
		p := over(func(*http.Request) (*http.Response, error) {
			return answered(200, http.Header{"X-Request-Id": {"req_1"}}, strings.NewReader(c.body))
		})
		p.Header, p.MaxEvent = http.Header{"Authorization": {"Bearer " + "sk-0123456789"}}, c.max
		told := ""
		turn, err := p.Turn(t.Context(), Exchange{Path: "/x", Body: []byte("{}"), Notes: []string{"n"}, Decoder: &lineDecoder{}}, func(e Event) {
			told += string(e.Type) + " " + e.Text + "|"
		})
		var e *APIError
		if fmt.Sprint(err) != c.err || err != nil && (!errors.As(err, &e) || e.Again != c.again || e.Status != 200) {
			t.Errorf("%s: %v", c.name, err)
		}
		if turn.Stop != c.stop || (turn.Message.Raw == nil) != (err != nil) || turn.Message.Text() != "ab" || told != "note n|text_delta a|text_delta b|" {
			t.Errorf("%s: %+v, %s", c.name, turn, told)
		}
		if quiet, _ := p.Turn(t.Context(), Exchange{Path: "/x", Decoder: &lineDecoder{}}, nil); quiet.Message.Text() != "ab" {
			t.Errorf("%s, to nobody: %+v", c.name, quiet)
		}
	}
	if turn, err := over(refusal(400)).Turn(t.Context(), Exchange{Path: "/x", Decoder: &lineDecoder{}}, nil); turn != nil || err == nil {
		t.Errorf("refused: %+v, %v", turn, err)
	}
}

func TestBrokeOff(t *testing.T) {
	r := &Response{request: &http.Request{URL: &url.URL{}}}
	gone := errors.New("gone")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := r.brokeOff(ended, io.ErrUnexpectedEOF); !errors.Is(err, gone) {
		t.Error(err)
	}
	refused := &APIError{Message: "no"}
	if err := r.brokeOff(t.Context(), fmt.Errorf("x: %w", refused)); err != refused {
		t.Error(err)
	}
	for _, c := range []struct {
		err   error
		again bool
	}{{io.ErrUnexpectedEOF, true}, {&wire.TooLongError{Limit: 1, Size: 2}, false}} {
		err := r.brokeOff(t.Context(), c.err)
		var e *APIError
		if !errors.As(err, &e) || e.Status != 200 || e.Again != c.again || !errors.Is(err, c.err) {
			t.Errorf("%v: %+v", c.err, e)
		}
	}
}

func TestFor(t *testing.T) {
	read := func(*APIError, []byte) {}
	vendor := Client{BaseURL: "https://api.example", Version: "v1", Refuse: read, Header: http.Header{"x-api-key": {""}, "x-version": {"1"}}, MaxEvent: 7}
	c := Client{}.For(vendor)
	if c.BaseURL != vendor.BaseURL || c.Version != "v1" || c.Refuse == nil || c.MaxEvent != 0 || fmt.Sprint(c.Header) != "map[X-Version:[1]]" {
		t.Errorf("%+v", c)
	}
	own := Client{BaseURL: "http://127.0.0.1", Version: "v2", Header: http.Header{"X-Version": {"2"}}, MaxEvent: 8}
	c = own.For(vendor)
	if c.BaseURL != own.BaseURL || c.Version != "v2" || c.MaxEvent != 8 || c.Header.Get("X-Version") != "2" {
		t.Errorf("%+v", c)
	}
	if c.Header.Set("X-Version", "3"); own.Header.Get("X-Version") != "2" || len(vendor.Header) != 2 {
		t.Error("a header of another client was changed")
	}
	for value, want := range map[string]string{"Bearer ": "", "Bearer k": "Bearer k"} {
		if got := (Client{}).For(Client{Header: http.Header{"Authorization": {value}}}).Header.Get("Authorization"); got != want {
			t.Errorf("%q: got %q", value, got)
		}
	}
}
