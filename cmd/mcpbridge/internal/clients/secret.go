package clients

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
)

// A span is a part of a text that is a secret.
type span struct {
	start, end int
	name       string // what the text calls it; "" if it does not
}

// secretsIn returns the secrets in a literal text, in their order. name is what the text is called: by
// the key of a variable or a header, or by the flag before it. Too many are better than too few, as a
// value that was none works as a variable, too.
func secretsIn(name, text string) []span { return secretsBelow(name, text, 4) }

// secretsBelow is secretsIn for a text in up to depth assignments, such as --header=Cookie: x.
func secretsBelow(name, text string, depth int) []span {
	if isSecret(name, text) {
		start := 0
		if scheme, rest, ok := strings.Cut(text, " "); ok && rest != "" && isAuthorization(name) {
			start = len(scheme) + 1
		}
		return []span{{start, len(text), name}}
	}
	if m := assignment().FindStringSubmatchIndex(text); m != nil && depth > 0 && !strings.HasPrefix(text[m[1]:], "//") {
		list := secretsBelow(text[m[2]:m[3]], text[m[1]:], depth-1)
		for n := range list {
			list[n].start += m[1]
			list[n].end += m[1]
		}
		return list
	}
	var list []span
	add := func(start, end int, name string) {
		if !slices.ContainsFunc(list, func(s span) bool { return start < s.end && s.start < end }) {
			list = append(list, span{start, end, name})
		}
	}
	for _, m := range assignments().FindAllStringSubmatchIndex(text, -1) {
		name := text[max(m[2], m[4]):max(m[3], m[5])]
		if value := text[m[6]:m[7]]; isSecret(name, value) {
			add(m[6], m[7], name)
		}
	}
	for _, m := range issued().FindAllStringSubmatchIndex(text, -1) {
		add(m[2], m[3], "")
	}
	isPath := strings.ContainsAny(text, `/\`) && !strings.Contains(text, "://")
	for _, m := range lone().FindAllStringIndex(text, -1) {
		if !isPath && isRandom(text[m[0]:m[1]]) {
			add(m[0], m[1], "")
		}
	}
	slices.SortFunc(list, func(a, b span) int { return a.start - b.start })
	return list
}

var (
	// assignment matches NAME= and NAME: at the beginning of a text.
	assignment = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^-{0,2}([A-Za-z_][\w.-]*)\s*[=:]\s*`)
	})
	// assignments matches those within a text: of a query, a shell or JSON.
	assignments = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:([A-Za-z_][\w.-]*)["']?\s*[=:]\s*|--?([A-Za-z][\w-]*)\s+)["']?(?:(?i:bearer|basic|token)\s+)?([^\s"'&#,;?}\]]+)`)
	})
	// issued matches values with the prefixes that their issuers use.
	issued = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^\w-])((?:gh[opsu]_|github_pat_|glpat-|sk-|sk_live_|sk_test_|xox[abposr]-|xapp-|AKIA|AIza|npm_|hf_|ntn_|secret_|lin_api_|figd_|pat_|dop_v1_|shpat_|eyJ[\w-]+\.)[\w.-]*[\w-]{8})`)
	})
	// lone matches what stands between the marks of a URL or a list.
	lone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\w+=-]{20,}`) })
	// weakName matches names whose values are secrets unless they are short or paths.
	weakName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i:(?:^|[_.-])(?:key|pass|passphrase|pwd|pat|jwt|auth|session|session_?id|creds|dsn|signature|connection_?string|webhook_?url))$|[a-z]Key$`)
	})
)

// isSecret reports whether a value is a secret as a whole, by its name or as a URL with a password.
func isSecret(name, value string) bool {
	name = strings.TrimLeft(name, "-")
	return config.IsSecret(name, value) || weakName().MatchString(name) && len(value) >= 8 && !isAbsolute(value)
}

func isAuthorization(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), "authorization")
}

// isRandom reports whether a word looks as if a machine had made it up: it mixes digits, capitals and small
// letters, or is a long number in hexadecimal digits.
func isRandom(word string) bool {
	var digits, small, capital, hex int
	for _, c := range word {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'z':
			small++
		case 'A' <= c && c <= 'Z':
			capital++
		}
		if strings.ContainsRune("0123456789abcdefABCDEF-", c) {
			hex++
		}
	}
	return digits > 1 && small > 0 && capital > 0 || digits > 3 && hex == len(word) && hex >= 32
}

// filledIn matches what stands for other text in mcpbridge.json.
var filledIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\$\{|\$\{[^}]*\}`) })

// conceal returns a text as mcpbridge.json writes it, with variables for its secrets. name is what the text
// is called, and variable the name for a secret that the text does not name.
func (i *Import) conceal(t Text, name, variable, server string) string {
	switch {
	case t.secret && !t.Variable:
		return i.secret(cmp.Or(name, variable), server, t.Text)
	case !t.Variable:
		return i.concealLiteral(t.Text, name, variable, server)
	}
	var b, literal strings.Builder
	flush := func() {
		if text := literal.String(); len(strings.TrimSpace(text)) < minPart {
			b.WriteString(escape(text))
		} else {
			b.WriteString(i.concealLiteral(text, name, variable, server))
		}
		literal.Reset()
	}
	end := 0
	for _, at := range filledIn().FindAllStringIndex(t.Text, -1) {
		literal.WriteString(t.Text[end:at[0]])
		if end = at[1]; t.Text[at[0]:end] == "$${" {
			literal.WriteString("${")
			continue
		}
		flush()
		b.WriteString(t.Text[at[0]:end])
	}
	literal.WriteString(t.Text[end:])
	flush()
	return b.String()
}

// minPart is the length below which a text between variables is no secret, such as "Bearer ".
const minPart = 8 // bytes

func (i *Import) concealLiteral(text, name, variable, server string) string {
	var b strings.Builder
	end := 0
	for _, s := range secretsIn(name, text) {
		own := strings.TrimLeft(s.name, "-")
		switch {
		case own == "" || s.name == name:
			own = variable
		case isAuthorization(own):
			own = "token"
		}
		for s.start > end && text[s.start-1] == '$' { // with the brace of a variable it would be an escape
			s.start--
		}
		b.WriteString(escape(text[end:s.start]) + i.secret(own, server, text[s.start:s.end]))
		end = s.end
	}
	return b.String() + escape(text[end:])
}

// secret returns what stands for a secret, a variable or a reference to a sealed one: of the given name or, if that has another
// value already, with the name of the server before it.
func (i *Import) secret(name, server, value string) string {
	if !variableName().MatchString(name) || strings.Contains(name, ":") || name != strings.ToUpper(name) {
		name = upperName(name)
	}
	if own := upperName(server); !strings.Contains(name, "_") && !strings.HasPrefix(name, own) {
		name = own + "_" + name // TOKEN alone says too little
	}
	base, front := name, "${"
	if i.opts.Seal {
		front = "${keychain:"
	}
	for n := 1; ; n++ {
		switch old, taken := i.known(name, i.opts.Seal); {
		case !taken:
			i.Vars = append(i.Vars, Variable{name, value})
			fallthrough
		case old == value:
			return front + name + "}"
		}
		if n == 1 && !strings.HasPrefix(base, upperName(server)+"_") {
			base = upperName(server) + "_" + base
			name = base
			continue
		}
		name = fmt.Sprintf("%s_%d", base, n+1)
	}
}

// Redact returns a text of mcpbridge.json with mark in place of its secrets. name is what the text is
// called. Variables and references stay, and of a URL with a password all but the user and that.
func Redact(name, text, mark string) string {
	if config.IsSecret("", text) { // it is such a URL
		head, rest, _ := strings.Cut(text, "//")
		authority := rest
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			authority = rest[:end]
		}
		shown := Redact(name, head+"//"+rest[strings.LastIndexByte(authority, '@')+1:], mark)
		return strings.Replace(shown, "//", "//"+mark+"@", 1)
	}
	var b strings.Builder
	end, refs := 0, filledIn().FindAllStringIndex(text, -1)
	for _, s := range secretsIn(name, text) {
		inside := false
		for _, ref := range refs {
			inside = inside || ref[0] < s.start && s.start < ref[1]
			if ref[0] < s.end && s.end < ref[1] {
				s.end = ref[1]
			}
		}
		if !inside {
			b.WriteString(text[end:s.start] + redactLiterals(text[s.start:s.end], mark))
			end = s.end
		}
	}
	return b.String() + text[end:]
}

// redactLiterals returns a secret with mark in place of what stands between its variables and references.
func redactLiterals(text, mark string) string {
	refs := append(filledIn().FindAllString(text, -1), "")
	if len(refs) == 1 {
		return mark
	}
	var b strings.Builder
	for i, literal := range filledIn().Split(text, -1) {
		if len(literal) >= minPart {
			literal = mark
		}
		b.WriteString(literal + refs[i])
	}
	return b.String()
}

// RedactArgs is Redact for the arguments of a command.
func RedactArgs(args []string, mark string) []string {
	shown, before := make([]string, len(args)), ""
	for i, arg := range args {
		shown[i] = Redact(flagOf(arg, before), arg, mark)
		before = arg
	}
	return shown
}

// Secrets returns the secrets in the text of a config file of that name, as far as it can be read.
func Secrets(name string, text []byte) (list []string) {
	root, err := edit.Read(formatOf(name), text)
	if err != nil {
		return nil
	}
	var walk func(name string, n edit.Node)
	walk = func(name string, n edit.Node) {
		before := ""
		for _, m := range slices.Concat(n.Members, n.Lost) {
			if n.Value == nil {
				walk(m.Key, m)
				continue
			}
			walk(flagOf(textOf(m), before), m)
			before = textOf(m)
		}
		if value := textOf(n); value != "" {
			for _, s := range secretsIn(name, value) {
				list = append(list, strings.Split(value[s.start:s.end], "\n")...) // YAML may write them apart
			}
		}
	}
	walk("", root)
	return list
}

// flagOf returns the flag that an argument is the value of, by the argument before it, or "".
func flagOf(argument, before string) string {
	if !strings.HasPrefix(before, "-") || strings.Contains(before, "=") || strings.HasPrefix(argument, "--") {
		return ""
	}
	return strings.TrimLeft(before, "-")
}
