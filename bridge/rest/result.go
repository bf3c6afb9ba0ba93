package rest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// convert implements httpapi.Call.Convert.
func (t *tool) convert(res *http.Response, body []byte, cut bool) *toolformat.Result {
	text, mediaType, readable := httpapi.Text(res, body)
	switch {
	case t.method == http.MethodHead:
		return toolformat.TextResult(head(res), false)
	case len(body) == 0:
		return toolformat.TextResult(httpapi.Status(res)+" (the answer is empty)", false)
	case readable:
		return t.text(text, cut)
	case cut:
		return toolformat.TextResult(fmt.Sprintf("the answer (%s) is longer than the limit of %d bytes", mediaType, t.MaxBytes), true)
	case t.sel != nil:
		return toolformat.TextResult(fmt.Sprintf("the answer is %s, not JSON: nothing can be selected from it", mediaType), true)
	}
	return t.binary(cmp.Or(mediaType, "application/octet-stream"), body)
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
		if !cut {
			if r, _, _, ok := native.PartResult(body, t.sel, t.definition.OutputSchema != nil); ok {
				return r
			}
		}
		part, err := t.pick(body, cut)
		if err != nil {
			return toolformat.TextResult(err.Error(), true)
		}
		body = part
	case cut:
		return toolformat.TextResult(native.Whole(string(body))+fmt.Sprintf("\n... [output truncated: the answer is longer than %d bytes]", t.MaxBytes), false)
	}
	return native.Result(body, t.definition.OutputSchema != nil, t.sel != nil)
}

// pick returns the part of an answer that the tool selects. It overwrites line breaks in body.
func (t *tool) pick(body []byte, cut bool) ([]byte, error) {
	if cut {
		return nil, fmt.Errorf("the answer is longer than the limit of %d bytes: nothing can be selected from it", t.MaxBytes)
	}
	switch {
	case !utf8.Valid(body):
		return nil, errors.New("the answer is not UTF-8: nothing can be selected from it")
	case wire.Valid(body) != nil:
		return nil, errors.New("the answer is not JSON: nothing can be selected from it")
	}
	return t.sel.Select("the answer", bytes.TrimSpace(body))
}

// binary returns the result of an answer that is not text: an image, audio, or an embedded resource
// without an address of its own.
func (t *tool) binary(mediaType string, body []byte) *toolformat.Result {
	data := base64.StdEncoding.EncodeToString(body)
	dst := make([]byte, 0, len(data)+256)
	if kind, _, _ := strings.Cut(mediaType, "/"); kind == "image" || kind == "audio" {
		dst = fmt.Appendf(dst, `{"content":[{"type":"%s","mimeType":"%s","data":"%s"}]}`, kind, mediaType, data)
	} else { // a media type and the path of a URL need no escapes
		dst = fmt.Appendf(dst, `{"content":[{"type":"resource","resource":{"uri":"mcpbridge://rest/%s","mimeType":"%s","blob":"%s"}}]}`, url.PathEscape(t.definition.Name), mediaType, data)
	}
	return &toolformat.Result{JSON: dst}
}
