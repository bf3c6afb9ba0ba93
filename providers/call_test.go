package providers

import (
	"encoding/json"
	"testing"
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
		"": "{}", "null": "{}", ` {"a": 1} `: `{"a": 1}`, `"{\"a"`: `{"INVALID_JSON":"{\"a"}`, `" {\"a\": 1}"`: ` {"a": 1}`, "[1]": `{"INVALID_JSON":[1]}`,
	} {
		call := Call{Arguments: json.RawMessage(args)}
		if got := call.Object(); string(got) != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
