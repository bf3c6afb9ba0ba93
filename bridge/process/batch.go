package process

import (
	"fmt"
	"path/filepath"
	"strings"
)

// isBatch reports whether Windows runs path by cmd.exe, as it does npx.cmd.
func isBatch(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".cmd" || ext == ".bat"
}

// batchLine returns the command line with which cmd.exe runs a batch file with args unchanged. The
// quoting of os/exec is for programs; cmd.exe reads it differently, and an argument with a quote
// and an ampersand would be a command. The rules are those of Rust's standard library
// (CVE-2024-24576).
func batchLine(path string, args []string) (string, error) {
	if strings.Contains(path, `"`) || strings.HasSuffix(path, `\`) {
		return "", fmt.Errorf("a batch file cannot be named %s", path)
	}
	var line strings.Builder
	// Extensions are on for the %cd:~,% below, delayed expansion off for "!".
	line.WriteString(`cmd.exe /e:ON /v:OFF /d /c ""` + path + `"`)
	for i, arg := range args {
		if strings.ContainsAny(arg, "\x00\r\n") {
			return "", fmt.Errorf("argument %d has a line break or a NUL, which a batch file cannot take", i+1)
		}
		line.WriteByte(' ')
		writeBatchArg(&line, arg)
	}
	line.WriteByte('"')
	return line.String(), nil
}

func writeBatchArg(line *strings.Builder, arg string) {
	quote := arg == "" || strings.HasSuffix(arg, `\`) || strings.ContainsFunc(arg, needsBatchQuote)
	if quote {
		line.WriteByte('"')
	}
	backslashes := 0
	for i := range len(arg) {
		switch arg[i] {
		case '\\':
			backslashes++
		case '"':
			// Backslashes before a quote are doubled, and so is the quote.
			line.WriteString(strings.Repeat(`\`, backslashes) + `"`)
			backslashes = 0
		case '%':
			// An empty substring of a variable keeps %NAME% from being one.
			line.WriteString(`%%cd:~,`)
			backslashes = 0
		default:
			backslashes = 0
		}
		line.WriteByte(arg[i])
	}
	if quote {
		line.WriteString(strings.Repeat(`\`, backslashes) + `"`)
	}
}

// needsBatchQuote reports whether a character is not known to be harmless.
func needsBatchQuote(r rune) bool {
	switch {
	case r >= 0xA0, r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune(`#$*+-./:?@\_`, r)
}
