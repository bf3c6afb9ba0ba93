package graphql

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxDigits bounds an integer that is written with an exponent.
const maxDigits = 40

// appendVariables appends the object of the variables that the operation declares. No
// error shows a value: it may be one that the model must not see.
func (t *tool) appendVariables(dst []byte, arguments json.RawMessage) ([]byte, error) {
	values := map[string]json.RawMessage{}
	for name, value := range wire.Members(arguments) {
		values[name] = value // of duplicates the last, as decoders do
	}
	begin := len(dst)
	for _, v := range t.op.variables {
		value, ok := values[v.name]
		if ok && v.typ.nonNull && isNull(value) { // no value of its own: as if it were not there
			ok = false
		}
		if !ok && v.required() {
			return nil, fmt.Errorf("missing argument: %s, which is the query's $%s: %s", v.name, v.name, &v.typ)
		}
		if !ok {
			continue
		}
		dst = append(wire.AppendString(append(dst, ','), v.name), ':')
		var err error
		if dst, err = v.typ.appendValue(dst, value); err != nil {
			return nil, fmt.Errorf("argument %s: %w", v.name, err)
		}
	}
	if len(dst) == begin {
		return append(dst, "{}"...), nil
	}
	dst[begin] = '{'
	return append(dst, '}'), nil
}

// appendValue appends a value as the type wants it (GraphQL, September 2025, 3.5 and
// 3.11). What is no list or built-in scalar stays as it came.
func (t *typeRef) appendValue(dst []byte, value json.RawMessage) ([]byte, error) {
	if isNull(value) {
		if t.nonNull {
			return nil, fmt.Errorf("expected %s, got null", t)
		}
		return append(dst, value...), nil
	}
	if t.item == nil {
		scalar, ok := t.scalar(value)
		if !ok {
			return nil, fmt.Errorf("expected %s, got %s", t, kindOf(value))
		}
		return append(dst, scalar...), nil
	}
	if value[0] != '[' { // one value is a list of it
		dst, err := t.item.appendValue(append(dst, '['), value)
		return append(dst, ']'), err
	}
	n := 0
	dst = append(dst, '[')
	for item := range wire.Elements(value) {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = t.item.appendValue(dst, item); err != nil {
			return nil, fmt.Errorf("item %d: %w", n, err)
		}
	}
	return append(dst, ']'), nil
}

// scalar is a value as one of a named type; false when it cannot be one.
func (t *typeRef) scalar(value json.RawMessage) (json.RawMessage, bool) {
	text, isText := wire.Text(value)
	if !isText {
		text = string(value)
	}
	switch t.name {
	case "Int":
		whole, ok := integer(text)
		return json.RawMessage(whole), ok && (!isText || whole == text)
	case "Float":
		return json.RawMessage(text), isNumber(text)
	case "Boolean":
		return json.RawMessage(text), text == "true" || text == "false"
	case "ID":
		if whole, ok := integer(text); ok && !isText {
			text = whole
		}
		return wire.AppendString(nil, text), isText || isNumber(text)
	case "String":
		return wire.AppendString(nil, text), isText || isNumber(text) || text == "true" || text == "false"
	}
	return value, true
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }

// isNumber reports whether a text is a JSON number.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || isDigit(s[0])) && isDigit(s[len(s)-1]) && wire.Valid([]byte(s)) == nil
}

// integer is a JSON number without a fraction and an exponent, with each of its digits;
// false when it is no integer.
func integer(s string) (string, bool) {
	if !isNumber(s) {
		return "", false
	}
	if !strings.ContainsAny(s, ".eE") {
		return s, true
	}
	digits, isNegative := strings.CutPrefix(s, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.Atoi(digits[i+1:])
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return "", false
		}
		exponent, digits = min(max(n, -len(s)), maxDigits+len(s)), digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	if digits == "" {
		return "0", true
	}
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if exponent < 0 || len(trimmed)+exponent > max(maxDigits, len(whole)) {
		return "", false
	}
	digits = trimmed + strings.Repeat("0", exponent)
	if isNegative {
		digits = "-" + digits
	}
	return digits, true
}

// kindOf names the kind of a value, which is not shown.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}
