package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// counted is a source that counts the sessions of it.
type counted struct {
	bridge.Source
	opened, open atomic.Int64
}

type countedSession struct {
	bridge.Session
	of *counted
}

func (c *counted) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s, err := c.Source.Open(ctx, caller)
	if err != nil {
		return nil, err
	}
	c.opened.Add(1)
	c.open.Add(1)
	return &countedSession{s, c}, nil
}

func (s *countedSession) Close() error {
	s.of.open.Add(-1)
	return s.Session.Close()
}

// A prompt runs with the hidden values of the page that sends it. The tools are opened anew only if these have changed.
func TestChatHiddenValues(t *testing.T) {
	tool, err := bridge.Func("orders", "Lists orders.", func(_ context.Context, in struct {
		Customer string `json:"customerid"`
	}) (string, error) {
		return "orders of " + in.Customer, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tool.Hidden = []string{"customerid"}
	native, err := bridge.NewNative(bridge.NativeOptions{}, tool)
	if err != nil {
		t.Fatal(err)
	}
	tools := &counted{Source: native}
	f := &chatFront{T: t, schema: chatSchema(t), scripted: &scripted{}}
	for range 5 {
		f.turns = append(f.turns, says("", call("c", "orders", "{}")), says("Done."))
	}
	f.chat = serve.NewChat(serve.ChatOptions{
		Source: tools,
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Name: "here", Provider: f.scripted, Model: "m"}, providers.Settings{}, nil
		},
		Caller: func(r *http.Request) bridge.Caller {
			value, _ := json.Marshal(r.Header.Get("Who"))
			return bridge.Caller{HiddenValue: func(name string) ([]byte, bool) { return value, strings.EqualFold(name, "customerid") }}
		},
	})
	server := httptest.NewServer(f.chat)
	defer func() { f.chat.Close(); server.Close(); native.Close() }()
	f.url = "ws" + strings.TrimPrefix(server.URL, "http")
	one, other := f.connect("1"), f.connect("2")
	id := one.open(object{})["conversation"]
	other.open(object{"conversation": id})
	for i, sent := range []struct {
		by   *chatPage
		want string
	}{{other, "orders of 2"}, {other, "orders of 2"}, {one, "orders of 1"}, {one, "orders of 1"}, {other, "orders of 2"}} {
		sent.by.send(object{"type": "prompt", "id": string(rune('a' + i)), "text": "My orders?"})
		result, _ := sent.by.until("tool_result")
		if result["text"] != sent.want {
			t.Errorf("prompt %d: %v, want %s", i, result["text"], sent.want)
		}
		one.until("done")
		other.until("done")
	}
	if tools.opened.Load() != 3 || tools.open.Load() != 1 {
		t.Errorf("%d sessions, of which %d are open", tools.opened.Load(), tools.open.Load())
	}
}
