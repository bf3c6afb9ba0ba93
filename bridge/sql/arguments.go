package sql

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// jsonText is an argument that SQL has no type for: an array or an object, as JSON.
type jsonText string

// maxList bounds the values of a list, maxValues those of a call: SQLite takes no more
// (SQLITE_MAX_VARIABLE_NUMBER).
const (
	maxList   = 10_000
	maxValues = 32_766
)

// bind makes the text and the values of a call. A parameter without an argument is NULL.
func (s *statement) bind(arguments json.RawMessage) (text string, values []any, err error) {
	raw := make([][]byte, len(s.names))
	for key, value := range wire.Members(arguments) {
		for i, name := range s.names {
			if name == key {
				raw[i] = value
			}
		}
	}
	sizes := make([]int, len(s.parts))
	bound := make([]bool, len(s.names)) // to a number that several places share
	values = make([]any, 0, len(s.parts))
	expanded := false
	for i, it := range s.parts {
		before := len(values)
		switch shares := s.dialect == postgresDialect && !it.list && !it.alone; {
		case it.param < 0, shares && bound[it.param]:
		case it.list && len(raw[it.param]) > 0 && raw[it.param][0] == '[':
			if values, err = s.appendList(values, it, raw[it.param]); err != nil {
				return "", nil, err
			}
			expanded = true
		default:
			values = append(values, s.value(raw[it.param]))
			bound[it.param] = bound[it.param] || shares
		}
		sizes[i] = len(values) - before
	}
	switch {
	case !expanded:
		return s.plain, values, nil
	case len(values) > maxValues:
		return "", nil, fmt.Errorf("expected at most %d values in all lists, got %d with those that fill them up", maxValues, len(values))
	}
	return s.render(func(part int) int { return sizes[part] }), values, nil
}

// appendList appends the values of an array. The last is repeated until they are a power
// of two, so that the database sees few different texts, and can keep their plans.
func (s *statement) appendList(values []any, it part, raw []byte) ([]any, error) {
	begin := len(values)
	for value := range wire.Elements(raw) {
		if len(values)-begin == maxList {
			return nil, fmt.Errorf("%s: expected a list of at most %d values", s.names[it.param], maxList)
		}
		values = append(values, s.value(value))
	}
	for n := len(values) - begin; n&(n-1) != 0; n++ {
		values = append(values, values[len(values)-1])
	}
	return values, nil
}

// value is an argument as the driver takes it: nil, bool, string, int64, float64 or
// jsonText. What is not exact in these is text, which the database converts itself.
func (s *statement) value(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case 'n':
		return nil
	case 't', 'f':
		return raw[0] == 't'
	case '"':
		text, _ := wire.Text(raw)
		return text
	case '[', '{':
		return jsonText(raw)
	}
	return s.number(string(raw))
}

const (
	floatDigits = 15      // a decimal number of no more digits is the same when it has been a float64
	maxDigits   = 40      // a whole number of no more digits is written without exponent
	maxExponent = 1 << 20 // where exponents are cut off, so that they can be counted with
)

// number is a JSON number as the driver takes it. PostgreSQL gets text, which it reads
// as the type that the parameter has.
func (s *statement) number(raw string) any {
	digits, exponent := decimal(raw)
	if exponent >= 0 && len(digits)+exponent <= maxDigits {
		whole := digits + strings.Repeat("0", exponent)
		if raw[0] == '-' && whole != "0" {
			whole = "-" + whole
		}
		if i, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return i
		}
		return whole
	}
	if f, err := strconv.ParseFloat(raw, 64); err == nil && f != 0 && s.dialect != postgresDialect && len(digits) <= floatDigits {
		return f
	}
	return raw
}

// decimal is the absolute value of a JSON number: digits × 10^exponent, without zeros at
// either end.
func decimal(raw string) (digits string, exponent int) {
	mantissa, power, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(raw, "-")), "e")
	exponent, _ = strconv.Atoi(power) // none is 0; one that is too big is the biggest
	exponent = max(-maxExponent, min(exponent, maxExponent))
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0", 0
	}
	return trimmed, exponent - len(fraction) + len(digits) - len(trimmed)
}
