package sql

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A format is how the values of a column become JSON.
type format uint8

const (
	asIs    format = iota // by the type that the driver gives: text, a number, bytes
	asText                // text, also when the driver gives bytes
	numeric               // the text of a number
	boolean               // 0 and 1, or t and f
	date                  // a date, which in SQLite may have a time
	instant               // a date with a time
	object                // the text of JSON
	bits                  // a number in big-endian bytes
	binary                // bytes
)

// appendValue appends a value as the driver gives it.
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
	return append(dst, "null"...) // nil: a driver gives no other type (driver.Value)
}

// appendText appends a value that the database gives as text, or as bytes.
func appendText(dst []byte, f format, text string) []byte {
	switch f {
	case numeric:
		if isNumber(text) {
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
		if len(text) <= 8 {
			var n uint64
			for i := range len(text) {
				n = n<<8 | uint64(text[i])
			}
			return strconv.AppendUint(dst, n, 10)
		}
		return appendBytes(dst, text)
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

// document is JSON that may become part of a message. That which is nested too deep for
// one may not.
func document(text string) ([]byte, bool) {
	const around = 16 // objects and arrays, at most, in which a value stands in a message
	raw := []byte(strings.Repeat("[", around) + strings.TrimSpace(text) + strings.Repeat("]", around))
	if len(raw) == 2*around || wire.Valid(raw) != nil {
		return nil, false
	}
	return raw[around : len(raw)-around], true
}

// appendFloat appends a floating-point number as encoding/json does, or the name of one
// that JSON does not have.
func appendFloat(dst []byte, f float64, size int) []byte {
	switch much := math.Abs(f); {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	case much != 0 && (much < 1e-6 || much >= 1e21):
		return strconv.AppendFloat(dst, f, 'e', -1, size)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, size)
}

// isNumber reports whether text is a JSON number (RFC 8259, 6).
func isNumber(text string) bool {
	digits := func() bool {
		rest := strings.TrimLeft(text, "0123456789")
		some := len(rest) < len(text)
		text = rest
		return some
	}
	text = strings.TrimPrefix(text, "-")
	if len(text) > 1 && text[0] == '0' && isDigit(text[1]) || !digits() {
		return false
	}
	if fraction, ok := strings.CutPrefix(text, "."); ok {
		if text = fraction; !digits() {
			return false
		}
	}
	if text != "" && text[0]|0x20 == 'e' {
		if text = text[1:]; text != "" && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		return digits() && text == ""
	}
	return text == ""
}

// appendTime appends a time: as a date when it is one, which a date column of SQLite
// need not hold.
func appendTime(dst []byte, f format, t time.Time) []byte {
	layout := time.RFC3339Nano
	if h, m, s := t.Clock(); f == date && h+m+s+t.Nanosecond() == 0 {
		layout = time.DateOnly
	}
	return append(t.AppendFormat(append(dst, '"'), layout), '"')
}

// appendInstant appends a date with a time as RFC 3339 (5.6) has it, or as it is when
// that has none: infinity, 0000-00-00, 44 BC. What has no zone is in UTC.
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
	case !fits(zone[1:], "dd:dd"): // to the second, before there were zones
		t, err := time.Parse("2006-01-02 15:04:05-07:00:00", text)
		if err != nil {
			return wire.AppendString(dst, text)
		}
		return appendTime(dst, instant, t.UTC())
	}
	dst = append(append(append(dst, '"'), text[:10]...), 'T')
	return append(append(append(dst, text[11:end]...), zone...), '"')
}

// fits reports whether text is of a shape, in which d is a digit.
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
