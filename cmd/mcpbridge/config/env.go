package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

const maxEnvFileSize = 1 << 20 // bytes

// envName is what a variable may be called without the "env:" before it.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readText reads a string and fills in its variables.
func readText(d *decoder, n node) (string, bool) {
	raw, ok := readString(d, n)
	if !ok {
		return "", false
	}
	text, ok := d.fill(n, raw)
	if ok && strings.ContainsRune(text, 0) {
		d.wrongf(n, "has a NUL character, which nothing takes")
		return "", false
	}
	return text, ok
}

// readEnvValue is readText that takes a number as its digits, as VS Code does.
func readEnvValue(d *decoder, n node) (string, bool) {
	if n.value.Kind() == '0' {
		return n.value.(hujson.Literal).String(), true
	}
	return readText(d, n)
}

func readCommand(d *decoder, n node) (string, bool) {
	if n.value.Kind() == '[' {
		d.errorf(n, `expected a string, got an array: the first of it is "command", the rest is "args"`)
		return "", false
	}
	text, ok := readText(d, n)
	if ok && text == "" {
		d.wrongf(n, "expected a program to run, got nothing")
		return "", false
	}
	if ok && !isRelative(text) && !strings.HasPrefix(text, "~/") {
		return text, true
	}
	return d.absolute(n, text, ok)
}

// readPath reads a path and makes it absolute.
func readPath(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if ok && text == "" {
		d.wrongf(n, "expected a path, got nothing")
		return "", false
	}
	return d.absolute(n, text, ok)
}

func checkEnvName(name string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return "not the name of an environment variable"
	}
	return ""
}

// fill puts values in the place of ${…}. Any other dollar sign is itself; $${ is a plain ${.
func (d *decoder) fill(n node, s string) (string, bool) {
	var out strings.Builder
	all := true
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			out.WriteString(s)
			return out.String(), all
		}
		before := s[:i]
		out.WriteString(before)
		s = s[i+2:]
		if strings.HasSuffix(before, "$") {
			out.WriteByte('{')
			continue
		}
		expr, rest, closed := strings.Cut(s, "}")
		if !closed {
			d.errorf(n, `"${" without "}" (a plain "${" is written "$${")`)
			return "", false
		}
		value, ok := d.variable(n, expr)
		out.WriteString(value)
		all = all && ok
		s = rest
	}
}

// variable is the value of ${expr}; false: it said why there is none.
func (d *decoder) variable(n node, expr string) (string, bool) {
	switch expr {
	case "userHome":
		return d.home(n)
	case "workspaceFolder":
		return d.dir, true
	case "workspaceFolderBasename":
		return filepath.Base(d.dir), true
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	}
	full, fallback, hasFallback := strings.Cut(expr, ":-")
	name, prefixed := strings.CutPrefix(full, "env:")
	if kind, what, ok := strings.Cut(full, ":"); ok && !prefixed && (kind == "input" || kind == "command" || kind == "config") {
		d.lacks(n, `${%s:%s} is filled in by an editor only; use an environment variable: ${NAME}`, kind, hint.Shorten(what))
		return "", false
	}
	if strings.Contains(expr, "${") || checkEnvName(name) != "" || !prefixed && !envName.MatchString(name) {
		d.errorf(n, `"${" that is no variable: ${NAME}, ${env:NAME} and ${NAME:-default} are (a plain "${" is written "$${")`)
		return "", false
	}
	value, set := d.getenv(name)
	switch {
	case set && (value != "" || !hasFallback):
		return value, true
	case hasFallback:
		return fallback, true
	case name == "HOME":
		return d.home(n)
	}
	name = hint.Shorten(name)
	d.lacks(n, "environment variable %s is not set (set it, or write ${%s:-default})", name, name)
	return "", false
}

// home is the home folder, by the variables that tell it on Unix and on Windows.
func (d *decoder) home(n node) (string, bool) {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir, _ := d.getenv(name); dir != "" {
			return dir, true
		}
	}
	d.lacks(n, "the home folder is not known: environment variable HOME is not set")
	return "", false
}

// absolute makes a path absolute: from the home folder for ~/, else from the config's. It passes a false ok on.
func (d *decoder) absolute(n node, path string, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, ok := d.home(n)
		return filepath.Join(home, path[1:]), ok
	}
	if filepath.IsAbs(path) {
		return path, true
	}
	return filepath.Join(d.dir, path), true
}

// isRelative: a command that is a path from the config's folder and not a name to look up.
func isRelative(command string) bool {
	slashed := filepath.ToSlash(command)
	return strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../")
}

// beneath adds to over what only under has.
func beneath(under, over map[string]string) map[string]string {
	if over == nil {
		return under
	}
	for name, value := range under {
		if _, said := over[name]; !said {
			over[name] = value
		}
	}
	return over
}

// loadEnvFile reads a file of KEY=VALUE lines. Its errors name the file, never a value.
func loadEnvFile(path string) (map[string]string, error) {
	// Asked before opening: a pipe or a device could keep Open or Read waiting.
	if info, err := os.Stat(path); err != nil {
		return nil, plainPathError(path, err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, plainPathError(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEnvFileSize+1))
	if err != nil {
		return nil, plainPathError(path, err)
	}
	if len(data) > maxEnvFileSize {
		return nil, fmt.Errorf("%s: larger than %d MiB", path, maxEnvFileSize>>20)
	}
	vars, line, err := parseEnv(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, line, err)
	}
	return vars, nil
}

// plainPathError says the path once, and not which system call found out.
func plainPathError(path string, err error) error {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// parseEnv reads KEY=VALUE lines: comments and empty lines between, "export " before, quotes around the value.
// The last of a name wins. On an error, line is where.
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

// envValue takes the quotes off: nothing is special in '…', \n \r \t \" \\ \$ are in "…", and without any a " #" begins a comment.
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
				return "", errors.New("something stands behind the closing quote")
			}
			if quote == '\'' {
				return s[1:i], nil
			}
			return escapes.Replace(s[1:i]), nil
		}
	}
	return "", errors.New("the quote is not closed on its line")
}
