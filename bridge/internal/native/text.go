package native

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Text returns a JSON value as text: the characters of a string, the JSON of any other value.
func Text(value []byte) string {
	if s, ok := wire.Text(value); ok {
		return s
	}
	return string(value)
}

// Shorten cuts s to the 40 bytes that an error repeats of it.
func Shorten(s string) string { return Cut(s, 40) }

// Cut returns s, or its first bytes and "…" if it is longer. It never splits a character. Package
// toolformat cuts by the same rule, held by a test of the same cases.
func Cut(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	for bytes > 0 && !utf8.RuneStart(s[bytes]) {
		bytes--
	}
	return s[:bytes] + "…"
}

// Whole returns s without an incomplete rune at its end.
func Whole(s string) string {
	last := len(s) - 1
	for last > 0 && len(s)-last < utf8.UTFMax && !utf8.RuneStart(s[last]) {
		last--
	}
	if last < 0 || utf8.FullRuneInString(s[last:]) {
		return s
	}
	return s[:last]
}

// IsNumber reports whether s is a JSON number (RFC 8259, section 6).
func IsNumber(s string) bool {
	return s != "" && (s[0] == '-' || isDigit(s[0])) && isDigit(s[len(s)-1]) && wire.Valid([]byte(s)) == nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// maxExponent cuts off exponents, so that sums of them do not overflow.
const maxExponent = 1 << 20

// Decimal returns the absolute value of a JSON number as digits × 10^exponent; the digits have no
// zeros at either end unless they are "0".
func Decimal(number string) (digits string, exponent int) {
	mantissa, power, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(number, "-")), "e")
	exponent, _ = strconv.Atoi(power) // 0 without a power, the largest int if the power overflows
	exponent = max(-maxExponent, min(exponent, maxExponent))
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0", 0
	}
	return trimmed, exponent - len(fraction) + len(digits) - len(trimmed)
}

// Integer returns a JSON number without fraction and exponent. ok is false if it is not an integer,
// or one of more than most digits.
func Integer(number string, most int) (whole string, ok bool) {
	digits, exponent := Decimal(number)
	if exponent < 0 || len(digits)+exponent > most {
		return "", false
	}
	if whole = digits + strings.Repeat("0", exponent); number[0] == '-' && whole != "0" {
		whole = "-" + whole
	}
	return whole, true
}

// AppendComma appends a comma to JSON, unless an object or array has just begun.
func AppendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

// AppendKey appends the key of a member to JSON, after a comma where one is due.
func AppendKey(dst []byte, key string) []byte {
	return append(wire.AppendString(AppendComma(dst), key), ':')
}

// Result returns text as a result, byte for byte, and as structured content if it is a JSON object,
// or any JSON when the tool hasOutput, an output schema.
//
// checked means that wire.Valid has accepted the text, which then has no line breaks, as a message
// must not have any. A checked string is returned as its characters unless the tool hasOutput.
func Result(text []byte, hasOutput, checked bool) *toolformat.Result {
	if checked && !hasOutput {
		if s, ok := wire.Text(text); ok {
			return toolformat.TextResult(s, false)
		}
	}
	structured := hasOutput || bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
	r := newResult(text, structured)
	dst, value, quoted := r.JSON, text, false
	if structured && !checked {
		var end int
		if dst, _, end, quoted = wire.AppendQuoted(dst, text); quoted {
			value = text[:end]
		}
	}
	if !quoted {
		dst = wire.AppendString(dst, text)
	}
	dst = append(dst, `}]`...)
	if structured {
		end := len(dst)
		dst = append(dst, structuredKey...)
		begin := len(dst)
		dst = append(dst, value...)
		if !checked && !quoted && wire.Valid(dst[begin:]) != nil {
			dst = dst[:end]
		}
	}
	r.JSON = append(dst, '}')
	return r
}

// PartResult returns what Result makes of the part of a JSON value at a path of keys, checked, and
// where the part is. It reads the value once. ok is false where that is not enough: see
// wire.AppendQuoted.
func PartResult(value []byte, path []string, hasOutput bool) (r *toolformat.Result, begin, end int, ok bool) {
	whole := newResult(value, true)
	dst, begin, end, ok := wire.AppendQuoted(whole.JSON, value, path...)
	if !ok {
		free(whole)
		return nil, 0, 0, false
	}
	dst = append(dst, `}]`...)
	if part := value[begin:end]; hasOutput || part[0] == '{' {
		dst = append(append(dst, structuredKey...), part...)
	}
	whole.JSON = append(dst, '}')
	if cap(dst) <= 2*len(dst) {
		return whole, begin, end, true
	}
	part := bytes.Clone(whole.JSON) // small: who keeps it should not keep the room for all
	free(whole)
	return &toolformat.Result{JSON: part}, begin, end, true
}

const structuredKey = `,"structuredContent":`

// leastPooled is the size from which on a result lies in pooled memory, which is little more than it
// holds then. To clear and collect new memory for longer results takes as long as to quote some.
const leastPooled = 64 << 10

// newResult returns the beginning of a result with a text, with room for the rest.
func newResult(text []byte, structured bool) *toolformat.Result {
	size := len(text) + len(text)/4 + 96 // the escapes of most JSON are less than a quarter of it
	if structured {
		size += len(text)
	}
	r := &toolformat.Result{}
	if size < leastPooled {
		r.JSON = make([]byte, 0, size)
	} else {
		b := wire.NewBuffer(size)
		r.JSON, r.Memory = b.B, b
	}
	r.JSON = append(r.JSON, `{"content":[{"type":"text","text":`...)
	return r
}

func free(r *toolformat.Result) {
	if r.Memory != nil {
		r.Memory.Free()
	}
}
