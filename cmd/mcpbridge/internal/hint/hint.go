// Package hint quotes in an error what a user wrote, and proposes what was meant.
package hint

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxQuoted bounds the part of a word that an error repeats, in bytes.
const maxQuoted = 60

// Quote quotes s for an error, shortened.
func Quote(s string) string { return strconv.Quote(Shorten(s)) }

// Shorten cuts s to the part that an error repeats.
func Shorten(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// ShellWord returns s as a word of a command line for the shells of this system, which run nothing in it.
func ShellWord(s string) string {
	if runtime.GOOS == "windows" {
		return windowsWord(s)
	}
	return posixWord(s)
}

// unusual are the characters that a shell may take for more than themselves, on any system.
const unusual = " \t\r\n\"'$&|;<>()*?[]{}~`!#"

// posixWord returns s as a word for POSIX shells and fish, to which a backslash in apostrophes escapes the next one.
func posixWord(s string) string {
	if s == "" || strings.ContainsAny(s, unusual+`\`) {
		return "'" + strings.NewReplacer("'", `'\''`, `\`, `'\\'`).Replace(s) + "'"
	}
	return s
}

// windowsWord returns s as a word for both cmd.exe and PowerShell. cmd.exe knows no apostrophes, and expands %variables% in
// quotation marks, even to a quotation mark (%CMDCMDLINE:~0,1%). PowerShell runs what follows a dollar sign in quotation
// marks, and takes typographic quotation marks for plain ones. What cannot be quoted for both is left out.
func windowsWord(s string) string {
	switch {
	case strings.ContainsAny(s, "\"$%`“”„\r\n"):
		return `"…"`
	case s == "" || strings.ContainsAny(s, unusual+"^,@‘’‚‛"):
		return `"` + s + `"`
	}
	return s
}

// Command returns the line that runs a command with flags and names, each quoted as [ShellWord] does. If a name begins
// with a dash, "--" stands before the names, so that none is taken for a flag. flags is "" or begins with a space.
func Command(command, flags string, names ...string) string {
	line, dash := "", false
	for _, name := range names {
		line += " " + ShellWord(name)
		dash = dash || strings.HasPrefix(name, "-")
	}
	if dash {
		return command + flags + " --" + line
	}
	return command + line + flags
}

// DidYouMean returns the end of an error about an unknown word: the nearest known word, or all of
// them; "" if there are none.
func DidYouMean(word string, known []string) string {
	if near := toolformat.Closest(word, known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	if len(known) == 0 {
		return ""
	}
	return fmt.Sprintf(" (known: %s)", strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", "))
}
