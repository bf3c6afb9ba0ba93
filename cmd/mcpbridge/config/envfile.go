package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// EnvFileName is the name of the file beside a config that has the variables which are not in the
// environment.
const EnvFileName = ".env"

const maxEnvFileSize = 1 << 20 // bytes

// loadBeside reads the env file beside the config; there may be none.
func loadBeside(path string) (map[string]string, error) {
	vars, err := loadEnvFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return vars, err
}

// SetVariable returns the text of an env file with a variable set: on the line that sets it, else on
// a new last line.
func SetVariable(text []byte, name, value string) ([]byte, error) {
	vars, line, err := parseEnv(text)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	if old, set := vars[name]; set && old == value {
		return text, nil
	}
	assignment := name + "=" + quoteEnv(value)
	if got, _, err := parseEnv([]byte(assignment)); err != nil || len(got) != 1 || got[name] != value {
		return nil, fmt.Errorf("%s cannot be written into an env file", hint.Quote(name))
	}
	end := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		end = "\r\n"
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- { // the last one counts
		if set, _, err := parseEnv(lines[i]); err == nil && len(set) == 1 {
			if _, is := set[name]; is {
				lines[i] = []byte(assignment + end)
				return bytes.Join(lines, nil), nil
			}
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		assignment = end + assignment
	}
	return append(bytes.Clone(text), assignment+end...), nil
}

// quoteEnv writes a value so that other programs that read env files understand it, too.
func quoteEnv(value string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@%+=,~"
	switch {
	case strings.Trim(value, plain) == "":
		return value
	case !strings.ContainsAny(value, "'\n\r"):
		return "'" + value + "'"
	}
	return `"` + strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, `"`, `\"`, `\`, `\\`, "$", `\$`).Replace(value) + `"`
}

// loadEnvFile reads a file of KEY=VALUE lines. Its errors name the file and no value.
func loadEnvFile(path string) (map[string]string, error) {
	data, err := file.ReadRegular(path, maxEnvFileSize)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	vars, line, err := parseEnv(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, line, err)
	}
	return vars, nil
}

// parseEnv reads KEY=VALUE lines with optional "export " and quotes, comments and empty lines. The
// last value of a name wins. On an error, line is its line.
func parseEnv(data []byte) (vars map[string]string, line int, err error) {
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
		if !ok || checkEnvName(name) != "" || strings.ContainsAny(name, " \t\"'") {
			return nil, line, errors.New("expected KEY=VALUE")
		}
		if vars[name], err = envValue(strings.TrimSpace(value)); err != nil {
			return nil, line, fmt.Errorf("%s: %w", hint.Shorten(name), err)
		}
	}
	return vars, line, nil
}

// envValue removes the quotes. '…' has no escapes, "…" has \n \r \t \" \\ \$, and in an unquoted
// value " #" begins a comment.
func envValue(s string) (string, error) {
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
