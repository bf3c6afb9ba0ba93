package sql

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// limits bound the result of a call.
type limits struct{ rows, bytes int }

// An output collects the rows or effects of a statement as JSON, within the limits of its tool. An
// engine calls columns and then row for each row until cut is set, or sets affected and lastID.
type output struct {
	limits limits

	keys [][]byte // `"name":` of each column
	json []byte   // the rows: an array without its closing bracket
	rows int      // number of rows in json
	cut  string   // why rows are missing; "" if all are there

	affected int64 // rows written; -1 if unknown
	lastID   int64 // id of the last row inserted; 0 if unknown
}

func newOutput(l limits) *output { return &output{limits: l, affected: -1} }

// columns sets the names of the columns. A repeated name becomes name_2, name_3 and so on.
func (o *output) columns(names []string) {
	taken := make(map[string]bool, len(names)) // false for a name that is not a key yet
	for _, name := range names {
		taken[name] = false
	}
	o.keys = make([][]byte, len(names))
	for i, name := range names {
		key := name
		for n := 2; ; n++ {
			if isKey, isName := taken[key]; !isKey && (key == name || !isName) {
				break
			}
			key = name + "_" + strconv.Itoa(n)
		}
		taken[key] = true
		o.keys[i] = append(wire.AppendString(nil, key), ':')
	}
	o.json = append(o.json, '[')
}

// row adds a row, whose values value appends, unless that would exceed the limits: then it sets
// cut.
func (o *output) row(value func(dst []byte, column int) []byte) {
	if o.rows == o.limits.rows {
		o.truncate("")
		return
	}
	begin := len(o.json)
	o.json = append(native.AppendComma(o.json), '{')
	for i, key := range o.keys {
		o.json = value(append(native.AppendComma(o.json), key...), i)
	}
	o.json = append(o.json, '}')
	if len(o.json) > o.limits.bytes {
		o.json = o.json[:begin]
		o.truncate(fmt.Sprintf(", as many as fit into %d bytes", o.limits.bytes))
		return
	}
	o.rows++
}

func (o *output) truncate(why string) {
	o.cut = fmt.Sprintf("truncated: only the first %d rows are shown%s, and there are more. Narrow the query or ask for the next rows, if the tool can.", o.rows, why)
}

// result returns the result of the call.
func (o *output) result() *toolformat.Result {
	var text []byte
	if o.keys == nil {
		text = o.structured(nil)
	} else {
		o.json = append(o.json, ']')
		text = o.json
	}
	b := make([]byte, 0, 2*len(text)+len(text)/2+256) // most escapes are those of quotes
	b = wire.AppendString(append(b, `{"content":[{"type":"text","text":`...), text)
	if o.cut != "" {
		b = wire.AppendString(append(b, `},{"type":"text","text":`...), o.cut)
	}
	b = o.structured(append(b, `}],"structuredContent":`...))
	return &toolformat.Result{JSON: append(b, '}')}
}

// structured appends the structured content; json must be a whole array by then.
func (o *output) structured(dst []byte) []byte {
	dst = append(dst, '{')
	if o.keys != nil {
		dst = append(native.AppendKey(dst, "rows"), o.json...)
		dst = strconv.AppendBool(native.AppendKey(dst, "truncated"), o.cut != "")
	}
	if o.affected >= 0 {
		dst = strconv.AppendInt(native.AppendKey(dst, "affected"), o.affected, 10)
	}
	if o.lastID != 0 {
		dst = strconv.AppendInt(native.AppendKey(dst, "last_id"), o.lastID, 10)
	}
	return append(dst, '}')
}

// A format says how the values of a column become JSON.
type format uint8

const (
	asIs    format = iota // by the driver's type: text, a number, bytes
	asText                // text, also if the driver returns bytes
	numeric               // a number as text
	boolean               // 0 and 1, or t and f
	date                  // a date, which in SQLite may have a time
	instant               // a date with a time
	object                // JSON as text
	bits                  // a number as big-endian bytes
	binary                // bytes
)

// appendValue appends a value of the driver.
func appendValue(dst []byte, f format, value any) []byte {
	switch v := value.(type) {
	case int64:
		if f == boolean && (v == 0 || v == 1) {
			return strconv.AppendBool(dst, v == 1)
		}
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case float64:
		return appendFloat(dst, v, 64)
	case float32:
		return appendFloat(dst, float64(v), 32)
	case bool:
		return strconv.AppendBool(dst, v)
	case time.Time:
		return appendTime(dst, f, v)
	case string:
		return appendText(dst, f, v)
	case []byte:
		if f == asIs {
			f = binary
		}
		return appendText(dst, f, string(v))
	}
	return append(dst, "null"...) // nil, the only other type of a driver.Value
}

// appendText appends a value that the database returns as text or bytes.
func appendText(dst []byte, f format, text string) []byte {
	switch f {
	case numeric:
		if native.IsNumber(text) {
			return append(dst, text...)
		}
	case boolean:
		if text == "t" || text == "f" {
			return strconv.AppendBool(dst, text == "t")
		}
	case instant:
		return appendInstant(dst, text)
	case object:
		if raw, ok := document(text); ok {
			return append(dst, raw...)
		}
	case bits:
		return new(big.Int).SetBytes([]byte(text)).Append(dst, 10)
	case binary:
		return appendBytes(dst, text)
	}
	if !utf8.ValidString(text) {
		return appendBytes(dst, text)
	}
	return wire.AppendString(dst, text)
}

func appendBytes(dst []byte, value string) []byte {
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), []byte(value))
	return append(dst, '"')
}

// document returns text as JSON for a message. ok is false if it is not JSON or too deep for one.
func document(text string) (raw []byte, ok bool) {
	const around = 16 // bounds the nesting of a value within a message
	raw = []byte(strings.Repeat("[", around) + strings.TrimSpace(text) + strings.Repeat("]", around))
	value := raw[around : len(raw)-around]
	if wire.Valid(value) != nil || wire.Valid(raw) != nil { // "1],[2" is valid within brackets
		return nil, false
	}
	return value, true
}

// appendFloat appends a floating-point number as encoding/json does, or the name of a value that
// JSON does not have.
func appendFloat(dst []byte, f float64, size int) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		return strconv.AppendFloat(dst, f, 'e', -1, size)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, size)
}

// appendTime appends a time, or a date if the column is one: in SQLite such a column may hold a
// time.
func appendTime(dst []byte, f format, t time.Time) []byte {
	layout := time.RFC3339Nano
	if h, m, s := t.Clock(); f == date && h+m+s+t.Nanosecond() == 0 {
		layout = time.DateOnly
	}
	return append(t.AppendFormat(append(dst, '"'), layout), '"')
}

// appendInstant appends a date with a time in the form of RFC 3339, section 5.6, or as it is if it
// has no such form: infinity, 0000-00-00, 44 BC. Without a zone, it is in UTC.
func appendInstant(dst []byte, text string) []byte {
	const shape = "dddd-dd-dd dd:dd:dd"
	if len(text) < len(shape) || !fits(text[:len(shape)], shape) || text[5:7] == "00" || text[8:10] == "00" {
		return wire.AppendString(dst, text)
	}
	end := len(shape)
	if fraction := strings.TrimLeft(text[end:], "."); len(fraction) == len(text)-end-1 && fraction != "" && isDigit(fraction[0]) {
		end = len(text) - len(strings.TrimLeft(fraction, "0123456789"))
	}
	zone := text[end:]
	switch {
	case zone == "", zone == "+00":
		zone = "Z"
	case fits(zone[1:], "dd"):
		zone += ":00"
	case !fits(zone[1:], "dd:dd"): // local mean time, with seconds in the offset
		t, err := time.Parse("2006-01-02 15:04:05-07:00:00", text)
		if err != nil {
			return wire.AppendString(dst, text)
		}
		return appendTime(dst, instant, t.UTC())
	}
	dst = append(append(append(dst, '"'), text[:10]...), 'T')
	return append(append(append(dst, text[11:end]...), zone...), '"')
}

// fits reports whether text has a shape, in which d stands for a digit.
func fits(text, shape string) bool {
	if len(text) != len(shape) {
		return false
	}
	for i := range len(shape) {
		if isDigit(text[i]) != (shape[i] == 'd') || shape[i] != 'd' && text[i] != shape[i] {
			return false
		}
	}
	return true
}
