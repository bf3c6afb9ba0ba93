package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/acorn"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What is kept is a conversation that can be gone on with.
func TestKeeperLoads(t *testing.T) {
	kept := `[{"role":"assistant","content":"200."},{"role":"function","name":"stock","content":"200"},{"role":"assistant","content":"I look.","functionCall":"{\"name\":\"stock\",\"arguments\":{\"of\":\"ink\"}}"},{"role":"user","content":"Ink?"}]`
	api := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", kept))
	cfg, err := config.Loader{}.Parse("", fmt.Appendf(nil, `{
		"tools": [{"name": "InternalGetChatMessages", "description": "Loads.", "context": ["customerid"], "kind": "rest",
			"input_schema": {"type": "object", "properties": {"limit": {"type": "integer"}}},
			"api": "shop", "rest": {"method": "GET", "path": "/messages?limit={limit}&customer={customerid}"}}],
		"apis": {"shop": {"type": "rest", "url": %q}}, "context": {"customerid": {"from": "config", "value": 7}}}`, api.URL))
	if err != nil {
		t.Fatal(err)
	}
	sys, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	got, err := sys.LoadChat(t.Context(), &bridge.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if uri := api.Last(t).URI; uri != "/messages?limit=100&customer=7" {
		t.Errorf("asked for %s", uri)
	}
	if want := "user: Ink? | assistant: I look. stock({\"of\":\"ink\"}) | tool: stock=200 | assistant: 200."; toldAs(got.Messages) != want {
		t.Errorf("got\n%s\nwant\n%s", toldAs(got.Messages), want)
	}
}

// toldAs is a conversation in one line.
func toldAs(messages []providers.Message) string {
	var all []string
	for _, m := range messages {
		s := string(m.Role) + ":"
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				s += fmt.Sprintf(" %s(%s)", p.Call.Name, p.Call.Arguments)
			case p.Result != nil:
				s += fmt.Sprintf(" %s=%s", p.Result.Name, p.Result.Text(false))
			default:
				s += " " + p.Text + p.MimeType
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, " | ")
}

// The messages of a run that was resumed belong to the turns of the whole run.
func TestKeepsResumed(t *testing.T) {
	result := &providers.Result{ID: "2", Name: "a", Content: toolformat.TextResult("of 2", false)}
	messages := []providers.Message{
		{Role: providers.RoleTool, Parts: []providers.Part{{Type: providers.PartResult, Result: result}}},
		{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartText, Text: "so"}}},
	}
	var got []string
	for _, k := range recordsOf(&bridge.Caller{}, messages, &providers.Run{Request: "r", Turns: 4}, time.Now()) {
		got = append(got, fmt.Sprint(k.request, k.turn, k.message.Content))
	}
	if want := []string{"r2of 2", "r3so"}; !reflect.DeepEqual(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
}

// Calls have no ids where they are kept: each result finds its call by its name, in order.
func TestKeptConversation(t *testing.T) {
	call := func(id, name string) providers.Part {
		return providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: id, Name: name, Arguments: json.RawMessage(`{"n":"` + id + `"}`)}}
	}
	result := func(id, name string) providers.Part {
		return providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: id, Name: name, Content: toolformat.TextResult("of "+id, false)}}
	}
	text := providers.Part{Type: providers.PartText, Text: "so"}
	messages := []providers.Message{
		{Role: providers.RoleUser, Parts: []providers.Part{text, {Type: providers.PartImage, MimeType: "image/png", Name: "a.png"}}},
		{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartThinking, Text: "hm"}, text, call("1", "a"), call("2", "b"), call("3", "a")}},
		{Role: providers.RoleTool, Parts: []providers.Part{result("1", "a"), result("2", "b"), result("3", "a")}},
		{Role: providers.RoleAssistant, Parts: []providers.Part{call("4", "b")}},
		{Role: providers.RoleTool, Parts: []providers.Part{{Type: providers.PartResult, Result: &providers.Result{ID: "4", Name: "b", Content: toolformat.TextResult("no", true)}}}},
		{Role: providers.RoleAssistant, Parts: []providers.Part{text}},
	}
	var kept []acorn.Message
	for _, k := range recordsOf(&bridge.Caller{}, messages, &providers.Run{Turns: 3}, time.Now()) {
		kept = append(kept, k.message)
	}
	got := conversationOf(kept)
	want := "user: so\n[image/png a.png] | assistant: so a({\"n\":\"1\"}) b({\"n\":\"2\"}) a({\"n\":\"3\"}) | tool: a=of 1 b=of 2 a=of 3 | assistant: b({\"n\":\"4\"}) | tool: b=Error: no | assistant: so"
	if toldAs(got) != want {
		t.Fatalf("got\n%s\nwant\n%s", toldAs(got), want)
	}
	for i, m := range got {
		for j, c := range m.Calls() {
			if c.ID != got[i+1].Parts[j].Result.ID {
				t.Errorf("message %d: the call %s has the result of %s", i, c.ID, got[i+1].Parts[j].Result.ID)
			}
		}
	}
	if cut := conversationOf(kept[3:]); strings.HasPrefix(toldAs(cut), "tool") {
		t.Errorf("a result without its call: %s", toldAs(cut))
	}
	if cut := conversationOf(append(kept[1:], kept...)); toldAs(cut) != want {
		t.Errorf("the rest of an answer is still there: %s", toldAs(cut))
	}
}

// A function that never ends holds up the end for a while, and no longer.
func TestKeeperEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := acorn.NewStore(acorn.Options{}, &bridge.Tool{
			Tool: toolformat.Tool{Name: acorn.SaveFunction}, Timeout: time.Hour,
			Call: func(ctx context.Context, _ json.RawMessage) (*toolformat.Result, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		k := newRecorder(store)
		k.save(&bridge.Caller{}, []providers.Message{providers.UserText("a"), providers.UserText("b")}, &providers.Run{})
		begun := time.Now()
		err = k.close()
		if took := time.Since(begun); took != closeTime || err == nil || !strings.Contains(err.Error(), "2 of the conversation's messages could not be saved: it took longer than 10s") {
			t.Errorf("after %s: %v", took, err)
		}
		k.save(&bridge.Caller{}, []providers.Message{providers.UserText("c")}, &providers.Run{})
	})
	var none *recorder
	none.save(nil, []providers.Message{providers.UserText("a")}, nil)
	if got, err := none.load(t.Context(), nil); got != nil || err != nil || none.close() != nil {
		t.Errorf("without a store: %v, %v", got, err)
	}
}
