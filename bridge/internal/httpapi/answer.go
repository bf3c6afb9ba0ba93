package httpapi

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxExcerpt bounds the part of a body that a failed result repeats, in bytes.
const maxExcerpt = 2000

// Status returns the status of an answer with the standard's text for it, as the server's own may be
// anything, and when to try again, if a server that is busy says that.
func Status(res *http.Response) string {
	text := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if after, ok := retryAfter(res.Header.Get("Retry-After")); ok && after > 0 {
			text += fmt.Sprintf(": try again in %s", max(time.Second, after.Round(time.Second)))
		}
	}
	return text
}

// rejected returns the failed result of an answer whose status is not 2xx, and nil for a success.
// It reads the beginning of the body, or all that Call.Explain may need.
func (c *Client) rejected(res *http.Response, call Call) *toolformat.Result {
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return nil
	}
	why := ""
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		why = fmt.Sprintf("redirected to %s://%s, which is not followed: only to the same scheme, host and port, with the same method, and not more than %d times", to.Scheme, to.Host, maxRedirects)
	}
	most, explains := maxExcerpt+1, call.Explain != nil && res.StatusCode >= 400
	if explains {
		most = max(most, c.MaxBytes)
	}
	b, cut, _ := read(res, most) // as much as arrived
	defer b.Free()
	body, _, _ := toUTF8(res, b.B, cut, most)
	if explains {
		body = c.withoutSent(res, body)
		if r := call.Explain(res, body); r != nil {
			return r
		}
	}
	return c.Unusable(res, why, body)
}

// Unusable returns the failed result of an answer: its status, why it is a failure, and the
// beginning of its body if that is text, without credentials of the config.
func (c *Client) Unusable(res *http.Response, why string, body []byte) *toolformat.Result {
	text := Status(res)
	if why != "" {
		text += ": " + why
	}
	if excerpt, _, ok := Text(res, body); ok && len(excerpt) > 0 {
		text += "\n" + c.Hide(res, native.Cut(string(excerpt[:min(len(excerpt), maxExcerpt+1)]), maxExcerpt))
	}
	return toolformat.TextResult(text, true)
}

// Hide removes the credentials of the config, and of the request, from a text of an answer, which may repeat
// them.
func (c *Client) Hide(res *http.Response, text string) string {
	var sent bridge.Secrets
	if token := c.sent(res); len(token) >= minSecret {
		sent.Add(token)
	}
	return sent.Hide(c.secrets.Hide(text))
}

// Text returns the body of an answer, which is UTF-8 if it is text, without a byte order mark, and its media
// type. ok reports whether the body is text. The text shares memory with body.
func Text(res *http.Response, body []byte) (text []byte, mediaType string, ok bool) {
	mediaType, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	if coding(res) != "" || !isText(mediaType, body) {
		return nil, mediaType, false
	}
	return bytes.TrimPrefix(body, []byte("\ufeff")), mediaType, true
}

// isText reports whether a body is text: by its media type or, if that says nothing, because it is
// readable UTF-8.
func isText(mediaType string, body []byte) bool {
	kind, sub, _ := strings.Cut(mediaType, "/")
	isOther := kind == "image" || kind == "audio" || kind == "video" || kind == "font"
	return IsText(mediaType) || (sub == "" || sub == "octet-stream") && !isOther && isReadable(body)
}

// IsText reports whether a media type is text, also in another form than text/*.
func IsText(mediaType string) bool {
	kind, sub, _ := strings.Cut(mediaType, "/")
	return kind == "text" || IsJSON(mediaType) || strings.HasSuffix(sub, "+xml") || strings.HasSuffix(sub, "+yaml") ||
		slices.Contains(textTypes, sub)
}

var textTypes = []string{"xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "graphql", "sql", "x-ndjson", "ndjson", "jsonl", "json-seq", "x-www-form-urlencoded"}

// IsJSON reports whether a media type is JSON (RFC 6839, section 3.1).
func IsJSON(mediaType string) bool {
	base, _, _ := mime.ParseMediaType(mediaType)
	_, sub, _ := strings.Cut(base, "/")
	return sub == "json" || strings.HasSuffix(sub, "+json")
}

// isReadable reports whether body is UTF-8 without the control characters that text does not have.
// Its last rune may be incomplete.
func isReadable(body []byte) bool {
	return !bytes.ContainsFunc(body, func(r rune) bool { return isControl(r) && !strings.ContainsRune("\t\r\n\f\x1b", r) }) &&
		utf8.ValidString(native.Whole(string(body)))
}

// unavailable returns the error of a call to which the API gave no readable answer: see Do.
func (c *Client) unavailable(ctx context.Context, call Call, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused := (*credentialsError)(nil); errors.As(err, &refused) {
		return toolformat.Errorf(refused.code, "tool %s: the API %q: %v", call.Tool, c.Name, refused.error)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	what, lasts := describe(err)
	next := "try again later"
	switch {
	case lasts:
		next = "waiting does not help: the operator of the bridge has to look into it"
	case call.Effect != "":
		next = "the " + call.Effect + " may have been carried out: check before you try again"
	}
	return toolformat.Errorf(toolformat.Unavailable, "tool %s: the API %q %s; %s", call.Tool, c.Name, what, next).Because(err)
}

// describe says what came instead of an answer. lasts means that nothing was sent, and that the
// next attempt will fail as well.
func describe(err error) (what string, lasts bool) {
	var (
		untrusted *tls.CertificateVerificationError
		dns       *net.DNSError
		coded     *codingError
		corrupt   flate.CorruptInputError
	)
	switch {
	case errors.As(err, &untrusted):
		return "has a TLS certificate that this machine does not trust", true
	case errors.As(err, &dns) && dns.IsNotFound:
		return "has an unknown host name", true
	case errors.As(err, &coded):
		return "sent an unreadable answer: " + coded.Error(), false
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return "sent an unreadable answer: it is not the gzip that its header announces", false
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "broke off its answer", false
	}
	return "did not answer", false
}

// A codingError is an answer in a content coding that the request did not ask for.
type codingError struct{ coding string }

func (e *codingError) Error() string {
	return fmt.Sprintf("its content coding is %q, which was not asked for", native.Shorten(e.coding))
}

// coding returns the content coding that a body is still in, or "" (RFC 9110, section 8.4).
func coding(res *http.Response) string {
	coding := strings.TrimSpace(res.Header.Get("Content-Encoding"))
	if strings.EqualFold(coding, "identity") {
		return ""
	}
	return coding
}
