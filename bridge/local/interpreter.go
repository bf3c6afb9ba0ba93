package local

import (
	"path/filepath"
	"strings"
)

// isCode reports whether an element of a command is, or may be, program text for an interpreter. It
// knows the interpreters in common use, also after a wrapper such as env; for others the author of
// the definition is responsible.
func isCode(command []string, at int) bool {
	for i := range at {
		if i > 0 && !isWrapper(command[0]) {
			break
		}
		flags, shell := interpreterFlags(command[i])
		if flags == "" {
			continue
		}
		if flags == "*" {
			return true
		}
		for j := i + 1; j <= at; j++ {
			if j+1 >= at && carriesCode(command[j], flags, shell) { // -c{x} or -c {x}
				return true
			}
		}
	}
	return false
}

// nameOf returns a program's name without folder and version: python for /usr/bin/python3.12.
func nameOf(program string) string {
	name := strings.ToLower(filepath.Base(strings.ReplaceAll(program, `\`, "/")))
	return strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.")
}

// isWrapper reports whether a program runs another one that its arguments name.
func isWrapper(program string) bool {
	switch nameOf(program) {
	case "busybox", "env", "sudo", "doas", "nice", "ionice", "nohup", "setsid", "stdbuf", "time", "timeout", "xargs", "unshare", "bwrap", "firejail", "prlimit", "docker", "podman":
		return true
	}
	return false
}

// interpreterFlags returns the letters of the options that make a program run text, or "*" if it
// runs all following elements as text. shell means that letters may be combined, as in -ec.
func interpreterFlags(program string) (flags string, shell bool) {
	switch nameOf(program) {
	case "cmd", "powershell", "pwsh", "eval", "ssh":
		return "*", false
	case "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "su":
		return "c", true
	case "python", "pypy":
		return "c", true
	case "perl", "ruby":
		return "eE", true
	case "node", "bun", "deno", "lua", "luajit", "osascript", "rscript":
		return "ep", false
	case "php":
		return "r", false
	}
	return "", false
}

// carriesCode reports whether an option is one of flags, alone, combined with others or followed by
// the text, or a long form of one.
func carriesCode(option, flags string, together bool) bool {
	switch {
	case strings.HasPrefix(option, "--"):
		name, _, _ := strings.Cut(option[2:], "=")
		return name == "eval" || name == "print" || name == "command" || name == "run"
	case len(option) < 2 || option[0] != '-':
		return false
	case together:
		text, _, _ := strings.Cut(option[1:], "{")
		return strings.ContainsAny(text, flags)
	}
	return strings.ContainsAny(option[1:2], flags)
}
