package local

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// maxElement bounds an element of a command, in bytes: MAX_ARG_STRLEN of Linux, 32 pages with the
// NUL at the end.
const maxElement = 128<<10 - 1

// A template is an element of a command.
type template []part

// A part is a placeholder if it has a name, else literal text.
type part struct{ text, name string }

// placeholder matches {{name}}, with {name} as its first group, or {name}, with name as its second.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{(\{[A-Za-z_][\w.-]*\})\}|\{([A-Za-z_][\w.-]*)\}`)
})

// parseTemplate parses an element. It never fails: a brace that does not begin a placeholder is
// text, as in awk's '{print $1}'.
func parseTemplate(s string) (t template) {
	text, end := "", 0
	for _, m := range placeholder().FindAllStringSubmatchIndex(s, -1) {
		text, end = text+s[end:m[0]], m[1]
		if m[2] >= 0 {
			text += s[m[2]:m[3]]
			continue
		}
		if text != "" {
			t = append(t, part{text: text})
		}
		t, text = append(t, part{name: s[m[4]:m[5]]}), ""
	}
	if text += s[end:]; text != "" || t == nil {
		t = append(t, part{text: text})
	}
	return t
}

// isFixed reports whether the element has no placeholder.
func (t template) isFixed() bool { return len(t) == 1 && t[0].name == "" }

// expand returns the element with arguments in the place of placeholders. ok is false if the
// element is omitted. An error is for the model.
func (t template) expand(arguments map[string][]byte, afterDashes bool) (element string, ok bool, err error) {
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
		text := native.Text(raw)
		switch {
		case strings.Contains(text, "\x00"):
			return "", false, fmt.Errorf("argument %s: an element of a command cannot contain a NUL", p.name)
		case b.Len()+len(text) > maxElement:
			return "", false, fmt.Errorf("argument %s: expected at most %d bytes in an element of the command, got %d", p.name, maxElement, b.Len()+len(text))
		}
		b.WriteString(text)
	}
	element = b.String()
	if positional && !afterDashes && isOption(runtime.GOOS, element) {
		return "", false, fmt.Errorf("argument %s: it begins with %q and would be read as an option: expected another value", t[0].name, element[:1])
	}
	return element, true, nil
}

// isOption reports whether a program may read an element as an option.
func isOption(goos, element string) bool {
	return strings.HasPrefix(element, "-") || goos == "windows" && strings.HasPrefix(element, "/")
}
