package sql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// jsonText is an array or an object as JSON, since SQL has no type for it.
type jsonText string

// maxList bounds the values of a list. maxValues bounds those of a call: it is SQLite's limit
// (SQLITE_MAX_VARIABLE_NUMBER).
const (
	maxList   = 10_000
	maxValues = 32_766
)

// bind returns the text and the values of a call. A parameter without an argument is NULL.
func (s *statement) bind(arguments json.RawMessage) (text string, values []any, err error) {
	raw := make([][]byte, len(s.names))
	for key, value := range wire.Members(arguments) {
		if i := slices.Index(s.names, key); i >= 0 {
			raw[i] = value
		}
	}
	sizes := make([]int, len(s.parts))
	bound := make([]bool, len(s.names)) // has a number that several places share
	values = make([]any, 0, len(s.parts))
	expanded := false
	for i, p := range s.parts {
		before := len(values)
		switch shares := s.dialect == postgresDialect && !p.list && !p.alone; {
		case p.param < 0, shares && bound[p.param]:
		case p.list && len(raw[p.param]) > 0 && raw[p.param][0] == '[':
			if values, err = s.appendList(values, p, raw[p.param]); err != nil {
				return "", nil, err
			}
			expanded = true
		default:
			values = append(values, s.value(raw[p.param]))
			bound[p.param] = bound[p.param] || shares
		}
		sizes[i] = len(values) - before
	}
	switch {
	case !expanded:
		return s.plain, values, nil
	case len(values) > maxValues:
		return "", nil, fmt.Errorf("expected at most %d values in all lists, got %d after padding", maxValues, len(values))
	}
	return s.render(func(part int) int { return sizes[part] }), values, nil
}

// appendList appends the values of an array. The last one is repeated up to a power of two, so that
// the database sees few different texts and can cache their plans.
func (s *statement) appendList(values []any, p part, raw []byte) ([]any, error) {
	begin := len(values)
	for value := range wire.Elements(raw) {
		if len(values)-begin == maxList {
			return nil, fmt.Errorf("%s: expected a list of at most %d values", s.names[p.param], maxList)
		}
		values = append(values, s.value(value))
	}
	for n := len(values) - begin; n&(n-1) != 0; n++ {
		values = append(values, values[len(values)-1])
	}
	return values, nil
}

// value returns an argument as the driver takes it: nil, bool, string, int64, float64 or jsonText.
// A number that these cannot hold exactly is text, which the database converts; SQLite would not.
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
	floatDigits = 15 // digits of a decimal number that survive a float64
	maxDigits   = 40 // digits of a whole number that is written without exponent
)

// number returns a JSON number as the driver takes it. PostgreSQL gets text, which it reads as the
// type of the parameter. SQLite gets what it reads a number of its own as: any beyond 64 bits is
// floating-point, as text equals no number.
func (s *statement) number(raw string) any {
	if whole, ok := native.Integer(raw, maxDigits); ok {
		if i, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return i
		}
		if s.dialect != sqliteDialect {
			return whole
		}
	}
	if s.dialect == sqliteDialect {
		f, _ := strconv.ParseFloat(raw, 64) // out of range: infinite, or 0
		return f
	}
	digits, _ := native.Decimal(raw)
	if f, err := strconv.ParseFloat(raw, 64); err == nil && f != 0 && s.dialect == mysqlDialect && len(digits) <= floatDigits {
		return f
	}
	return raw
}
