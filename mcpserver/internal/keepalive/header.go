package keepalive

import (
	"bufio"
	"bytes"
	"net/http"
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

// letters are those of the names of fields that every implementation understands alike.
const letters = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// times is how often a request has the fields that say where it ends, or ask for more than an answer.
var times = map[string]int{"content-length": 1, "expect": 0, "host": 1, "pragma": 0, "te": 0, "trailer": 0, "transfer-encoding": 0, "upgrade": 0}

// parse makes the header that text begins with c.head, and returns what match does. It leaves to net/http
// whatever another implementation may understand otherwise.
func (c *conn) parse(text []byte) (size int, length int64) {
	fields, plain := bytes.CutPrefix(text, []byte("POST "+c.l.opts.Path+" HTTP/1.1\r\n"))
	fields, rest, _ := bytes.Cut(fields, []byte("\r\n\r\n"))
	for line := range bytes.SplitSeq(fields, []byte("\r\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		plain = plain && len(name) > 0 && len(bytes.Trim(name, letters)) == 0 &&
			!bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
	}
	text = bytes.Clone(text[:len(text)-len(rest)])
	lower := bytes.ToLower(text)
	for name, n := range times {
		plain = plain && bytes.Count(lower, []byte("\n"+name+":")) == n
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil || !plain || strings.Trim(r.Host, letters+":[]") != "" ||
		bytes.Count(lower, []byte("\nconnection:")) != bytes.Count(lower, []byte("\nconnection: keep-alive\r")) {
		return 0, 0
	}
	_, value, _ := bytes.Cut(lower, []byte("\ncontent-length:"))
	digits := len(text) - len(bytes.TrimLeft(value, " "))
	r.RemoteAddr = c.RemoteAddr().String()
	r = r.WithContext(c.ctx)
	c.head = header{text[:digits], bytes.TrimLeft(text[digits:], "0123456789"), r, c.l.opts.Prepare(r)}
	return c.head.match(text)
}
