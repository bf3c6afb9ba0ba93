// Package lenient reads messages that cannot be used (too long, nested too deep, no valid JSON, no
// JSON-RPC), to find out whose answer one would have been and what of it can be saved. Brackets are
// counted, not checked. Its functions keep nothing and may be called from many goroutines.
package lenient

import (
	"bytes"
	"iter"
	"regexp"
	"sync"
)

// Kind is what a message seems to be.
type Kind uint8

// The kinds of a message, as far as its members show.
const (
	Unknown Kind = iota
	Request      // or a notification
	Answer
)

// lastID matches an id that is the last member of a message, as the TypeScript SDK writes it. Only
// the outermost object can end right behind it.
var lastID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"id"\s*:\s*(\d+)\s*\}\s*$`)
})

// Envelope returns the raw id of a message and what it seems to be, from its beginning and its end,
// which may be the whole message. The id is nil if it does not show.
func Envelope(head, tail []byte) (id []byte, is Kind) {
	if bytes.IndexByte(head, 0) >= 0 { // as in UTF-16
		head, tail = bytes.ReplaceAll(WithoutMark(head), []byte{0}, nil), bytes.ReplaceAll(tail, []byte{0}, nil)
	}
	known := false
	for key, value := range Members(head) {
		switch string(key) {
		case `"jsonrpc"`:
			known = true
		case `"id"`:
			id = value
		case `"method"`:
			known, is = true, Request
		case `"result"`, `"error"`:
			known, is = true, max(is, Answer)
		}
		if is == Request || is == Answer && id != nil {
			break
		}
	}
	if m := lastID().FindSubmatch(tail); m != nil && id == nil && is != Unknown {
		id = m[1]
	}
	if !known {
		id = nil // it may be a line of a log
	}
	return id, is
}

// WithoutMark returns b without the byte order mark of UTF-8 or UTF-16 that it begins with.
func WithoutMark(b []byte) []byte {
	for _, mark := range []string{"\uFEFF", "\xff\xfe", "\xfe\xff"} {
		if rest, ok := bytes.CutPrefix(b, []byte(mark)); ok {
			return rest
		}
	}
	return b
}

// Member returns the value of an object's member, nil if it is not there as a whole.
func Member(object []byte, name string) []byte {
	for key, value := range Members(object) {
		if string(key) == `"`+name+`"` && value != nil {
			return value
		}
	}
	return nil
}

// Members iterates over the raw keys and values of the object that b begins with, or over the elements
// of the array, without keys. A value that b does not hold to its end is nil, and the last one.
func Members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		b := bytes.TrimLeft(WithoutMark(b), " \t\r\n")
		if len(b) == 0 || b[0] != '{' && b[0] != '[' {
			return
		}
		object := b[0] == '{'
		for b = between(b[1:]); len(b) > 0 && b[0] != '}' && b[0] != ']'; b = between(b) {
			var key []byte
			if object {
				end := valueEnd(b)
				if end < 0 {
					return
				}
				key, b = b[:end], between(b[end:])
			}
			end := valueEnd(b)
			if end <= 0 {
				yield(key, nil)
				return
			}
			if !yield(key, b[:end]) {
				return
			}
			b = b[end:]
		}
	}
}

// between skips white space, commas and colons.
func between(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n,:") }

// valueEnd returns the length of the value that b begins with, -1 if b ends before it.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// stringEnd returns the index of the quote that ends the string at i, -1 if b ends before it.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
