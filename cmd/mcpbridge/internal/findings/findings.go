// Package findings looks for what definitions of tools and prompts, and instructions of servers, should not say:
// instructions to a model that have nothing to do with the tool, files of the user, names and annotations that
// mislead.
//
// findings.go has the rules for a definition by itself, and for what it says of others; imitate.go those for names
// that are taken for others. What they find is for a person to judge.
package findings

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// suspicious has a named group for each rule about texts.
var suspicious = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?P<instruction>\b(ignore|disregard|forget|override)\s+(all\s+|any\s+)?(the\s+|your\s+)?(previous|prior|earlier|above)\s+(instructions?|prompts?|rules|messages))` +
		`|(?P<secrecy>\b(do\s+not|don't|never|without)\s+(tell|inform|mention|reveal|notify|show|telling|informing|notifying)\w*\b[^.]{0,40}\bthe\s+user\b)` +
		`|(?P<tag><\s*/?\s*(?:important|system|secret|instructions?|admin)\s*>)` +
		`|(?P<file>~/\.ssh|\bid_(rsa|ed25519)\b|\.aws/credentials|/etc/(passwd|shadow)|\.cursor/mcp\.json)` +
		`|(?P<conversation>\b(full|entire|whole|complete)\s+(conversation|chat\s+history|system\s+prompt)\b)`)
})

// about says what a rule has found.
func about(rule string) string {
	switch rule {
	case "instruction":
		return "tells a model to ignore what it was told"
	case "secrecy":
		return "tells a model to keep something from the user"
	case "tag":
		return "has a tag that looks like a part of a prompt"
	case "file":
		return "names a file with secrets"
	case "conversation":
		return "asks for the conversation"
	}
	return ""
}

// changing matches names of tools that change something.
var changing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(\w+__)?(delete|remove|drop|destroy|write|overwrite|create|update|insert|send)([_-]|[A-Z]|$)`)
})

// finder gathers what is found in the definition of one thing.
type finder struct {
	of    string // its name in the notes
	notes []toolformat.Note
}

func (f *finder) note(path, rule, format string, args ...any) {
	f.notes = append(f.notes, toolformat.Note{Tool: f.of, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// Of returns what is found in a tool, with the place and the words.
func Of(t *toolformat.Tool) []toolformat.Note {
	f := &finder{of: t.Name}
	f.name(t.Name)
	if string(wire.Lookup(t.Extra, "annotations", "readOnlyHint")) == "true" && changing().MatchString(t.Name) {
		f.note("/annotations/readOnlyHint", "contradiction", "the tool calls itself read-only, and its name says that it changes something")
	}
	f.search("/description", t.Description)
	for _, path := range [][]string{{"title"}, {"annotations", "title"}} {
		title, _ := wire.Text(wire.Lookup(t.Extra, path...))
		f.search("/"+strings.Join(path, "/"), title)
	}
	f.walk("/input_schema", t.InputSchema)
	f.walk("/output_schema", t.OutputSchema)
	return f.notes
}

// OfPrompt is Of for the definition of a prompt.
func OfPrompt(name string, definition json.RawMessage) []toolformat.Note {
	f := &finder{of: "prompt " + name}
	f.name(name)
	for _, member := range []string{"name", "title", "description", "arguments"} {
		f.walk("/"+member, wire.Lookup(definition, member))
	}
	return f.notes
}

// OfInstructions is Of for the instructions of a server.
func OfInstructions(text string) []toolformat.Note {
	f := &finder{}
	f.search("/instructions", text)
	return f.notes
}

// name looks for letters of other scripts.
func (f *finder) name(name string) {
	if !strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) {
		return
	}
	for _, r := range name {
		if unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
			f.note("/name", "confusable", "the name has the letter %s among those of another script, which it may imitate", strconv.QuoteToASCII(string(r)))
			return
		}
	}
}

// search applies each rule to a text, however its words are spaced.
func (f *finder) search(path, text string) {
	pattern, seen := suspicious(), map[string]bool{}
	for _, match := range pattern.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
		for i, rule := range pattern.SubexpNames() {
			if rule != "" && match[i] != "" && !seen[rule] {
				seen[rule] = true
				shown, _ := toolformat.Visible(match[0])
				f.note(path, rule, "the text %s: %.80q", about(rule), shown)
			}
		}
	}
}

// walk searches the texts and names in a value, if it is JSON.
func (f *finder) walk(path string, raw json.RawMessage) {
	var value any
	if json.Unmarshal(raw, &value) == nil {
		walk(path, value, f.search)
	}
}

// walk calls search with the texts and names in a value.
func walk(path string, value any, search func(path, text string)) {
	switch v := value.(type) {
	case string:
		search(path, v)
	case []any:
		for i, element := range v {
			walk(path+"/"+strconv.Itoa(i), element, search)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			search(path, key)
			walk(path+"/"+key, v[key], search)
		}
	}
}

// Across returns what is found in each of several tools beside those of other servers: a name that looks like
// one of theirs, and what it says of them. How a tool is used is for its own server to say, and a model follows
// the text of one tool when it calls another. What is before "__" in a name is the server; that of a name
// which is imitated comes first.
func Across(tools []toolformat.Tool) [][]toolformat.Note {
	owners := map[string]map[string]bool{} // servers by the names that they give to tools
	for _, t := range tools {
		server, name := split(t.Name)
		if owners[name] == nil {
			owners[name] = map[string]bool{}
		}
		owners[name][server] = true
	}
	notes := make([][]toolformat.Note, len(tools))
	names := newImitations(tools)
	for i, t := range tools {
		server, _ := split(t.Name)
		notes[i] = append(names.prefix(&t), names.note(&t)...)
		seen := map[string]bool{}
		for _, word := range words().FindAllString(t.Description, -1) {
			other, name := split(word)
			if !distinct().MatchString(name) || seen[name] || owners[name] == nil || owners[name][server] || other != "" && !owners[name][other] {
				continue
			}
			seen[name] = true
			notes[i] = append(notes[i], toolformat.Note{Tool: t.Name, Path: "/description", Rule: "shadowing",
				Text: fmt.Sprintf("the text names %s, a tool of another server (%s)", name, strings.Join(slices.Sorted(maps.Keys(owners[name])), ", "))})
		}
	}
	return notes
}

// split returns the server and the name that it gives to a tool.
func split(tool string) (server, name string) {
	if server, name, ok := strings.Cut(tool, "__"); ok {
		return server, name
	}
	return "", tool
}

var words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN_-]+`) })

// distinct matches names that are not words of ordinary language: send_email, sendEmail.
var distinct = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN][_-][\pL\pN]|\p{Ll}\p{Lu}`) })
