package local

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxElement is how long an element of a command may be: Linux takes no longer one
// (MAX_ARG_STRLEN, 32 pages with the NUL at the end).
const maxElement = 128<<10 - 1 // bytes

// A template is an element of a command.
type template []part

// A part is text as it stands or, with a name, the place of an argument.
type part struct{ text, name string }

// parseTemplate never fails: a brace that begins no placeholder is text, as in awk's
// '{print $1}'.
func parseTemplate(s string) (t template) {
	var text strings.Builder
	for len(s) > 0 {
		switch name := placeholder(s); {
		case name != "":
			if text.Len() > 0 {
				t = append(t, part{text: text.String()})
				text.Reset()
			}
			t = append(t, part{name: name})
			s = s[len(name)+2:]
		case s[0] == '{' && placeholder(s[1:]) != "" && strings.HasPrefix(s[len(placeholder(s[1:]))+3:], "}"):
			n := len(placeholder(s[1:])) + 2
			text.WriteString(s[1 : n+1])
			s = s[n+2:]
		default:
			text.WriteByte(s[0])
			s = s[1:]
		}
	}
	if text.Len() > 0 || t == nil {
		t = append(t, part{text: text.String()})
	}
	return t
}

// placeholder is the name in the placeholder that s begins with; "" when it does not.
func placeholder(s string) string {
	if s == "" || s[0] != '{' {
		return ""
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '}':
			return s[1:i]
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 1 && (c == '-' || c == '.' || c >= '0' && c <= '9'):
		default:
			return ""
		}
	}
	return ""
}

// isFixed reports whether no argument changes the element.
func (t template) isFixed() bool { return len(t) == 1 && t[0].name == "" }

// expand is the element with the arguments in their places. ok is false for one that is
// left out. An error is for the model.
func (t template) expand(arguments map[string]json.RawMessage, behindDashes bool) (element string, ok bool, err error) {
	var b strings.Builder
	positional := t[0].name != ""
	for _, p := range t {
		b.WriteString(p.text)
		if p.name == "" {
			continue
		}
		raw := arguments[p.name]
		switch {
		case raw != nil && string(raw) != "null":
		case positional:
			return "", false, fmt.Errorf("missing argument: %s", p.name)
		default:
			return "", false, nil
		}
		text, err := textOf(raw)
		switch {
		case err != nil:
			return "", false, fmt.Errorf("argument %s: %w", p.name, err)
		case strings.Contains(text, "\x00"):
			return "", false, fmt.Errorf("argument %s: it has a NUL in it, which no command can take", p.name)
		case b.Len()+len(text) > maxElement:
			return "", false, fmt.Errorf("argument %s: an element of a command is at most %d bytes long, with this it would be %d", p.name, maxElement, b.Len()+len(text))
		}
		b.WriteString(text)
	}
	element = b.String()
	if positional && !behindDashes && isOption(runtime.GOOS, element) {
		return "", false, fmt.Errorf("argument %s: it begins with %q and would be read as an option: expected another value", t[0].name, element[:1])
	}
	return element, true, nil
}

// isOption reports whether a program may take an element for an option.
func isOption(goos, element string) bool {
	return strings.HasPrefix(element, "-") || goos == "windows" && strings.HasPrefix(element, "/")
}

// textOf is an argument as text: a string's own, else its JSON.
func textOf(raw json.RawMessage) (string, error) {
	if raw[0] != '"' {
		return string(raw), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// argumentsOf are the arguments by name; of two with one name the last one counts.
func argumentsOf(raw json.RawMessage) map[string]json.RawMessage {
	arguments := map[string]json.RawMessage{}
	for name, value := range wire.Members(raw) {
		arguments[name] = value
	}
	return arguments
}
