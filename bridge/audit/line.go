package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxNames bounds the names of arguments in a line.
const maxNames = 100

// appendLine appends a call as a line: as the record of calls has it, with its place in the chain.
func (c *chain) appendLine(dst []byte, call *observe.Call, before last) []byte {
	own, arguments := *call, call.Arguments
	if own.Arguments = nil; c.opts.Values && arguments != nil {
		own.Arguments = redacted(arguments, c.opts.Hidden)
	}
	dst = own.AppendJSON(dst)
	dst = dst[:len(dst)-1]
	if !c.opts.Values {
		dst = appendNames(dst, arguments)
	}
	dst = strconv.AppendInt(append(dst, `,"n":`...), before.Count+1, 10)
	dst = append(append(append(dst, `,"prev":"`...), before.Hash...), "\"}\n"...)
	return dst
}

// appendNames appends the names of arguments.
func appendNames(dst, arguments []byte) []byte {
	n := 0
	for name := range wire.Members(arguments) {
		if n++; n > maxNames {
			break
		}
		sep := byte(',')
		if n == 1 {
			dst, sep = append(dst, `,"names":`...), '['
		}
		dst = wire.AppendString(append(dst, sep), name)
	}
	if n > 0 {
		dst = append(dst, ']')
	}
	return dst
}

// redacted returns arguments without the values of hidden names, at any depth.
func redacted(raw []byte, hidden []string) []byte {
	if len(hidden) == 0 || len(raw) == 0 {
		return raw
	}
	return appendRedacted(nil, raw, hidden)
}

func appendRedacted(dst, raw []byte, hidden []string) []byte {
	switch raw[0] {
	case '[':
		n := 0
		for element := range wire.Elements(raw) {
			dst = appendRedacted(append(dst, separator(n, '[')), element, hidden)
			n++
		}
		if n == 0 {
			return append(dst, "[]"...)
		}
		return append(dst, ']')
	case '{':
		n := 0
		for name, value := range wire.Members(raw) {
			dst = append(wire.AppendString(append(dst, separator(n, '{')), name), ':')
			if slices.ContainsFunc(hidden, func(h string) bool { return strings.EqualFold(h, name) }) {
				value = []byte(`"xxxxx"`)
			}
			dst = appendRedacted(dst, value, hidden)
			n++
		}
		if n == 0 {
			return append(dst, "{}"...)
		}
		return append(dst, '}')
	}
	return append(dst, raw...)
}

// separator is what stands before an element.
func separator(n int, open byte) byte {
	if n == 0 {
		return open
	}
	return ','
}

// end takes a line as the one at the end of the chain, whose hash is that of all before it, too.
func (l *last) end(line []byte) {
	var buf [1 << 10]byte // which most lines fit in
	sum := sha256.Sum256(append(append(buf[:0], l.Hash...), line...))
	l.Hash = hex.EncodeToString(sum[:])
}

// place returns what a line says of its place in the chain; ok is false for one that a crash has torn.
func place(line []byte) (n int64, prev string, ok bool) {
	n, err := strconv.ParseInt(string(wire.Lookup(line, "n")), 10, 64)
	prev, ok = wire.Text(wire.Lookup(line, "prev"))
	return n, prev, ok && err == nil && wire.Valid(line) == nil
}

// follow takes a line that is in the file as the one at the end of the chain. The first one of the oldest file, and one
// that follows lines which are not kept any more, says what was before it. One that a crash has torn counts by its bytes,
// and one that was taken before does not count.
func (l *last) follow(line []byte) {
	n, prev, ok := place(line)
	switch {
	case ok && l.Count > 0 && n <= l.Count:
		return
	case ok && (l.Count == 0 || n > l.Count+1):
		l.Hash = prev
	}
	if l.end(line); ok {
		l.Count = n
	}
}
