package config

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// envName matches the names of variables that need no "env:".
var envName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

// readText reads a string and fills in its variables.
func readText(d *decoder, n node) (string, bool) {
	if n.value.Kind() != '"' {
		d.expected(n, "a string")
		return "", false
	}
	text, ok := d.fill(n, n.value.(hujson.Literal).String())
	if ok && strings.ContainsRune(text, 0) {
		d.wrongf(n, "has a NUL character")
		return "", false
	}
	return text, ok
}

// textIf reads a text that holds, and reports what was wanted of another one.
func (d *decoder) textIf(n node, want string, holds func(text string) bool) (string, bool) {
	text, ok := readText(d, n)
	if ok && !holds(text) {
		d.wrongf(n, "%s", want)
		return "", false
	}
	return text, ok
}

func isNotEmpty(text string) bool { return text != "" }

func readName(d *decoder, n node) (string, bool) {
	return d.textIf(n, "expected a name, got an empty string", isNotEmpty)
}

func readGlob(d *decoder, n node) (string, bool) {
	if text, ok := readName(d, n); !ok {
		return text, false
	}
	return d.textIf(n, `not a pattern: a "[" without "]", or a "\" at the end`, isGlob)
}

func isGlob(text string) bool {
	_, err := path.Match(text, "")
	return err == nil && text != ""
}

// readDistrust reads "trust".
func readDistrust(d *decoder, n node) (untrusted, ok bool) {
	trusted, ok := readBool(d, n)
	return !trusted, ok
}

func readPrefix(d *decoder, n node) (*string, bool) {
	text, ok := readText(d, n)
	return &text, ok
}

// readEnvValue is readText that accepts a number, as VS Code does.
func readEnvValue(d *decoder, n node) (string, bool) {
	if n.value.Kind() == '0' {
		return n.value.(hujson.Literal).String(), true
	}
	d.secret(n, false)
	return readText(d, n)
}

func readCommand(d *decoder, n node) (string, bool) {
	switch n.value.Kind() {
	case '[':
		d.errorf(n, `expected a string, got an array: put its first element in "command" and the rest in "args"`)
		return "", false
	case '{': // as in older settings of Zed
		d.errorf(n, `expected a string, got an object: put its "path" in "command", and its "args" and "env" beside it`)
		return "", false
	}
	text, ok := d.textIf(n, "expected a program to run, got an empty string", isNotEmpty)
	if ok && !isRelative(text) && !strings.HasPrefix(text, "~/") {
		return text, true
	}
	return d.absolute(n, text, ok)
}

// readProgram reads a program and its arguments.
func readProgram(d *decoder, n node) ([]string, bool) {
	read := reader[string](readCommand)
	return someOf(func(d *decoder, n node) (string, bool) {
		word, ok := read(d, n)
		read = readText
		return word, ok
	})(d, n)
}

// readPath reads a path and makes it absolute.
func readPath(d *decoder, n node) (string, bool) {
	text, ok := d.textIf(n, "expected a path, got an empty string", isNotEmpty)
	return d.absolute(n, text, ok)
}

// readCwd reads the working folder of a server, which starts from the workspace if it is relative.
func readCwd(d *decoder, n node) (string, bool) {
	text, ok := d.textIf(n, "expected a path, got an empty string", isNotEmpty)
	if ok && !filepath.IsAbs(text) && text != "~" && !strings.HasPrefix(text, "~/") {
		return filepath.Join(d.workspace(), text), true
	}
	return d.absolute(n, text, ok)
}

func checkEnvName(name string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return "not the name of an environment variable"
	}
	return ""
}

// reference matches ${…}, which may lack its end, $${, and opencode's {env:…}.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\$\{|\$\{[^}]*\}?|\{env:[^}]*\}`)
})

// fill replaces ${…} with values, in a server also {env:…}. Any other dollar sign stands for
// itself, and $${ for ${.
func (d *decoder) fill(n node, s string) (string, bool) {
	all := true
	s = reference().ReplaceAllStringFunc(s, func(ref string) string {
		expr, closed := strings.CutSuffix(ref, "}")
		value, ok := "${", ref == "$${"
		switch {
		case ref[0] == '{' && !d.inServer():
			value, ok = ref, true
		case ref[0] == '{':
			value, ok = d.variable(n, expr[len("{"):])
		case closed:
			value, ok = d.variable(n, expr[len("${"):])
		case !ok:
			d.errorf(n, `"${" without "}" (a plain "${" is written "$${")`)
		}
		all = all && ok
		return value
	})
	return s, all
}

// bareReference matches $NAME, and $$, in which no variable begins.
var bareReference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\$|\$[A-Za-z_][A-Za-z0-9_]*`)
})

// withBare returns a reader that fills in $NAME, too, as Gemini CLI does where secrets are: in
// "env" and "headers". Elsewhere it may be meant for a shell.
func withBare(read reader[string]) reader[string] {
	return func(d *decoder, n node) (string, bool) {
		if n.value.Kind() != '"' || !d.inServer() {
			return read(d, n)
		}
		text := n.value.(hujson.Literal).String()
		filled := bareReference().ReplaceAllStringFunc(text, func(ref string) string {
			name := ref[1:]
			if name == "$" {
				return ref
			}
			if _, set := d.getenv(name); set {
				return "${" + name + "}"
			}
			// The name may be a part of a secret.
			d.warnf(n, `"$" and a name is left as it is, as no such variable is set (write ${NAME} to make that an error)`)
			return ref
		})
		if filled != text {
			n.value = hujson.String(filled)
		}
		return read(d, n)
	}
}

// variable returns the value of ${expr}, or reports why it has none.
func (d *decoder) variable(n node, expr string) (string, bool) {
	switch expr {
	case "userHome":
		return d.home(n)
	case "workspaceFolder":
		return d.workspace(), true
	case "workspaceFolderBasename":
		return filepath.Base(d.workspace()), true
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	}
	full, fallback, hasFallback := strings.Cut(expr, ":-")
	name, prefixed := strings.CutPrefix(full, "env:")
	if kind, what, is := isReference(expr); is {
		return d.refer(n, kind, what)
	}
	if kind, what, ok := strings.Cut(full, ":"); ok && !prefixed && (kind == "input" || kind == "config") {
		d.lacks(n, `${%s:%s} is a variable of editors only: use an environment variable, ${NAME}`, kind, hint.Shorten(what))
		return "", false
	}
	if strings.Contains(expr, "${") || checkEnvName(name) != "" || !prefixed && !envName().MatchString(name) {
		d.errorf(n, `invalid variable: expected ${NAME}, ${env:NAME}, ${NAME:-default}, ${keychain:NAME}, ${file:PATH} or ${command:PROGRAM ARG…} (a plain "${" is written "$${")`)
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
	if _, err := d.beside(); err != nil {
		d.lacks(n, "environment variable %s is not set, and %v", name, err)
	} else {
		d.lacks(n, "environment variable %s is not set (set it, or put it into %s beside this file, or write ${%s:-default})", name, envfile.Name, name)
	}
	return "", false
}

// home returns the home folder, from the variables of Unix and Windows.
func (d *decoder) home(n node) (string, bool) {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir, _ := d.getenv(name); dir != "" {
			return dir, true
		}
	}
	d.lacks(n, "home folder unknown: environment variable HOME is not set")
	return "", false
}

// absolute makes a path absolute, from the home folder for ~/ or the config's. It passes on !ok.
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

// isRelative reports whether a command is a path relative to the config, not a name to look up.
func isRelative(command string) bool {
	slashed := filepath.ToSlash(command)
	return strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../")
}

// loadBeside reads the env file beside the config; there may be none.
func loadBeside(path string) (map[string]string, error) {
	vars, err := envfile.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return vars, err
}
