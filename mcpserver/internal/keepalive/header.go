package keepalive

import (
	"bufio"
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// header is the header of a request. Most that follow it on a connection are the same but for the digits
// of Content-Length, and need no more than a comparison.
type header struct {
	before, after []byte // the text around the digits; nil without a request
	request       *http.Request
	handler       http.Handler
}

// match returns the size of the header that text begins with, and the length of its body; a size of 0
// means that it is another header.
func (h *header) match(text []byte) (size int, length int64) {
	rest, same := bytes.CutPrefix(text, h.before)
	for same && size < min(len(rest), 15) && '0' <= rest[size] && rest[size] <= '9' {
		length = 10*length + int64(rest[size]-'0')
		size++
	}
	if size == 0 || h.before == nil || !bytes.HasPrefix(rest[size:], h.after) {
		return 0, 0
	}
	return len(h.before) + size + len(h.after), length
}

// plain matches a header that every implementation understands alike, and in it the digits of
// Content-Length; special matches fields that ask for more than an answer.
var (
	plain = regexp.MustCompile(`^POST \S+ HTTP/1\.1\r\n(?:[A-Za-z0-9._-]+:[ -~]*\r\n)*?` +
		`(?i:content-length): *([0-9]{1,15}) *\r\n(?:[A-Za-z0-9._-]+:[ -~]*\r\n)*\r\n`)
	special = regexp.MustCompile(`\n(?:expect|pragma|te|trailer|transfer-encoding|upgrade):|\nhost: *[^\r]*[^\r a-z0-9.:[\]-]`)
)

// parse makes the header that text begins with c.head, and returns what match does. Whatever is not plain
// it leaves to net/http.
func (c *conn) parse(text []byte) (size int, length int64) {
	at := plain.FindSubmatchIndex(text)
	if at == nil {
		return 0, 0
	}
	text = bytes.Clone(text[:at[1]])
	lower := bytes.ToLower(text)
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil || r.RequestURI != c.l.opts.Path || special.Match(lower) ||
		bytes.Count(lower, []byte("\ncontent-length:")) > 1 || bytes.Count(lower, []byte("\nhost:")) != 1 ||
		slices.ContainsFunc(r.Header["Connection"], func(v string) bool { return !strings.EqualFold(v, "keep-alive") }) {
		return 0, 0
	}
	r.RemoteAddr = c.RemoteAddr().String()
	r = r.WithContext(c.ctx)
	c.head = header{text[:at[2]], text[at[3]:], r, c.l.opts.Prepare(r)}
	return c.head.match(text)
}
