package graphql

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What a result says of an answer that is a failure.
const (
	maxFailure = 2000 // bytes of a body
	maxErrors  = 10   // of the errors, the others are counted
	maxMessage = 500  // bytes of an error's message, and of its path
)

// result is what an answer becomes (GraphQL, September 2025, 7.1). An error is one of
// the connection.
func (t *tool) result(res *http.Response) (*toolformat.Result, error) {
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return failure(res), nil
	}
	limit := t.backend.maxBytes
	b, cut, err := read(res, limit)
	defer b.Free()
	if err != nil {
		return nil, err
	}
	if cut {
		return toolformat.TextResult(fmt.Sprintf("the answer is longer than %d bytes, which is the most that is read: ask for less", limit), true), nil
	}
	body := bytes.TrimPrefix(b.B, []byte("\ufeff"))
	checked := body
	if hasBreak(body) {
		checked = bytes.Clone(body) // Valid takes the line breaks out, and data stays as it came
	}
	if wire.Valid(checked) != nil {
		return toolformat.TextResult(status(res)+": the answer is not JSON"+beginning(body), true), nil
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
		return toolformat.TextResult(status(res)+": the answer has neither data nor errors: it is not GraphQL"+beginning(body), true), nil
	}
	if data, err = pick(data, t.sel); err != nil {
		return toolformat.TextResult(err.Error(), true), nil
	}
	return t.success(data), nil
}

// success is the result of data: verbatim, and as structured content when it is an
// object, or anything where the tool has an output schema. A string that was selected is
// its text.
func (t *tool) success(data []byte) *toolformat.Result {
	if text, ok := wire.Text(data); ok && !t.hasOutput {
		return toolformat.TextResult(text, false)
	}
	dst := append(make([]byte, 0, 2*len(data)+len(data)/8+64), `{"content":[{"type":"text","text":`...)
	dst = append(wire.AppendString(dst, string(data)), `}]`...)
	if data[0] == '{' || t.hasOutput {
		dst = append(dst, `,"structuredContent":`...)
		begin := len(dst)
		dst = append(dst, data...)
		if hasBreak(data) {
			_ = wire.Valid(dst[begin:]) // it is; this takes the line breaks out
		}
	}
	return &toolformat.Result{JSON: append(dst, '}')}
}

// failed is the result of an answer with errors, and of the data that came all the same.
func (t *tool) failed(data, faults []byte) *toolformat.Result {
	b := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), messages(faults))
	if data != nil && !isNull(data) {
		if part, err := pick(data, t.sel); err == nil {
			data = part
		}
		b = wire.AppendString(append(b, `},{"type":"text","text":`...), string(data))
	}
	return &toolformat.Result{JSON: append(b, `}],"isError":true}`...)}
}

// messages are those of the errors, a line each.
func messages(faults []byte) string {
	if faults[0] != '[' {
		return "GraphQL error: " + shorten(string(faults))
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
		return shorten(string(fault))
	}
	text = shorten(text)
	var path strings.Builder
	for step := range wire.Elements(wire.Lookup(fault, "path")) {
		name, isName := wire.Text(step)
		if !isName {
			name = string(step)
		}
		path.WriteString("/" + name)
	}
	if path.Len() > 0 {
		text += " (at " + shorten(path.String()) + ")"
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

func shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return whole(s[:maxMessage]) + "…"
}

// read reads a body to its end, or to the limit. The Buffer is the caller's, whatever
// the error.
func read(res *http.Response, limit int) (b *wire.Buffer, cut bool, err error) {
	size := 512
	if n := res.ContentLength; n > 0 {
		size = int(min(n, int64(limit))) + 1 // and one to see the end with
	}
	b = wire.NewBuffer(size)
	if err = wire.ReadAll(b, res.Body, limit); len(b.B) > limit {
		b.B = b.B[:limit]
		return b, true, nil
	}
	return b, false, err
}

// status is the answer's, in the standard's words: the server's own may be anything.
func status(res *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
}

// failure is the result of an answer that is none: its status, and how its body begins.
func failure(res *http.Response) *toolformat.Result {
	text := status(res)
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		text += ": redirected to " + to.Scheme + "://" + to.Host + ", which is not followed: only to the same scheme, host and port, as a POST, and not more than " + fmt.Sprint(maxRedirects) + " times"
	}
	b, _, _ := read(res, maxFailure+1) // what has come of it
	defer b.Free()
	return toolformat.TextResult(text+beginning(b.B), true)
}

// beginning is how a body begins, on a line of its own; "" when nobody can read it.
func beginning(body []byte) string {
	text, end := string(body), ""
	if len(text) > maxFailure {
		text, end = text[:maxFailure], "…"
	}
	if text = whole(text); text == "" || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return isControl(r) && !strings.ContainsRune("\t\r\n", r) }) {
		return ""
	}
	return "\n" + text + end
}

// whole is a text without the beginning of a rune at its end.
func whole(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}
