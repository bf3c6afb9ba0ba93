// Package envfile reads and changes files of KEY=VALUE lines, the env files of a config.
package envfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// Name is the name of the file beside a config that has the variables which are not in the
// environment.
const Name = ".env"

const maxSize = 1 << 20 // bytes

// Set returns the text of an env file with a variable set: on the line that sets it, else on
// a new last line.
func Set(text []byte, name, value string) ([]byte, error) {
	vars, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if old, set := vars[name]; set && old == value {
		return text, nil
	}
	assignment := name + "=" + quoted(value)
	got, _, err := parse([]byte(assignment))
	if written, is := got[name]; err != nil || !is || written != value || len(got) != 1 {
		return nil, fmt.Errorf("%s cannot be written into an env file", hint.Quote(name))
	}
	end := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		end = "\r\n"
	}
	if len(text)+len(assignment) > maxSize-len("\r\n\r\n") {
		return nil, fmt.Errorf("%s would make it larger than %d MiB", hint.Quote(name), maxSize>>20)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- { // the last one counts
		if set, _, err := parse(lines[i]); err == nil && len(set) == 1 {
			if _, is := set[name]; is {
				before, comment := around(lines[i], name, set[name])
				lines[i] = []byte(before + assignment + comment + end)
				return bytes.Join(lines, nil), nil
			}
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		assignment = end + assignment
	}
	return append(bytes.Clone(text), assignment+end...), nil
}

// around returns what stands on a line before the variable that it sets, such as "export ", and the comment behind its
// value, with the white space before that.
func around(line []byte, name, value string) (before, comment string) {
	before, text, _ := strings.Cut(string(line), "=")
	before = strings.TrimSuffix(strings.TrimRight(before, " \t"), name)
	text = strings.TrimSpace(text)
	for i := range text {
		if text[i] != '#' {
			continue
		}
		if got, err := unquote(strings.TrimSpace(text[:i])); err != nil || got != value {
			continue
		}
		comment = text[len(strings.TrimRight(text[:i], " \t")):]
		if comment[0] == '#' {
			comment = " " + comment
		}
		return before, comment
	}
	return before, ""
}

// quoted writes a value so that other programs that read env files understand it, too.
func quoted(value string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@%+=,~"
	switch {
	case strings.Trim(value, plain) == "":
		return value
	case !strings.ContainsAny(value, "'\n\r"):
		return "'" + value + "'"
	}
	return `"` + strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, `"`, `\"`, `\`, `\\`, "$", `\$`).Replace(value) + `"`
}

// Load returns the variables of a file. Its errors name the file and no value.
func Load(path string) (map[string]string, error) {
	data, err := file.ReadRegular(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	vars, line, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, line, err)
	}
	return vars, nil
}

// Parse returns the variables of an env file. The error names the line, and no value.
func Parse(text []byte) (map[string]string, error) {
	vars, line, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return vars, nil
}

// parse reads KEY=VALUE lines with optional "export " and quotes, comments and empty lines. The
// last value of a name wins. On an error, line is its line.
func parse(data []byte) (vars map[string]string, line int, err error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) { // > of PowerShell writes UTF-16
		return nil, 1, errors.New("not UTF-8: save the file as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	vars = map[string]string{}
	for text := range strings.Lines(string(data)) {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(text, "export"); ok && strings.TrimLeft(rest, " \t") != rest {
			text = strings.TrimLeft(rest, " \t")
		}
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !ok || !isName(name) || strings.ContainsAny(name, " \t\"'") {
			return nil, line, errors.New("expected KEY=VALUE")
		}
		if vars[name], err = unquote(strings.TrimSpace(value)); err != nil {
			return nil, line, fmt.Errorf("%s: %w", hint.Shorten(name), err)
		}
	}
	return vars, line, nil
}

// unquote removes the quotes. '…' has no escapes, "…" has \n \r \t \" \\ \$, and in an unquoted
// value " #" begins a comment.
func unquote(s string) (string, error) {
	if strings.ContainsRune(s, 0) {
		return "", errors.New("has a NUL character")
	}
	if s == "" || s[0] != '"' && s[0] != '\'' {
		if s != "" && s[0] == '#' {
			return "", nil
		}
		for _, mark := range []string{" #", "\t#"} {
			s, _, _ = strings.Cut(s, mark)
		}
		return strings.TrimSpace(s), nil
	}
	quote, escapes := s[0], strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, "$")
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] == quote:
			if rest := strings.TrimSpace(s[i+1:]); rest != "" && rest[0] != '#' {
				return "", errors.New("unexpected text after the closing quote")
			}
			if quote == '\'' {
				return s[1:i], nil
			}
			return escapes.Replace(s[1:i]), nil
		}
	}
	return "", errors.New("the quote is not closed on its line")
}

// isName reports whether an environment variable can have the name.
func isName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }
