package acorn

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The names of the functions that keep a conversation, in any letter case. They are for a Store:
// they are not listed, and cannot be called by name.
const (
	SaveFunction = "InternalSaveChatMessage"
	LoadFunction = "InternalGetChatMessages"
)

// A Message is one message of a conversation as an API keeps it.
type Message struct {
	Role      string // in the words of the provider: user, assistant, function
	Content   string
	Name      string           // of the function of a result; "" for other messages
	Call      *toolformat.Call // nil unless the message is a call
	UUID      string           // may be ""
	Timestamp time.Time        // may be zero
	Tokens    int              // 0 when not counted
}

// Options are the settings of a Store. The zero value works.
type Options struct {
	Native bridge.NativeOptions // for the calls of both functions

	// Values names hidden values that go with each message where they are known, beside those that
	// the function hides, requestid and invocationid.
	Values []string
}

// A Store keeps conversations with two functions of a definition file, in Acorn's format
// (ToolsBackend.saveChatMessage and getChatMessages). It may be used from many goroutines; only
// calls one after the other keep messages in order.
type Store struct {
	native     *bridge.Native
	save, load *bridge.Tool // may be nil
	names      []string     // of values that the native does not set by itself
}

// NewStore makes a store of the tools of the two definitions. With a nil save it saves nothing,
// with a nil load it loads nothing.
func NewStore(opts Options, save, load *bridge.Tool) (*Store, error) {
	s := &Store{save: save, load: load}
	var tools []bridge.Tool
	if save != nil {
		tools = append(tools, variables(*save))
		for _, name := range slices.Concat(save.Hidden, opts.Values, []string{"requestid", "invocationid"}) {
			is := func(other string) bool { return strings.EqualFold(other, name) }
			if slices.ContainsFunc(messageFields, is) {
				return nil, fmt.Errorf("bridge: tool %s: context variable overlaps with message: %s (call it something else)", save.Name, name)
			}
			if !slices.ContainsFunc(save.Hidden, is) && !slices.ContainsFunc(s.names, is) {
				s.names = append(s.names, name)
			}
		}
	}
	if load != nil {
		tools = append(tools, variables(*load))
	}
	var err error
	if s.native, err = bridge.NewNative(opts.Native, tools...); err != nil {
		return nil, err
	}
	return s, nil
}

// variables returns a function that gets all its hidden values, though no schema has them.
func variables(t bridge.Tool) bridge.Tool {
	t.Placeholders = slices.Concat(t.Placeholders, t.Hidden)
	return t
}

// Save saves a message of the caller's conversation. The arguments of the call are role, content,
// name, functionCall, uuid, timestamp and numTokens, null where the message lacks one, and the
// hidden values. functionCall is a string with {"name": …, "arguments": {…}}. The content of a
// call, unless it has one, is {"function": …, "parameters": {…}}.
func (s *Store) Save(ctx context.Context, caller *bridge.Caller, m Message) error {
	if s.save == nil {
		return nil
	}
	b := m.appendVariables([]byte{'{'})
	for _, name := range s.names {
		if value, ok := s.native.HiddenValue(ctx, caller, name); ok {
			b = append(append(wire.AppendString(append(b, ','), name), ':'), value...)
		}
	}
	_, err := s.call(ctx, caller, s.save, append(b, '}'))
	return err
}

// Load returns the last messages of the caller's conversation, oldest first, at most limit, where 0
// means 100. The function gets limit as a variable and answers with the newest message first, in an
// array or an object with one, which is called messages or the only one.
func (s *Store) Load(ctx context.Context, caller *bridge.Caller, limit int) ([]Message, error) {
	if s.load == nil {
		return nil, nil
	}
	if limit <= 0 {
		limit = 100
	}
	r, err := s.call(ctx, caller, s.load, append(strconv.AppendInt([]byte(`{"limit":`), int64(limit), 10), '}'))
	if err != nil {
		return nil, err
	}
	list, ok := messageList(jsonOf(r))
	if !ok {
		return nil, fmt.Errorf("%s: the answer has no list of messages: expected an object with messages, such as {messages: …} of a GraphQL query", s.load.Name)
	}
	var all []Message
	for raw := range wire.Elements(list) {
		if len(all) == limit {
			break
		}
		m, err := readMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: message %d: %w", s.load.Name, len(all)+1, err)
		}
		all = append(all, m)
	}
	slices.Reverse(all)
	return all, nil
}

// Close ends all calls.
func (s *Store) Close() error { return s.native.Close() }

// call calls one of the functions. A failed result is an error.
func (s *Store) call(ctx context.Context, caller *bridge.Caller, t *bridge.Tool, arguments []byte) (*toolformat.Result, error) {
	session, err := s.native.Open(ctx, caller)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	params, err := wire.SplitParams(append(append([]byte(`{"arguments":`), arguments...), '}'))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	reply := session.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: t.Name})
	if reply.Err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, reply.Err)
	}
	r := &toolformat.Result{JSON: reply.Result}
	if r.IsError() {
		return nil, fmt.Errorf("%s: %s", t.Name, firstText(r))
	}
	return r, nil
}

// firstText returns the first text of a result; "" when it has no text.
func firstText(r *toolformat.Result) string {
	blocks, _ := r.Content()
	for _, b := range blocks {
		if b.Type == toolformat.TextContent {
			return b.Text
		}
	}
	return ""
}

// jsonOf returns the JSON of a result; nil when it is not JSON.
func jsonOf(r *toolformat.Result) []byte {
	if structured := r.Structured(); structured != nil {
		return structured
	}
	raw := bytes.TrimSpace([]byte(firstText(r)))
	if wire.Valid(raw) != nil {
		return nil
	}
	return raw
}
