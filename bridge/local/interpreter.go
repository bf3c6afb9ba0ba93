package local

import (
	"path/filepath"
	"strings"
)

// isCode reports whether an element of a command is, or may be, the text of a program
// that its interpreter runs. It knows those that are in common use, also behind env.
// What it does not know the one who writes the definition has to.
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
			switch isFlag := carriesCode(command[j], flags, shell); {
			case isFlag && j == at: // -c{x}
				return true
			case isFlag && j+1 == at: // -c {x}
				return true
			}
		}
	}
	return false
}

// nameOf is a program's name less its folder and version: python of /usr/bin/python3.12.
func nameOf(program string) string {
	name := strings.ToLower(filepath.Base(strings.ReplaceAll(program, `\`, "/")))
	return strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.")
}

// isWrapper reports whether a program runs the one that stands behind it.
func isWrapper(program string) bool {
	switch nameOf(program) {
	case "busybox", "env", "sudo", "doas", "nice", "ionice", "nohup", "setsid", "stdbuf", "time", "timeout", "xargs", "unshare", "bwrap", "firejail", "prlimit", "docker", "podman":
		return true
	}
	return false
}

// interpreterFlags are the letters of the options that make a program run text; "*" when
// it reads all elements behind it as text. shell: letters may stand together, as in -ec.
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

// carriesCode reports whether an option is one of flags, alone, among others or with the
// text at its end, or a long form.
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
