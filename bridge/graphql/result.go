package graphql

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What a result says of an answer that is a failure.
const (
	maxErrors  = 10  // of the errors, the others are counted
	maxMessage = 500 // bytes of an error's message, and of its path
)

// result is what an answer becomes (GraphQL, September 2025, 7.1). An error is one of
// the connection.
func (t *tool) result(res *http.Response) (*toolformat.Result, error) {
	if !httpapi.IsSuccess(res) {
		return t.backend.Failure(res), nil
	}
	b, cut, err := t.backend.Read(res)
	defer b.Free()
	if err != nil {
		return nil, err
	}
	if cut {
		return toolformat.TextResult(fmt.Sprintf("the answer is longer than %d bytes, which is the most that is read: ask for less", t.backend.MaxBytes), true), nil
	}
	body := bytes.TrimPrefix(b.B, []byte("\ufeff"))
	checked := body
	if hasBreak(body) {
		checked = bytes.Clone(body) // Valid takes the line breaks out, and data stays as it came
	}
	if wire.Valid(checked) != nil {
		return toolformat.TextResult(httpapi.Status(res)+": the answer is not JSON"+t.backend.Excerpt(res, body), true), nil
	}
	var data, faults []byte
	for key, value := range wire.Members(body) {
		switch key {
		case "data":
			data = value
		case "errors":
			faults = value
		}
	}
	switch {
	case faults != nil && !isNull(faults) && !isEmpty(faults):
		return t.failed(data, faults), nil
	case data == nil:
		return toolformat.TextResult(httpapi.Status(res)+": the answer has neither data nor errors: it is not GraphQL"+t.backend.Excerpt(res, body), true), nil
	}
	if data, err = t.pick(data); err != nil {
		return toolformat.TextResult(err.Error(), true), nil
	}
	return t.success(data), nil
}

// pick is the part of data that the tool selects. What lies behind a null is null, as a
// field is that could not be had (GraphQL, September 2025, 6.4.4).
func (t *tool) pick(data []byte) ([]byte, error) {
	part, err := t.sel.Select("the data", data)
	if isNull(part) {
		err = nil
	}
	return part, err
}

// success is the result of data: verbatim, and as structured content when it is an
// object, or anything where the tool has an output schema. A string that was selected is
// its text.
func (t *tool) success(data []byte) *toolformat.Result {
	if text, ok := wire.Text(data); ok && !t.hasOutput {
		return toolformat.TextResult(text, false)
	}
	return native.Result(data, data[0] == '{' || t.hasOutput, !hasBreak(data))
}

// failed is the result of an answer with errors, and of the data that came all the same.
func (t *tool) failed(data, faults []byte) *toolformat.Result {
	b := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), t.backend.Hide(messages(faults)))
	if data != nil && !isNull(data) {
		if part, err := t.pick(data); err == nil {
			data = part
		}
		b = wire.AppendString(append(b, `},{"type":"text","text":`...), data)
	}
	return &toolformat.Result{JSON: append(b, `}],"isError":true}`...)}
}

// messages are those of the errors, a line each.
func messages(faults []byte) string {
	if faults[0] != '[' {
		return "GraphQL error: " + native.Clip(string(faults), maxMessage)
	}
	var lines []string
	n := 0
	for fault := range wire.Elements(faults) {
		if n++; n <= maxErrors {
			lines = append(lines, "GraphQL error: "+message(fault))
		}
	}
	if n > maxErrors {
		lines = append(lines, fmt.Sprintf("… and %d more errors", n-maxErrors))
	}
	return strings.Join(lines, "\n")
}

// message is that of an error, with the place in the data that it is about.
func message(fault []byte) string {
	text, ok := wire.Text(wire.Lookup(fault, "message"))
	if !ok {
		return native.Clip(string(fault), maxMessage)
	}
	text = native.Clip(text, maxMessage)
	var path strings.Builder
	for step := range wire.Elements(wire.Lookup(fault, "path")) {
		name, isName := wire.Text(step)
		if !isName {
			name = string(step)
		}
		path.WriteString("/" + name)
	}
	if path.Len() > 0 {
		text += " (at " + native.Clip(path.String(), maxMessage) + ")"
	}
	return text
}

func isEmpty(array json.RawMessage) bool {
	for range wire.Elements(array) {
		return false
	}
	return array[0] == '['
}

func hasBreak(b []byte) bool { return bytes.IndexByte(b, '\n') >= 0 || bytes.IndexByte(b, '\r') >= 0 }
