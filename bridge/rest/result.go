package rest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxFailure bounds what a result says of the body of an answer that is a failure.
const maxFailure = 2000 // bytes

// result is what an answer becomes. An error is one of the connection.
func (t *tool) result(res *http.Response) (*toolformat.Result, error) {
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return t.failure(res), nil
	}
	if t.method == http.MethodHead {
		return toolformat.TextResult(head(res), false), nil
	}
	b, cut, err := read(res, t.backend.maxBytes)
	defer b.Free()
	if err != nil {
		return nil, err
	}
	body := b.B
	if len(body) == 0 {
		return toolformat.TextResult(status(res)+" (the answer is empty)", false), nil
	}
	mediaType, params, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case isText(mediaType, body):
		return t.text(decodeText(body, params["charset"]), cut), nil
	case cut:
		return toolformat.TextResult(fmt.Sprintf("the answer (%s) is longer than %d bytes, which is the most that is read", mediaType, t.backend.maxBytes), true), nil
	case t.sel != nil:
		return toolformat.TextResult(fmt.Sprintf("the answer is %s, not JSON: nothing can be selected from it", mediaType), true), nil
	}
	return t.binary(mediaType, body), nil
}

// read reads a body to its end, or to the limit, into a buffer that the caller frees.
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
func (t *tool) failure(res *http.Response) *toolformat.Result {
	text := status(res)
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		text += ": redirected to " + to.Scheme + "://" + to.Host + ", which is not followed: only to the same scheme, host and port, with the same method, and not more than " + fmt.Sprint(maxRedirects) + " times"
	}
	b, cut, _ := read(res, maxFailure) // what has come of it
	defer b.Free()
	body := b.B
	mediaType, params, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if len(body) > 0 && isText(mediaType, body) {
		text += "\n" + whole(decodeText(body, params["charset"]), cut)
		if cut {
			text += "…"
		}
	}
	return toolformat.TextResult(text, true)
}

// head is what is worth reading of the answer to a HEAD.
func head(res *http.Response) string {
	text := status(res)
	for _, name := range []string{"Content-Type", "Content-Length", "Last-Modified", "ETag"} {
		if value := res.Header.Get(name); value != "" {
			text += "\n" + name + ": " + value
		}
	}
	return text
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
		utf8.ValidString(whole(string(body), true))
}

// decodeText is the body as UTF-8, without a byte order mark. Other character sets than
// those of ISO-8859-1 are left to the replacement character.
func decodeText(body []byte, charset string) string {
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1", "us-ascii":
		if !utf8.Valid(body) {
			runes := make([]rune, len(body))
			for i, c := range body {
				runes[i] = rune(c)
			}
			return string(runes)
		}
	}
	return string(bytes.TrimPrefix(body, []byte("\ufeff")))
}

// whole is a text without the beginning of a rune that was cut.
func whole(s string, cut bool) string {
	if !cut {
		return s
	}
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// text is the result of an answer that can be read: verbatim, and as structured content
// when it is a JSON object, whatever its type says, or any JSON where the tool has an
// output schema.
func (t *tool) text(body string, cut bool) *toolformat.Result {
	if t.sel != nil {
		part, err := pick(body, t.sel, cut)
		if err != nil {
			return toolformat.TextResult(err.Error(), true)
		}
		if text, ok := wire.Text([]byte(part)); ok && !t.hasOutput {
			return toolformat.TextResult(text, false)
		}
		body, cut = part, false
	}
	if cut {
		return toolformat.TextResult(whole(body, true)+fmt.Sprintf("\n... [output truncated: the answer is longer than %d bytes]", t.backend.maxBytes), false)
	}
	dst := append(make([]byte, 0, 2*len(body)+len(body)/8+64), `{"content":[{"type":"text","text":`...)
	dst = append(wire.AppendString(dst, body), `}]`...)
	if trimmed := strings.TrimLeft(body, " \t\r\n"); strings.HasPrefix(trimmed, "{") || t.hasOutput {
		end := len(dst)
		dst = append(dst, `,"structuredContent":`...)
		begin := len(dst)
		dst = append(dst, body...)
		if wire.Valid(dst[begin:]) != nil {
			dst = dst[:end]
		}
	}
	return &toolformat.Result{JSON: append(dst, '}')}
}

// binary is the result of an answer that is bytes: an image, audio, or a resource that
// has no address of its own.
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
	dst = append(dst[:len(dst)-1], data...) // which brings the quote
	dst = base64.StdEncoding.AppendEncode(dst, body)
	return &toolformat.Result{JSON: append(dst, end...)}
}
