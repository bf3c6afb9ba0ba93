package member

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Decode decodes valid JSON into v. The error begins with the path of the member that is wrong, and is without the names
// of Go's types.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	path := placeAt(data, wrong.Offset)
	if number, ok := strings.CutPrefix(wrong.Value, "number "); ok {
		return In(path, fmt.Errorf("the number %.40s is out of range", number))
	}
	return In(path, fmt.Errorf("expected %s, got %s", kindOf(wrong.Type), articles[wrong.Value]))
}

// articles are the words of encoding/json for the kinds of values, with their articles.
var articles = map[string]string{"bool": "a boolean", "number": "a number", "string": "a string", "array": "an array", "object": "an object"}

// kindOf returns the kind of the values that are decoded into a type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return articles["bool"]
	case reflect.String:
		return articles["string"]
	case reflect.Slice:
		return articles["array"]
	case reflect.Struct, reflect.Map:
		return articles["object"]
	}
	return articles["number"]
}

// placeAt returns the path of the value in JSON that ends at an offset, or of the object or the array that begins there,
// such as messages[1].role.
func placeAt(data []byte, offset int64) string {
	type level struct {
		isArray bool
		index   int
		key     *string // of the member whose value is next; nil if the key is
	}
	var open []level
	next := func() { // behind a value
		if n := len(open); n > 0 {
			open[n-1].index++
			open[n-1].key = nil
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // one that is out of range is a token, too
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		n := len(open)
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:n-1]
			next()
			continue
		}
		if key, isText := token.(string); isText && n > 0 && !open[n-1].isArray && open[n-1].key == nil {
			open[n-1].key = &key
			continue
		}
		if dec.InputOffset() >= offset {
			break
		}
		if delim, begins := token.(json.Delim); begins {
			open = append(open, level{isArray: delim == '['})
		} else {
			next()
		}
	}
	path := ""
	for _, l := range open {
		if l.isArray {
			path += fmt.Sprintf("[%d]", l.index)
		} else {
			path += "." + *l.key
		}
	}
	return strings.TrimPrefix(path, ".")
}

// Elements calls f with each element of an array, which is the member of a name. The error begins with the path of the
// element; if the value is not an array, it says what was expected.
func Elements(name, expected string, array []byte, f func(at int, element []byte) error) error {
	if len(array) == 0 || array[0] != '[' {
		return fmt.Errorf("%s: expected %s", name, expected)
	}
	at := 0
	for element := range wire.Elements(array) {
		if err := f(at, element); err != nil {
			return In(fmt.Sprintf("%s[%d]", name, at), err)
		}
		at++
	}
	return nil
}

// In returns the error about a member of what is at a path, or about all of it.
func In(path string, err error) error {
	switch member := PathOf(err.Error()); {
	case path == "":
		return err
	case member == "":
		return fmt.Errorf("%s: %w", path, err)
	case member[0] == '[':
		return fmt.Errorf("%s%w", path, err)
	}
	return fmt.Errorf("%s.%w", path, err)
}

// PathOf returns the path that the message of an error begins with, if any.
func PathOf(message string) string {
	if param, _, ok := strings.Cut(message, ": "); ok && !strings.Contains(param, " ") {
		return param
	}
	return ""
}
