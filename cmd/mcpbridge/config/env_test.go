package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	env := getenvOf(map[string]string{
		"A": "one", "EMPTY": "", "DOLLAR": "$", "NESTED": "${A}", "ProgramFiles(x86)": "C:/x", "HOME": "/home/me",
	})
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain $A $ $$ ~", "plain $A $ $$ ~"},
		{"${A}", "one"},
		{"${env:A}-${A}", "one-one"},
		{"${B:-two}${env:B:-three}", "twothree"},
		{"${A:-two}", "one"},
		{"${EMPTY}", ""},
		{"${EMPTY:-x}", "x"},
		{"${B:-}", ""},
		{"${B:-a:-b}", "a:-b"},
		{"$${A}", "${A}"},
		{"$$${A}", "$${A}"},
		{"${DOLLAR}${A}", "$one"},
		{"${NESTED}", "${A}"},
		{"${env:ProgramFiles(x86)}", "C:/x"},
		{"${HOME} ${userHome}", "/home/me /home/me"},
		{"${workspaceFolder}", filepath.FromSlash("/conf")},
		{"${workspaceFolderBasename}", "conf"},
		{"a${pathSeparator}b${/}c", "a" + string(filepath.Separator) + "b" + string(filepath.Separator) + "c"},
	} {
		d := Loader{Getenv: env}.newDecoder(FileName, filepath.FromSlash("/conf"), nil)
		if got, ok := d.fill(node{}, c.in); got != c.want || !ok {
			t.Errorf("%s: got %q %v %v, want %q", c.in, got, ok, d.err(), c.want)
		}
	}
}

func TestFillMistakes(t *testing.T) {
	const unknown = `invalid variable: expected ${NAME}, ${env:NAME} or ${NAME:-default} (a plain "${" is written "$${")`
	for _, c := range []struct{ in, want string }{
		{"${A", `"${" without "}" (a plain "${" is written "$${")`},
		{"${}", unknown},
		{"${env:}", unknown},
		{"${a b}", unknown},
		{"${A:b}", unknown},
		{"${A-b}", unknown},
		{"${A:-${B}}", unknown},
		{"${B}", "environment variable B is not set (set it, or put it into .env beside this file, or write ${B:-default})"},
		{"${env:B}", "environment variable B is not set (set it, or put it into .env beside this file, or write ${B:-default})"},
		{"${HOME}", "home folder unknown: environment variable HOME is not set"},
		{"${userHome}", "home folder unknown: environment variable HOME is not set"},
		{"${input:key}", "${input:key} is a variable of editors only: use an environment variable, ${NAME}"},
		{"${command:a.b}", "${command:a.b} is a variable of editors only: use an environment variable, ${NAME}"},
	} {
		d := Loader{Getenv: getenvOf(nil)}.newDecoder(FileName, "/", nil)
		_, ok := d.fill(node{}, c.in)
		if got := fmt.Sprint(d.err()); ok || got != "mcpbridge.json:1:1: "+c.want {
			t.Errorf("%s: got %v %s", c.in, ok, got)
		}
	}
}

func TestParseEnv(t *testing.T) {
	const file = "\ufeff# comment\r\n" + `
A=1
export B = two words  # why
	export	C="a \"b\" \\ \n$" # why
D='as\nit is # here'
E=
F=#nothing
G=a#b=c
exported=yes
H.x-y="é"
A=last
`
	want := map[string]string{
		"A": "last", "B": "two words", "C": "a \"b\" \\ \n$", "D": `as\nit is # here`, "E": "", "F": "", "G": "a#b=c",
		"exported": "yes", "H.x-y": "é",
	}
	if got, _, err := parseEnv([]byte(file)); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	for in, want := range map[string]string{
		"A=1\nsecret":       "2: expected KEY=VALUE",
		"=secret":           "1: expected KEY=VALUE",
		"A secret=1":        "1: expected KEY=VALUE",
		"A=\"secret":        "1: A: the quote is not closed on its line",
		`A="secret\"`:       "1: A: the quote is not closed on its line",
		"A='secret":         "1: A: the quote is not closed on its line",
		"A='x' secret":      "1: A: unexpected text after the closing quote",
		"\nA=secret\x00\nB": "2: A: has a NUL character",
	} {
		_, line, err := parseEnv([]byte(in))
		if got := fmt.Sprintf("%d: %v", line, err); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestLoadEnvFile(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.env")
	if err := os.WriteFile(big, make([]byte, maxEnvFileSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                          ": not a regular file",
		big:                          ": larger than 1 MiB",
		filepath.Join(dir, "absent"): "",
	} {
		_, err := loadEnvFile(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: %v", path, err)
		}
	}
}
