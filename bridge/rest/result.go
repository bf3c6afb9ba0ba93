package rest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// result converts an answer. An error is one of the connection.
func (t *tool) result(res *http.Response) (*toolformat.Result, error) {
	if r := t.backend.Rejected(res); r != nil {
		return r, nil
	}
	if t.method == http.MethodHead {
		return toolformat.TextResult(head(res), false), nil
	}
	b, cut, err := t.backend.Read(res)
	defer b.Free()
	if err != nil {
		return nil, err
	}
	if len(b.B) == 0 {
		return toolformat.TextResult(httpapi.Status(res)+" (the answer is empty)", false), nil
	}
	text, mediaType, readable := httpapi.Text(res, b.B)
	switch {
	case readable:
		return t.text(text, cut), nil
	case cut:
		return toolformat.TextResult(fmt.Sprintf("the answer (%s) is longer than the limit of %d bytes", mediaType, t.backend.MaxBytes), true), nil
	case t.sel != nil:
		return toolformat.TextResult(fmt.Sprintf("the answer is %s, not JSON: nothing can be selected from it", mediaType), true), nil
	}
	return t.binary(mediaType, b.B), nil
}

// head returns the useful headers of the answer to a HEAD.
func head(res *http.Response) string {
	text := httpapi.Status(res)
	for _, name := range []string{"Content-Type", "Content-Length", "Last-Modified", "ETag"} {
		if value := res.Header.Get(name); value != "" {
			text += "\n" + name + ": " + value
		}
	}
	return text
}

// text returns the result of an answer that is text: verbatim, and as structured content when it
// is a JSON object, whatever its media type, or any JSON if the tool has an output schema.
func (t *tool) text(body []byte, cut bool) *toolformat.Result {
	switch {
	case t.sel != nil:
		part, err := t.pick(body, cut)
		if err != nil {
			return toolformat.TextResult(err.Error(), true)
		}
		if text, ok := wire.Text(part); ok && !t.hasOutput {
			return toolformat.TextResult(text, false)
		}
		body = part
	case cut:
		return toolformat.TextResult(native.Whole(string(body))+fmt.Sprintf("\n... [output truncated: the answer is longer than %d bytes]", t.backend.MaxBytes), false)
	}
	structured := t.hasOutput || bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
	return native.Result(body, structured, t.sel != nil)
}

// pick returns the part of an answer that the tool selects. It overwrites line breaks in body.
func (t *tool) pick(body []byte, cut bool) ([]byte, error) {
	if cut {
		return nil, fmt.Errorf("the answer is longer than the limit of %d bytes: nothing can be selected from it", t.backend.MaxBytes)
	}
	if wire.Valid(body) != nil {
		return nil, errors.New("the answer is not JSON: nothing can be selected from it")
	}
	return t.sel.Select("the answer", bytes.TrimSpace(body))
}

// binary returns the result of an answer that is not text: an image, audio, or an embedded resource
// without an address of its own.
func (t *tool) binary(mediaType string, body []byte) *toolformat.Result {
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	dst := make([]byte, 0, base64.StdEncoding.EncodedLen(len(body))+256)
	kind, _, _ := strings.Cut(mediaType, "/")
	end, data := `"}]}`, `","data":"`
	if kind == "image" || kind == "audio" {
		dst = append(dst, `{"content":[{"type":"`+kind+`","mimeType":`...)
	} else {
		dst = append(dst, `{"content":[{"type":"resource","resource":{"uri":`...)
		dst = append(wire.AppendString(dst, "mcpbridge://rest/"+url.PathEscape(t.name)), `,"mimeType":`...)
		end, data = `"}}]}`, `","blob":"`
	}
	dst = wire.AppendString(dst, mediaType)
	dst = append(dst[:len(dst)-1], data...) // data begins with the quote
	dst = base64.StdEncoding.AppendEncode(dst, body)
	return &toolformat.Result{JSON: append(dst, end...)}
}
