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
		for i := begin(object, '{'); at(object, i) == '"'; {
			keyEnd := past(object, i)
			from := blank(object, keyEnd)
			if at(object, from) != ':' {
				return
			}
			from = blank(object, from+1)
			to := past(object, from)
			if to == from || !yield(object[i+1:keyEnd-1], object[from:to]) {
				return
			}
			if i = blank(object, to); at(object, i) != ',' {
				return
			}
			i = blank(object, i+1)
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

// Count returns how many elements an array has; 0 for other bytes.
func Count(array []byte) (n int) {
	for i := begin(array, '['); ; n++ {
		to := past(array, i)
		if to == i {
			return n
		}
		if i = blank(array, to); at(array, i) == ',' {
			i = blank(array, i+1)
		}
	}
}

// begin returns where the first part of a container can begin.
func begin(b []byte, bracket byte) int {
	i := blank(b, 0)
	if at(b, i) != bracket {
		return len(b)
	}
	return blank(b, i+1)
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

// past returns the end of the value at i; i itself when no value is there.
func past(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = pastString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// pastString returns the end of the string at i. A quote ends it unless an odd number of backslashes
// is before it.
func pastString(b []byte, i int) int {
	for from := i + 1; ; {
		q := bytes.IndexByte(b[from:], '"')
		if q < 0 {
			return len(b)
		}
		q += from
		slashes := q
		for b[slashes-1] == '\\' {
			slashes--
		}
		if from = q + 1; (q-slashes)%2 == 0 {
			return from
		}
	}
}
