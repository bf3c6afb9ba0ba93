package config

import (
	"fmt"
	"path/filepath"
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
	const unknown = `invalid variable: expected ${NAME}, ${env:NAME}, ${NAME:-default}, ${keychain:NAME}, ${file:PATH} or ${command:PROGRAM ARG…} (a plain "${" is written "$${")`
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
	} {
		d := Loader{Getenv: getenvOf(nil)}.newDecoder(FileName, "/", nil)
		_, ok := d.fill(node{}, c.in)
		if got := fmt.Sprint(d.err()); ok || got != "mcpbridge.json:1:1: "+c.want {
			t.Errorf("%s: got %v %s", c.in, ok, got)
		}
	}
}
