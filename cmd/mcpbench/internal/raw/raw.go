// Package raw finds members of JSON objects without decoding them. The benchmark must cost little
// beside what it measures, and must not measure the bridge's own scanner: this one checks nothing
// beyond what it needs to find its way, and strings are skipped as fast as memory is read.
//
// All functions may be called from many goroutines.
package raw

import (
	"bytes"
	"iter"
)

// Members iterates over the keys, as written between their quotes, and the raw values of an object;
// over nothing for other bytes. It ends early where it cannot follow.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		bracket := byte('{') // or the comma before a member
		for i := blank(object, 0); at(object, i) == bracket; bracket = ',' {
			i = blank(object, i+1)
			if at(object, i) != '"' {
				return
			}
			keyEnd := pastString(object, i)
			from := blank(object, keyEnd)
			if at(object, from) != ':' {
				return
			}
			from = blank(object, from+1)
			to := past(object, from)
			if to == from || !yield(object[i+1:keyEnd-1], object[from:to]) {
				return
			}
			i = blank(object, to)
		}
	}
}

// Get returns the raw value of a member of an object, nil when it has none.
func Get(object []byte, key string) []byte {
	for k, value := range Members(object) {
		if string(k) == key {
			return value
		}
	}
	return nil
}

// A Message is a message of JSON-RPC: the raw values of its members, nil where it has none.
type Message struct {
	ID, Method, Params, Result, Error []byte
	Bytes                             int // of all of it
}

// Parse returns the parts of a message.
func Parse(message []byte) Message {
	m := Message{Bytes: len(message)}
	for key, value := range Members(message) {
		switch string(key) {
		case "id":
			m.ID = value
		case "method":
			m.Method = value
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Error = value
		}
	}
	return m
}

func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

func blank(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	return i
}

// past returns the end of the value at i, which is where the separator, bracket or blank after it is.
func past(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = pastString(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// pastString returns the end of the string at i. A quote ends it unless an odd number of backslashes
// is before it.
func pastString(b []byte, i int) int {
	for end := i + 1; ; {
		n := bytes.IndexByte(b[end:], '"')
		if n < 0 {
			return len(b)
		}
		quote := end + n
		slashes := quote
		for b[slashes-1] == '\\' {
			slashes--
		}
		if end = quote + 1; (quote-slashes)%2 == 0 {
			return end
		}
	}
}
