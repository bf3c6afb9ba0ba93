package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

func TestCallIDs(t *testing.T) {
	req := &Request{Messages: []Message{UserText("Hi"), {Parts: []Part{{Call: &Call{ID: "a"}}, {Call: &Call{ID: "call_2_2"}}}}}}
	ids := NewCallIDs(req)
	for i, c := range []struct{ own, want string }{
		{"b", "b"}, {"", "call_2_1"}, {"a", "call_2_3"}, {"b", "call_2_4"}, {"c", "c"},
	} {
		if got := ids.Next(c.own); got != c.want {
			t.Errorf("call %d, %q: %q, want %q", i, c.own, got, c.want)
		}
	}
}

func TestObject(t *testing.T) {
	for args, want := range map[string]string{
		"": "{}", "null": "{}", ` {"a": 1} `: `{"a": 1}`, `"{\"a"`: `{"INVALID_JSON":"{\"a"}`, "[1]": `{"INVALID_JSON":[1]}`,
	} {
		call := Call{Arguments: json.RawMessage(args)}
		if got := call.Object(); string(got) != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func TestBrokeOff(t *testing.T) {
	gone := errors.New("gone")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := BrokeOff(ended, io.ErrUnexpectedEOF); !errors.Is(err, gone) {
		t.Error(err)
	}
	refused := fmt.Errorf("x: %w", &APIError{Message: "no"})
	if err := BrokeOff(t.Context(), refused); !errors.Is(err, refused) {
		t.Error(err)
	}
	for _, c := range []struct {
		err   error
		again bool
	}{{io.ErrUnexpectedEOF, true}, {&wire.TooLongError{Limit: 1, Size: 2}, false}} {
		err := BrokeOff(t.Context(), c.err)
		var e *APIError
		if !errors.As(err, &e) || e.Status != 200 || e.Again != c.again || !errors.Is(err, c.err) {
			t.Errorf("%v: %+v", c.err, e)
		}
	}
}
