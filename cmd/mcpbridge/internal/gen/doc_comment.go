package gen

import (
	"go/doc/comment"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// docItem is a line of a doc comment that may describe a parameter: "location: the
	// city" or an item of a list, "  - location: the city".
	docItem = regexp.MustCompile("^(\\s*)(?:[-*+•]\\s+)?`?([^\\s:`]+)`?\\s*:(?:\\s+(.*))?$")

	// docHead is a line that says no more than that parameters follow.
	docHead = regexp.MustCompile(`(?i)^(?:# )?(?:the )?(?:parameters|params|arguments|args|inputs?)(?: are)?:?$`)
)

// splitDoc takes a function's doc comment apart: the description of the tool, and those
// of the parameters that are known. A description goes on in lines that are indented
// more than its first.
func splitDoc(doc, function string, known func(name string) bool) (description string, parameters map[string]string) {
	parameters = map[string]string{}
	var kept []string
	name, indent := "", 0
	for line := range strings.Lines(doc) {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " \r\n")
		text := strings.TrimLeft(line, " ")
		if m := docItem.FindStringSubmatch(line); m != nil && known(m[2]) {
			name, indent = m[2], len(m[1])
			parameters[name] = m[3]
			continue
		}
		if name != "" && text != "" && len(line)-len(text) > indent {
			parameters[name] = strings.TrimSpace(parameters[name] + " " + text)
			continue
		}
		name = ""
		kept = append(kept, line)
	}
	if len(parameters) > 0 {
		kept = withoutHeads(kept)
	}
	var parser comment.Parser
	text := (&comment.Printer{TextWidth: -1}).Text(parser.Parse(strings.Join(kept, "\n"))) // a paragraph a line
	return withoutName(strings.TrimSpace(string(text)), function), parameters
}

// withoutHeads drops the lines that announced the parameters, which are gone.
func withoutHeads(lines []string) []string {
	var kept []string
	for i, line := range lines {
		if docHead.MatchString(line) && (i+1 == len(lines) || lines[i+1] == "") {
			continue
		}
		kept = append(kept, line)
	}
	return kept
}

// withoutName drops the name of the function that Go's doc comments begin with: a model
// knows the tool by another one. "GetWeather gets the weather." says "Gets the weather."
func withoutName(doc, function string) string {
	rest, ok := strings.CutPrefix(doc, function+" ")
	first, size := utf8.DecodeRuneInString(rest)
	if !ok || !unicode.IsLower(first) {
		return doc
	}
	return string(unicode.ToUpper(first)) + rest[size:]
}

// unwrapped is a comment as one line.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

// snakeCase is a Go name as tools are named: GetWeather is get_weather, HTTPGet is
// http_get.
func snakeCase(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && runes[i-1] != '_' &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
