package acorn_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/acorn"
	"github.com/mcpbridge/mcpbridge/bridge/graphql"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// contextOf is a caller's context.
func contextOf(pairs ...string) func(string) ([]byte, bool) {
	return func(name string) ([]byte, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if strings.EqualFold(pairs[i], name) {
				return []byte(pairs[i+1]), true
			}
		}
		return nil, false
	}
}

// internal is one of the two functions, as Acorn's tools files define them.
func internal(name string, context []string, call func(context.Context, json.RawMessage) (*toolformat.Result, error)) *bridge.Tool {
	return &bridge.Tool{Tool: toolformat.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{},"required":[]}`)}, Hidden: context, Call: call}
}

// What is saved are Acorn's variables: first its own test's, ToolsBackendTest.
func TestChatStoreVariables(t *testing.T) {
	when := time.Date(2024, 6, 5, 12, 34, 56, 789_000_000, time.FixedZone("", 7200))
	caller := &bridge.Caller{ID: "a", HiddenValue: contextOf("customerid", "23", "session", `"xyz"`)}
	names := []string{"customerid", "session", "absent"}
	for _, c := range []struct {
		name    string
		message acorn.Message
		caller  *bridge.Caller
		all     []string // of the options
		own     []string // of the function
		want    string
	}{
		{"the original's", acorn.Message{Role: "user", Content: "hello", Name: "name"}, caller, names, nil,
			`{"role":"user","content":"hello","name":"name","functionCall":null,"uuid":null,"timestamp":null,"numTokens":null,"customerid":23,"session":"xyz","requestid":"r","invocationid":3}`},
		{"all there is", acorn.Message{Role: "assistant", Content: "I ask.", UUID: "u", Timestamp: when, Tokens: 7, Call: &toolformat.Call{Name: "orders", Arguments: json.RawMessage(`{"limit":1}`)}}, caller, nil, []string{"CustomerID"},
			`{"role":"assistant","content":"I ask.","name":null,"functionCall":"{\"name\":\"orders\",\"arguments\":{\"limit\":1}}","uuid":"u","timestamp":"2024-06-05T10:34:56.789Z","numTokens":7,"requestid":"r","invocationid":3,"CustomerID":23}`},
		{"a call without text", acorn.Message{Role: "assistant", Call: &toolformat.Call{Name: "orders"}}, caller, names, []string{"session"},
			`{"role":"assistant","content":"{\"function\": \"orders\", \"parameters\": {}}","name":null,"functionCall":"{\"name\":\"orders\",\"arguments\":{}}","uuid":null,"timestamp":null,"numTokens":null,"customerid":23,"requestid":"r","invocationid":3,"session":"xyz"}`},
		{"a request of the caller's own", acorn.Message{Role: "user"}, &bridge.Caller{HiddenValue: contextOf("requestid", `"own"`)}, []string{"requestid"}, nil,
			`{"role":"user","content":"","name":null,"functionCall":null,"uuid":null,"timestamp":null,"numTokens":null,"requestid":"own","invocationid":3}`},
		{"a missing value", acorn.Message{Role: "user"}, caller, nil, []string{"who"}, `InternalSaveChatMessage: Missing context field: who`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got string
			store, err := acorn.NewStore(acorn.Options{Values: c.all}, internal("InternalSaveChatMessage", c.own, func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
				got = string(arguments)
				return nil, nil
			}), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if err := store.Save(bridge.InTurn(t.Context(), "r", 3), c.caller, c.message); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	_, err := acorn.NewStore(acorn.Options{Values: []string{"ROLE"}}, internal("InternalSaveChatMessage", nil, nil), nil)
	if want := "bridge: tool InternalSaveChatMessage: context variable overlaps with message: ROLE (call it something else)"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// What APIs answer with is read, whatever they wrap it in; the order is turned round.
func TestChatStoreAnswers(t *testing.T) {
	const two = `[{"role":"user","content":"2"},{"role":"user","content":"1"}]`
	both := []acorn.Message{{Role: "user", Content: "1"}, {Role: "user", Content: "2"}}
	structured := func(s string) *toolformat.Result {
		return &toolformat.Result{JSON: json.RawMessage(`{"content":[],"structuredContent":` + s + `}`)}
	}
	for _, c := range []struct {
		name   string
		result *toolformat.Result
		want   []acorn.Message
		fails  string
	}{
		{"GraphQL", structured(`{"messages":` + two + `}`), both, ""},
		{"GraphQL without an alias", structured(`{"CustomerChatMessage":` + two + `}`), both, ""},
		{"the whole answer", structured(`{"data":{"messages":` + two + `}}`), both, ""},
		{"REST", toolformat.TextResult(" "+two, false), both, ""},
		{"SQL", structured(`{"rows":` + two + `,"truncated":false}`), both, ""},
		{"none", structured(`{"messages":[]}`), nil, ""},
		{"null", structured(`{"messages":null}`), nil, ""},
		{"columns", structured(`[{"ROLE":"assistant","CONTENT":"{\"function\": \"f\", \"parameters\": {\"a\":1}}","FUNCTION_CALL":"{\"name\":\"f\",\"arguments\":{\"a\":1}}","num_tokens":7,"Timestamp":"2024-06-05T10:34:56.789Z","uuid":"u","other":1,"name":null}]`),
			[]acorn.Message{{Role: "assistant", Call: &toolformat.Call{Name: "f", Arguments: json.RawMessage(`{"a":1}`)}, Tokens: 7, UUID: "u", Timestamp: time.Date(2024, 6, 5, 10, 34, 56, 789_000_000, time.UTC)}}, ""},
		{"calls in other forms", structured(`[{"functionCall":{"name":"f","arguments":"{\"a\":1}"},"content":"so"},{"functionCall":""}]`),
			[]acorn.Message{{}, {Content: "so", Call: &toolformat.Call{Name: "f", Arguments: json.RawMessage(`{"a":1}`)}}}, ""},
		{"no list", structured(`{"a":[],"b":[]}`), nil, "InternalGetChatMessages: the answer has no list of messages: expected"},
		{"text", toolformat.TextResult("saved", false), nil, "InternalGetChatMessages: the answer has no list of messages: expected"},
		{"nothing", nil, nil, "InternalGetChatMessages: the answer has no list of messages: expected"},
		{"no message", structured(`[{},7]`), nil, "InternalGetChatMessages: message 2: expected an object, got 7"},
		{"no call", structured(`[{"functionCall":"orders"}]`), nil, `InternalGetChatMessages: message 1: functionCall: expected {"name": …, "arguments": {…}}, got orders`},
		{"a failure", toolformat.TextResult("HTTP 500", true), nil, "InternalGetChatMessages: HTTP 500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, err := acorn.NewStore(acorn.Options{}, nil, internal("InternalGetChatMessages", []string{"customerid"}, func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
				if want := `{"limit":100,"customerid":23}`; string(arguments) != want {
					t.Errorf("the variables are %s, want %s", arguments, want)
				}
				return c.result, nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			caller := &bridge.Caller{HiddenValue: contextOf("customerid", "23")}
			if err := store.Save(t.Context(), caller, acorn.Message{}); err != nil {
				t.Errorf("without a function to save with: %v", err)
			}
			got, err := store.Load(t.Context(), caller, 0)
			if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.fails == "") || err != nil && !strings.HasPrefix(err.Error(), c.fails) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// chatAPI is a GraphQL API that keeps the messages of customers.
type chatAPI struct {
	*testing.T
	mu    sync.Mutex // guards what follows
	saved []map[string]json.RawMessage
}

func (a *chatAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in struct {
		Query     string
		Variables map[string]json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil {
		a.Error(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if strings.HasPrefix(in.Query, "mutation") {
		a.saved = append(a.saved, in.Variables)
		io.WriteString(w, `{"data":{"AddChatMessage":{"_source_time":"now"}}}`)
		return
	}
	limit := 0
	json.Unmarshal(in.Variables["limit"], &limit)
	messages := []map[string]json.RawMessage{}
	for _, m := range slices.Backward(a.saved) {
		if string(m["customerid"]) == string(in.Variables["customerid"]) && len(messages) < limit {
			messages = append(messages, map[string]json.RawMessage{"role": m["role"], "content": m["content"], "functionCall": m["functionCall"], "name": m["name"]})
		}
	}
	json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"messages": messages}})
}

// The functions of Acorn's nutshop, as they stand in its file, keep a conversation.
func TestChatStoreOfNutshop(t *testing.T) {
	api := &chatAPI{T: t}
	server := httptest.NewServer(api)
	defer server.Close()
	backend, err := graphql.Kind.Open(bridge.BackendConfig{Name: "default", Config: json.RawMessage(`{"type":"graphql","url":"` + server.URL + `"}`), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	function := func(name, spec string) *bridge.Tool {
		tool, _, err := backend.Tool(internal(name, nil, nil).Tool, json.RawMessage(spec))
		if err != nil {
			t.Fatal(err)
		}
		tool.Hidden = []string{"customerid"}
		return &tool
	}
	store, err := acorn.NewStore(acorn.Options{Values: []string{"customerid", "session"}},
		function(acorn.SaveFunction, `{"query":"mutation AddChatMsg($role: String!, $content: String!, $name: String, $functionCall: String, $customerid: Int!) {\n  AddChatMessage(message: {role: $role, content:$content, name: $name, functionCall: $functionCall, customerid: $customerid}) {\n    _source_time\n  }\n}"}`),
		function(acorn.LoadFunction, `{"query":"query GetChatMessages($customerid: Int!, $limit: Int = 10) {\nmessages: CustomerChatMessage(customerid: $customerid, limit:$limit) {\n  role\n  content\n  functionCall\n  name\n}\n}"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	one := &bridge.Caller{ID: "1", HiddenValue: contextOf("customerid", `"1"`, "session", `"s"`)}
	two := &bridge.Caller{ID: "2", HiddenValue: contextOf("customerid", "2")}
	conversation := []acorn.Message{
		{Role: "user", Content: `What did I "order"?`},
		{Role: "assistant", Call: &toolformat.Call{Name: "orders", Arguments: json.RawMessage(`{"limit":1}`)}},
		{Role: "function", Name: "orders", Content: `{"Orders":[]}`},
		{Role: "assistant", Content: "Nothing — yet."},
	}
	for _, m := range conversation {
		if err := store.Save(t.Context(), one, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Save(t.Context(), two, acorn.Message{Role: "user", Content: "Hi"}); err != nil {
		t.Fatal(err)
	}
	if got := string(api.saved[1]["functionCall"]); got != `"{\"name\":\"orders\",\"arguments\":{\"limit\":1}}"` || string(api.saved[0]["name"]) != "null" || string(api.saved[0]["customerid"]) != "1" || api.saved[0]["session"] != nil {
		t.Errorf("saved are %s", api.saved)
	}
	for _, c := range []struct {
		caller *bridge.Caller
		limit  int
		want   []acorn.Message
	}{
		{one, 0, conversation},
		{one, 2, conversation[2:]},
		{two, 100, []acorn.Message{{Role: "user", Content: "Hi"}}},
	} {
		if got, err := store.Load(t.Context(), c.caller, c.limit); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %+v, %v; want %+v", got, err, c.want)
		}
	}
	if _, err := store.Load(t.Context(), &bridge.Caller{}, 1); err == nil || err.Error() != "InternalGetChatMessages: Missing context field: customerid" {
		t.Errorf("without a customer: %v", err)
	}
	server.Close()
	if err := store.Save(t.Context(), one, conversation[0]); toolformat.AsError(err).Code != toolformat.Unavailable {
		t.Errorf("without the API: %v", err)
	}
}

// FuzzChatStore: whatever an API answers, and whatever a message holds, ends in a history
// or an error.
func FuzzChatStore(f *testing.F) {
	for _, s := range []string{`{"messages":[{"role":"user","functionCall":"{}"}]}`, `[{"a":[]}]`, `{"data":{"data":{"rows":[{}]}}}`, ` `, `7`, `[[]]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var saved json.RawMessage
		store, err := acorn.NewStore(acorn.Options{}, internal("s", nil, func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			saved = slices.Clone(arguments)
			return nil, nil
		}), internal("l", nil, func(context.Context, json.RawMessage) (*toolformat.Result, error) {
			if saved != nil {
				return toolformat.TextResult("["+string(saved)+"]", false), nil
			}
			return toolformat.TextResult(string(raw), false), nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		messages, err := store.Load(t.Context(), &bridge.Caller{}, 1)
		if err != nil || len(messages) == 0 {
			return
		}
		if wire.Valid(slices.Clone(raw)) != nil && !json.Valid(raw) {
			t.Fatalf("%q was read", raw)
		}
		if err := store.Save(t.Context(), &bridge.Caller{}, messages[0]); err != nil {
			t.Fatalf("%+v: %v", messages[0], err)
		}
		again, err := store.Load(t.Context(), &bridge.Caller{}, 1)
		if err != nil || len(again) != 1 || again[0].Content != messages[0].Content || again[0].Role != messages[0].Role {
			t.Fatalf("%+v was saved, and loaded was %+v, %v", messages[0], again, err)
		}
	})
}
