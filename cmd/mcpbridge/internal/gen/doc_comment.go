package gen

import (
	"go/doc/comment"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// docItem matches a line of a doc comment that may describe a parameter: "location: the
	// city", or an item of a list, "  - location: the city".
	docItem = regexp.MustCompile("^(\\s*)(?:[-*+•]\\s+)?`?([^\\s:`]+)`?\\s*:(?:\\s+(.*))?$")

	// docHead matches a line that only announces parameters.
	docHead = regexp.MustCompile(`(?i)^(?:# )?(?:the )?(?:parameters|params|arguments|args|inputs?)(?: are)?:?$`)
)

// splitDoc splits a function's doc comment into the description of the tool and those of its known
// parameters. Lines that are indented more than the first continue a description.
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

// withoutHeads removes the lines that announce parameters.
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

// withoutName removes the function's name from the beginning of its doc comment, as a model knows
// the tool by another name: "GetWeather gets the weather." becomes "Gets the weather."
func withoutName(doc, function string) string {
	rest, ok := strings.CutPrefix(doc, function+" ")
	first, size := utf8.DecodeRuneInString(rest)
	if !ok || !unicode.IsLower(first) {
		return doc
	}
	return string(unicode.ToUpper(first)) + rest[size:]
}

// unwrapped returns a comment on one line.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

// snakeCase returns a Go name in the style of tools: GetWeather is get_weather, HTTPGet is http_get.
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
