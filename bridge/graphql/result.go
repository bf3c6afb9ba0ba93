package graphql

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The bounds of a failed result.
const (
	maxErrors  = 10  // errors shown; further ones are counted
	maxMessage = 500 // bytes of an error's message, and of its path
	maxCode    = 100 // bytes of its code
)

// convert implements httpapi.Call.Convert (GraphQL, September 2025, section 7.1).
func (t *tool) convert(res *http.Response, body []byte, cut bool) *toolformat.Result {
	if cut {
		return toolformat.TextResult(fmt.Sprintf("the answer is longer than the limit of %d bytes: ask for less", t.MaxBytes), true)
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if r := t.plain(body); r != nil {
		return r
	}
	data, faults, ok := read(body)
	switch {
	case !ok:
		return t.Unusable(res, "the answer is not JSON", body)
	case faults != nil:
		return t.failed(res, data, faults)
	case data == nil:
		return t.Unusable(res, "the answer has neither data nor errors: it is not GraphQL", body)
	}
	data, err := t.pick(data)
	if err != nil {
		return toolformat.TextResult(err.Error(), true)
	}
	return native.Result(data, t.definition.OutputSchema != nil, !hasBreak(data))
}

// explain implements httpapi.Call.Explain (GraphQL over HTTP, draft of 2025, section 6.4).
func (t *tool) explain(res *http.Response, body []byte) *toolformat.Result {
	data, faults, _ := read(bytes.TrimPrefix(body, []byte("\ufeff")))
	if faults == nil {
		return nil
	}
	return t.failed(res, data, faults)
}

// read returns the data and the errors of an answer, each nil without any. ok is false if it is not
// JSON.
func read(body []byte) (data, faults []byte, ok bool) {
	checked := body
	if hasBreak(body) {
		checked = bytes.Clone(body) // Valid overwrites line breaks, and data must stay as it is
	}
	if wire.Valid(checked) != nil {
		return nil, nil, false
	}
	for key, value := range wire.Members(body) {
		switch key {
		case "data":
			data = value
		case "errors":
			faults = value
		}
	}
	if faults != nil && (isNull(faults) || isEmpty(faults)) {
		faults = nil
	}
	return data, faults, true
}

// plain returns the result of an answer that has data and surely no errors, as most answers do, in one
// reading; nil for others.
func (t *tool) plain(body []byte) *toolformat.Result {
	r, begin, end, ok := native.PartResult(body, append([]string{"data"}, t.sel...), t.definition.OutputSchema != nil)
	if !ok || mayFail(body[:begin]) || mayFail(body[end:]) {
		return nil
	}
	return r
}

// mayFail reports whether a piece of an answer may have the key errors in it.
func mayFail(piece []byte) bool {
	return bytes.IndexByte(piece, '\\') >= 0 || bytes.Contains(piece, []byte(`"errors"`))
}

// pick returns the part of data that the tool selects. Anything below a null is null, as is a field
// that failed (GraphQL, September 2025, section 6.4.4).
func (t *tool) pick(data []byte) ([]byte, error) {
	part, err := t.sel.Select("the data", data)
	if isNull(part) {
		err = nil
	}
	return part, err
}

// failed returns the result of an answer with errors, and with the data that came beside them.
func (t *tool) failed(res *http.Response, data, faults []byte) *toolformat.Result {
	text := messages(faults)
	if res.StatusCode >= 400 {
		text = httpapi.Status(res) + "\n" + text
	}
	b := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), t.Hide(res, text))
	if data != nil && !isNull(data) {
		if part, err := t.pick(data); err == nil {
			data = part
		}
		b = wire.AppendString(append(b, `},{"type":"text","text":`...), data)
	}
	return &toolformat.Result{JSON: append(b, `}],"isError":true}`...)}
}

// messages returns the messages of the errors, one per line.
func messages(faults []byte) string {
	if faults[0] != '[' {
		return "GraphQL error: " + native.Cut(string(faults), maxMessage)
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

// message returns the message of an error, its code, and the path of the field that it is about.
// Nothing else of its extensions is for the caller: some servers send stack traces.
func message(fault []byte) string {
	text, ok := wire.Text(wire.Lookup(fault, "message"))
	if !ok {
		return native.Cut(string(fault), maxMessage)
	}
	text = native.Cut(text, maxMessage)
	if code := wire.Lookup(fault, "extensions", "code"); len(code) > 0 && code[0] != '{' && code[0] != '[' && !isNull(code) {
		text += " [" + native.Cut(native.Text(code), maxCode) + "]"
	}
	var path strings.Builder
	for step := range wire.Elements(wire.Lookup(fault, "path")) {
		path.WriteString("/" + native.Text(step))
	}
	if path.Len() > 0 {
		text += " (at " + native.Cut(path.String(), maxMessage) + ")"
	}
	return text
}

func isEmpty(array []byte) bool {
	for range wire.Elements(array) {
		return false
	}
	return array[0] == '['
}

func hasBreak(b []byte) bool { return bytes.IndexByte(b, '\n') >= 0 || bytes.IndexByte(b, '\r') >= 0 }
