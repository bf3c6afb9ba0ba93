package config

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

//go:embed stateful.txt
var statefulText string

// stateful returns the names of stateful.txt.
func stateful() (names []string) {
	for line := range strings.Lines(statefulText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			names = append(names, line)
		}
	}
	return names
}

// KeepsState returns the package or program in the server's command that is known to keep a state for
// each client, such as a browser, or "". Such a server needs "sharing": "session".
func (s *Server) KeepsState() string {
	program, known := strings.ReplaceAll(s.Command, `\`, "/"), stateful()
	for _, word := range append([]string{path.Base(program)}, s.Args...) {
		if name := packageName(word); slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// packageName returns a package, an image or a program without its version.
func packageName(word string) string {
	word = strings.ToLower(strings.TrimSuffix(word, ".exe"))
	word = strings.TrimSuffix(strings.TrimPrefix(word, "npm:"), ".git")
	if i := strings.LastIndexByte(word, '@'); i > 0 {
		word = word[:i]
	}
	if i := strings.LastIndexByte(word, ':'); i > strings.LastIndexByte(word, '/') {
		word = word[:i]
	}
	word, _, _ = strings.Cut(word, "==")
	word, _, _ = strings.Cut(word, "[")
	if strings.Contains(word, "://") {
		return path.Base(word)
	}
	return word
}
