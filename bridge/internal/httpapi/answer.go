package httpapi

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxExcerpt bounds what a result says of the body of an answer that is a failure.
const maxExcerpt = 2000 // bytes

// IsSuccess reports whether an answer's status is one of 2xx.
func IsSuccess(res *http.Response) bool { return res.StatusCode >= 200 && res.StatusCode <= 299 }

// Status is an answer's status in the standard's words: the server's own may be anything.
func Status(res *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
}

// Failure is the result of an answer that is no success: its status, and how its body
// begins, which is read here.
func (c *Client) Failure(res *http.Response) *toolformat.Result {
	text := Status(res)
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		text += fmt.Sprintf(": redirected to %s://%s, which is not followed: only to the same scheme, host and port, with the same method, and not more than %d times", to.Scheme, to.Host, maxRedirects)
	}
	b, _, _ := read(res, maxExcerpt+1) // what has come of it
	defer b.Free()
	return toolformat.TextResult(text+c.Excerpt(res, b.B), true)
}

// Hide is a text of the API without the credentials of the config, which it may repeat.
func (c *Client) Hide(text string) string { return c.secrets.Hide(text) }

// Excerpt is how the body of an answer begins, on a line of its own, without credentials
// of the config; "" when nobody can read it.
func (c *Client) Excerpt(res *http.Response, body []byte) string {
	end := ""
	if len(body) > maxExcerpt {
		body, end = []byte(native.Whole(string(body[:maxExcerpt]))), "…"
	}
	text, _, ok := Text(res, body)
	if !ok || len(text) == 0 {
		return ""
	}
	return "\n" + c.Hide(string(text)) + end
}

// Text is the body of an answer as UTF-8, without a byte order mark, and its type. ok is
// false when nobody can read it. The text may be a part of body.
func Text(res *http.Response, body []byte) (text []byte, mediaType string, ok bool) {
	mediaType, params, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if coding(res) != "" || !isText(mediaType, body) {
		return nil, mediaType, false
	}
	return decode(body, params["charset"]), mediaType, true
}

// isText reports whether an answer can be read. One without a type, or with the type of
// any bytes, can when it is UTF-8.
func isText(mediaType string, body []byte) bool {
	kind, sub, _ := strings.Cut(mediaType, "/")
	switch {
	case kind == "text", strings.HasSuffix(sub, "+json"), strings.HasSuffix(sub, "+xml"), strings.HasSuffix(sub, "+yaml"):
		return true
	case kind == "image", kind == "audio", kind == "video", kind == "font":
		return false
	}
	switch sub {
	case "json", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "graphql", "sql", "x-ndjson", "jsonl", "json-seq", "x-www-form-urlencoded":
		return true
	case "", "octet-stream":
		return isReadable(body)
	}
	return false
}

// isReadable: UTF-8 without the controls that no text has. The last rune may be cut.
func isReadable(body []byte) bool {
	return !bytes.ContainsFunc(body, func(r rune) bool { return isControl(r) && !strings.ContainsRune("\t\r\n\f\x1b", r) }) &&
		utf8.ValidString(native.Whole(string(body)))
}

// decode is a body as UTF-8, without a byte order mark. Other character sets than those
// of ISO-8859-1 are left to the replacement character.
func decode(body []byte, charset string) []byte {
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1", "us-ascii":
		if !utf8.Valid(body) {
			text := make([]byte, 0, 2*len(body))
			for _, c := range body {
				text = utf8.AppendRune(text, rune(c))
			}
			return text
		}
	}
	return bytes.TrimPrefix(body, []byte("\ufeff"))
}
