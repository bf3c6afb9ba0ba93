package h1

import (
	"bytes"
	"net/http"
	"slices"
)

// shape is the head of a response that net/http has parsed. Most of a server's differ from it in
// the length of the body and the date alone: they need no parsing.
type shape struct {
	parts  [][]byte // what comes before, between and after the values that differ
	length int      // the part before the length
	resp   http.Response
}

// value is where a header's value stands in a head.
type value struct{ from, to int }

// learn returns the shape of a head, nil if it has none: resp, which net/http has made of it, does
// not take its length from a Content-Length.
func learn(head []byte, resp *http.Response) *shape {
	if resp.StatusCode != http.StatusOK || resp.Close || resp.ContentLength <= 0 {
		return nil
	}
	var length, date value
	at := 0
	for line := range bytes.Lines(head) {
		name, text, _ := bytes.Cut(line, []byte(":"))
		text = bytes.TrimSpace(text)
		from := at + bytes.LastIndex(line, text)
		v := value{from, from + len(text)}
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length.to > 0 || digits(text) < len(text) || len(text) == 0 {
				return nil
			}
			length = v
		case bytes.EqualFold(name, []byte("Date")) && len(text) > 0 && dated(text) == len(text):
			date = v
		}
		at += len(line)
	}
	s := &shape{resp: *resp}
	s.resp.Body = nil
	values := []value{length}
	if date.to > 0 {
		values = append(values, date)
	}
	slices.SortFunc(values, func(a, b value) int { return a.from - b.from })
	at = 0
	for i, v := range values {
		s.parts = append(s.parts, bytes.Clone(head[at:v.from]))
		if at = v.to; v == length {
			s.length = i
		}
	}
	s.parts = append(s.parts, bytes.Clone(head[at:]))
	return s
}

// match compares what has been received with the shape. It returns the length of the head, 0 if
// it is not of that shape, and that of the body.
func (s *shape) match(b []byte) (head int, length int64) {
	last := len(s.parts) - 1
	for i, part := range s.parts {
		if !bytes.HasPrefix(b[head:], part) {
			return 0, 0
		}
		head += len(part)
		switch i {
		case last:
		case s.length:
			n := digits(b[head:])
			if n == 0 || n > 18 {
				return 0, 0
			}
			for _, c := range b[head : head+n] {
				length = 10*length + int64(c-'0')
			}
			head += n
		default:
			head += dated(b[head:])
		}
	}
	return head, length
}

// digits returns how many digits b begins with.
func digits(b []byte) int {
	i := 0
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

// dated returns how many characters of dates b begins with.
func dated(b []byte) int {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == ',' || '0' <= b[i] && b[i] <= ':' || 'A' <= b[i] && b[i] <= 'Z' || 'a' <= b[i] && b[i] <= 'z') {
		i++
	}
	return i
}
