package process

import (
	"maps"
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
	return slices.Sorted(maps.Values(env))
}

// The allow-list: the variables of every system, of Unix beside LC_*, and of Windows.
var (
	common = strings.Fields(`LANG LANGUAGE TZ SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE
		CURL_CA_BUNDLE`)
	onUnix = strings.Fields(`HOME LOGNAME PATH SHELL TERM USER TMPDIR XDG_CACHE_HOME XDG_CONFIG_DIRS
		XDG_CONFIG_HOME XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME`)
	onWindows = strings.Fields(`ALLUSERSPROFILE APPDATA COMMONPROGRAMFILES COMMONPROGRAMFILES(X86)
		COMMONPROGRAMW6432 COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA NUMBER_OF_PROCESSORS OS PATH PATHEXT
		PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 PUBLIC
		SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR`)
)

// passes reports whether the list has a variable of this program.
func passes(goos, name, value string) bool {
	if strings.HasPrefix(value, "()") {
		return false
	}
	switch upper := strings.ToUpper(name); {
	case upper == "HTTP_PROXY" || upper == "HTTPS_PROXY" || upper == "ALL_PROXY":
		return !strings.Contains(value, "@") // http://user:password@host
	case upper == "NO_PROXY" || slices.Contains(common, name):
		return true
	case goos == "windows":
		return slices.Contains(onWindows, name)
	}
	return slices.Contains(onUnix, name) || strings.HasPrefix(name, "LC_")
}
