package acorn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// messageFields are the variables of a message.
var messageFields = []string{"role", "content", "name", "functionCall", "uuid", "timestamp", "numTokens"}

// appendVariables appends the members of a message.
func (m *Message) appendVariables(b []byte) []byte {
	content, call := m.Content, ""
	if m.Call != nil {
		name, arguments := wire.AppendString(nil, m.Call.Name), cmp.Or(string(m.Call.Arguments), "{}")
		call = fmt.Sprintf(`{"name":%s,"arguments":%s}`, name, arguments)
		if content == "" {
			content = fmt.Sprintf(`{"function": %s, "parameters": %s}`, name, arguments)
		}
	}
	b = wire.AppendString(append(b, `"role":`...), m.Role)
	b = wire.AppendString(append(b, `,"content":`...), content)
	b = appendText(append(b, `,"name":`...), m.Name)
	b = appendText(append(b, `,"functionCall":`...), call)
	b = appendText(append(b, `,"uuid":`...), m.UUID)
	when := ""
	if !m.Timestamp.IsZero() {
		when = m.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	b = appendText(append(b, `,"timestamp":`...), when)
	b = append(b, `,"numTokens":`...)
	if m.Tokens == 0 {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(m.Tokens), 10)
}

// appendText appends a string, or null for an empty one.
func appendText(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return wire.AppendString(b, s)
}

// messageList finds the array of messages in an answer, where null is an empty one; ok is false
// when the answer has no array.
func messageList(answer []byte) (list []byte, ok bool) {
	switch {
	case len(answer) == 0:
		return nil, false
	case answer[0] == '[' || string(answer) == "null":
		return answer, true
	}
	for _, key := range []string{"data", "messages"} {
		if inner := wire.Lookup(answer, key); inner != nil {
			return messageList(inner)
		}
	}
	found := 0
	for _, value := range wire.Members(answer) {
		if value[0] == '[' {
			list = value
			found++
		}
	}
	return list, found == 1
}

// readMessage decodes a message. Its keys may have any letter case and underscores, like columns of
// a database.
func readMessage(raw []byte) (m Message, err error) {
	if raw[0] != '{' {
		return m, fmt.Errorf("expected an object, got %.40s", raw)
	}
	for key, value := range wire.Members(raw) {
		if string(value) == "null" {
			continue
		}
		s, isText := wire.Text(value)
		if !isText {
			s = string(value)
		}
		switch strings.ToLower(strings.ReplaceAll(key, "_", "")) {
		case "role":
			m.Role = s
		case "content":
			m.Content = s
		case "name":
			m.Name = s
		case "functioncall":
			if m.Call, err = readCall([]byte(s)); err != nil {
				return m, err
			}
		case "uuid":
			m.UUID = s
		case "timestamp":
			m.Timestamp, _ = time.Parse(time.RFC3339Nano, s) // APIs have formats of their own
		case "numtokens":
			m.Tokens, _ = strconv.Atoi(s)
		}
	}
	if m.Call != nil && isCall(m.Content, m.Call.Name) {
		m.Content = ""
	}
	return m, nil
}

// readCall decodes functionCall; nil for an empty one.
func readCall(raw []byte) (*toolformat.Call, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return nil, nil
	}
	err := wire.Valid(raw)
	name, ok := wire.Text(wire.Lookup(raw, "name"))
	if err != nil || !ok {
		return nil, fmt.Errorf(`functionCall: expected {"name": …, "arguments": {…}}, got %.60s`, raw)
	}
	call := &toolformat.Call{Name: name, Arguments: bytes.Clone(wire.Lookup(raw, "arguments"))}
	if s, isText := wire.Text(call.Arguments); isText && wire.Valid([]byte(s)) == nil {
		call.Arguments = json.RawMessage(s)
	}
	return call, nil
}

// isCall reports whether a content is only the call of a function.
func isCall(content, name string) bool {
	raw := []byte(content)
	if wire.Valid(raw) != nil {
		return false
	}
	said, ok := wire.Text(wire.Lookup(raw, "function"))
	return ok && said == name && wire.Lookup(raw, "parameters") != nil
}
