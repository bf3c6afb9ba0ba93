package clients

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// A Text is a value of a server, with the client's variables as mcpbridge.json writes them.
type Text struct {
	Text     string
	Variable bool // Text has variables; else it is literal
	secret   bool // a literal that the client knows to be a secret
}

// reference matches the ways to write variables.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{\{[^}]*\}\}|\$\{[^}]*\}|\{(?:env|file):[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)
})

var variableName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(:-.*)?$`)
})

// convert converts the variables of a text. project is the folder that ${workspaceFolder} stands
// for, or "". elsewhere gets the name of each variable whose value the client keeps elsewhere. The error
// names a variable that cannot be converted.
func (s syntax) convert(text, project string, elsewhere func(name string)) (Text, error) {
	var failed error
	found := false
	var b strings.Builder
	end := 0
	for _, at := range reference().FindAllStringIndex(text, -1) {
		ref := text[at[0]:at[1]]
		ours, isReference, err := s.one(ref, project, elsewhere)
		if err != nil {
			failed = fmt.Errorf("only the client can fill in %s", ref)
		}
		if isReference {
			b.WriteString(escape(text[end:at[0]]) + ours)
			end, found = at[1], true
		}
	}
	if !found {
		return Text{Text: text}, failed
	}
	return Text{Text: b.String() + escape(text[end:]), Variable: true}, failed
}

// errUnknown is the error about a variable that only the client can fill in.
var errUnknown = fmt.Errorf("unknown variable")

// one converts one variable. It is not a reference if the client takes it literally.
func (s syntax) one(ref, project string, elsewhere func(name string)) (ours string, isReference bool, err error) {
	inside := strings.TrimSpace(strings.Trim(ref, "${}"))
	kind, name, prefixed := strings.Cut(inside, ":")
	switch {
	case strings.HasPrefix(ref, "${{"):
		if s&double == 0 {
			return "", false, nil
		}
		from, name, _ := strings.Cut(inside, ".")
		if from != "secrets" && from != "inputs" {
			return "", false, errUnknown
		}
		elsewhere(upperName(name))
		return "${" + upperName(name) + "}", true, nil
	case ref[0] == '{':
		switch {
		case s&curly == 0:
			return "", false, nil
		case kind == "env":
			return "${" + name + "}", true, nil
		}
		return "", false, errUnknown
	case ref[1] != '{':
		return "${" + inside + "}", s&dollar != 0, nil
	case s&references != 0 && prefixed && (kind == "keychain" || kind == "file" || kind == "command"):
		return ref, true, nil
	case s&braces != 0 && variableName().MatchString(inside):
		return "${" + inside + "}", true, nil
	case s&colon == 0:
		return "", false, nil
	case prefixed && kind == "env":
		return "${" + name + "}", true, nil
	case prefixed && kind == "input":
		elsewhere(upperName(name))
		return "${" + upperName(name) + "}", true, nil
	case project != "" && inside == "workspaceFolder":
		return escape(project), true, nil
	case project != "" && inside == "workspaceFolderBasename":
		return escape(path.Base(project)), true, nil
	case inside == "workspaceFolder", inside == "workspaceFolderBasename", inside == "userHome", inside == "pathSeparator", inside == "/":
		return ref, true, nil
	case prefixed:
		return "", false, errUnknown
	}
	return "", false, nil
}

// escape writes a literal text for mcpbridge.json.
func escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// upperName returns the name of a variable for words of any form.
func upperName(words string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z' || '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, words)
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
