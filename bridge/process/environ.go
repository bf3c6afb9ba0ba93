package process

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// Environ returns an environment for a child, sorted: the variables of this program that an
// allow-list names, overridden by extra. A key or token of this program reaches a child only when
// extra names it.
//
// The list has the variables of MCP's own libraries (on Unix HOME, LOGNAME, PATH, SHELL, TERM and
// USER), the locale, the time zone, the directories for temporary files and of XDG, certificates,
// and proxies without a password. It excludes values that begin with "()", functions of a shell.
func Environ(extra map[string]string) []string {
	return environ(runtime.GOOS, os.Environ(), extra)
}

func environ(goos string, parent []string, extra map[string]string) []string {
	fold := func(name string) string { return name }
	if goos == "windows" {
		fold = strings.ToUpper
	}
	env := make(map[string]string) // the folded name to the entry
	for _, entry := range parent {
		name, value, _ := strings.Cut(entry, "=")
		if passes(goos, fold(name), value) {
			env[fold(name)] = entry
		}
	}
	for name, value := range extra {
		if name != "" {
			env[fold(name)] = name + "=" + value
		}
	}
	entries := make([]string, 0, len(env))
	for _, entry := range env {
		entries = append(entries, entry)
	}
	slices.Sort(entries)
	return entries
}

// passes reports whether the list has a variable of this program.
func passes(goos, name, value string) bool {
	if strings.HasPrefix(value, "()") {
		return false
	}
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY":
		// http://user:password@host
		return !strings.Contains(value, "@")
	case "NO_PROXY":
		return true
	}
	switch name {
	case "LANG", "LANGUAGE", "TZ",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE":
		return true
	}
	if goos == "windows" {
		return passesWindows(name)
	}
	return passesUnix(name)
}

func passesUnix(name string) bool {
	switch name {
	case "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR",
		"XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS",
		"XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

func passesWindows(name string) bool {
	switch name {
	case "ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
		"COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS",
		"PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
		"PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
		"USERNAME", "USERPROFILE", "WINDIR":
		return true
	}
	return false
}
