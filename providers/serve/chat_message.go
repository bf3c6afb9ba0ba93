package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// ChatProtocol is the WebSocket subprotocol of a Chat.
const ChatProtocol = "mcpbridge.chat"

// Types of the messages of a page.
const (
	chatOpen   = "open"   // Conversation, After, Model
	chatPrompt = "prompt" // ID, Text
	chatDecide = "decide" // Call, Verdict, Reason, Arguments
	chatCancel = "cancel"
	chatList   = "list"
)

// chatMessage is a message of a page. Which members it has depends on its type.
type chatMessage struct {
	Type         string            `json:"type"`
	Conversation string            `json:"conversation"`
	After        int64             `json:"after"`
	Model        string            `json:"model"`
	ID           string            `json:"id"`
	Text         string            `json:"text"`
	Call         string            `json:"call"`
	Verdict      providers.Verdict `json:"verdict"`
	Reason       string            `json:"reason"`
	Arguments    json.RawMessage   `json:"arguments"`
}

// readChatMessage reads a message of a page.
func readChatMessage(text []byte) (*chatMessage, error) {
	m := new(chatMessage)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return m, fmt.Errorf("not a message: %w", err)
	}
	if d.More() {
		return m, fmt.Errorf("expected one JSON object a message")
	}
	switch m.Type {
	case chatOpen, chatCancel, chatList:
	case chatPrompt:
		if m.ID == "" || len(m.ID) > 200 || m.Text == "" {
			return m, fmt.Errorf(`"prompt" needs "text", and an "id" of at most 200 bytes that no other prompt of the conversation has`)
		}
	case chatDecide:
		if m.Call == "" {
			return m, fmt.Errorf(`"decide" needs "call", the id of the call`)
		}
		_, err := m.decision()
		return m, err
	default:
		return m, fmt.Errorf(`unknown type %.40q: expected open, prompt, decide, cancel or list`, m.Type)
	}
	return m, nil
}

// decision returns the decision about a call.
func (m *chatMessage) decision() (providers.Decision, error) {
	d := providers.Decision{Verdict: m.Verdict, Reason: m.Reason}
	switch {
	case m.Verdict == providers.VerdictEdit && len(bytes.TrimSpace(m.Arguments)) > 0 && bytes.TrimSpace(m.Arguments)[0] == '{':
		d.Arguments = m.Arguments
	case m.Verdict == providers.VerdictEdit:
		return d, fmt.Errorf(`"edit" needs "arguments", an object`)
	case m.Verdict != providers.VerdictAllow && m.Verdict != providers.VerdictDeny:
		return d, fmt.Errorf(`unknown verdict %.40q: expected allow, deny or edit`, m.Verdict)
	}
	return d, nil
}

// opened answers chatOpen.
type opened struct {
	Type         string         `json:"type"` // "opened"
	Conversation string         `json:"conversation"`
	Model        string         `json:"model"`
	Messages     []shownMessage `json:"messages"` // what precedes the events that follow; null if the page has them
	After        int64          `json:"after"`    // the events that follow come after this one
	Busy         bool           `json:"busy"`     // a prompt is in progress
	Missing      bool           `json:"missing"`  // its first events are no longer kept
	Waiting      []askEvent     `json:"waiting"`  // the calls that wait for a decision although no prompt is in progress
}

// shownMessage is a message of a conversation as a page shows it.
type shownMessage struct {
	Role    providers.Role `json:"role"`
	Text    string         `json:"text,omitempty"`
	Calls   []shownCall    `json:"calls,omitempty"`
	Results []shownResult  `json:"results,omitempty"`
}

type shownCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type shownResult struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

func shown(messages []providers.Message) []shownMessage {
	all := make([]shownMessage, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		own := shownMessage{Role: m.Role, Text: m.Text()}
		for _, c := range m.Calls() {
			own.Calls = append(own.Calls, shownCall(*c))
		}
		for j := range m.Parts {
			if r := m.Parts[j].Result; r != nil {
				own.Results = append(own.Results, shownResult{r.ID, r.Name, r.Text(false), r.Content != nil && r.Content.IsError()})
			}
		}
		all = append(all, own)
	}
	return all
}

// promptEvent precedes the events of a prompt.
type promptEvent struct {
	Type string `json:"type"` // "prompt"
	ID   string `json:"id"`
	Text string `json:"text"`
}

// askEvent asks for a decision about a call.
type askEvent struct {
	Type string `json:"type"` // "ask"
	shownCall
	Description string          `json:"description,omitempty"` // of the tool
	Annotations json.RawMessage `json:"annotations,omitempty"` // of the tool: claims of its server
	Reason      string          `json:"reason,omitempty"`      // of the policy
	Fixed       bool            `json:"fixed,omitempty"`       // the policy lets nobody change the arguments
}

// conversations answers chatList.
type conversations struct {
	Type          string              `json:"type"` // "conversations"
	Conversations []providers.Heading `json:"conversations"`
}

// refused answers a message that cannot be carried out.
type refused struct {
	Type    string `json:"type"`              // "refused"
	Request string `json:"request,omitempty"` // the type of the message
	ID      string `json:"id,omitempty"`      // of the prompt, or the call
	Code    string `json:"code"`
	Message string `json:"message"`
}

func newRefused(m *chatMessage, err error) *refused {
	r := &refused{Type: "refused", Code: toolformat.Invalid.String(), Message: err.Error()}
	if m != nil {
		r.Request, r.ID = m.Type, m.ID+m.Call
	}
	if own, ok := err.(*toolformat.Error); ok {
		r.Code = own.Code.String()
	}
	return r
}

// encodeChat encodes a message for a page, on one line.
func encodeChat(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // of types that can be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// events are the latest events of a conversation, numbered.
type events struct {
	last  int64    // the number of the last one
	kept  [][]byte // the last ones
	bytes int
}

// newEvents returns none. Their numbers do not repeat those of a program that ran before.
func newEvents() events { return events{last: time.Now().UnixMicro()} }

// maxEventBytes bounds the events that are kept for pages that connect again, or read slowly.
const maxEventBytes = 8 << 20

// add numbers an event, and forgets the oldest ones that are too much.
func (e *events) add(v any) {
	text := encodeChat(v)
	e.last++
	own := strconv.AppendInt([]byte(`{"seq":`), e.last, 10)
	own = append(append(own, ','), text[1:]...)
	e.kept = append(e.kept, own)
	for e.bytes += len(own); e.bytes > maxEventBytes && len(e.kept) > 1; e.kept = e.kept[1:] {
		e.bytes -= len(e.kept[0])
	}
}

// forget forgets all events so far.
func (e *events) forget() { e.kept, e.bytes = nil, 0 }

// first returns the number before that of the oldest event that is kept.
func (e *events) first() int64 { return e.last - int64(len(e.kept)) }

// has reports whether all events after a number are kept.
func (e *events) has(after int64) bool { return after >= e.first() && after <= e.last }

// since returns the events after a number, which are kept.
func (e *events) since(after int64) [][]byte { return e.kept[after-e.first():] }
