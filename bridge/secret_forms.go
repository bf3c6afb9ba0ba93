package bridge

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// secretForms are forms of secrets that begin alike: how programs write them in texts, in JSON, in URLs, between
// quotes and in base64.
// A text is searched for the beginning, and then compared with each of them, so that no other one of them
// is hidden in part.
type secretForms struct {
	start    string
	all      []string
	anywhere bool // they are hidden inside of a word too, however short they are
}

// add adds a secret in all of its forms, unless it is "".
func (s *Secrets) add(text string, anywhere bool) {
	if text == "" {
		return
	}
	s.all = withForms(s.all, written(text), anywhere)
	if anywhere {
		s.encoded = withForms(s.encoded, encoded(text), anywhere)
	}
}

// withForms adds forms of a secret to those of others.
func withForms(all []secretForms, forms []string, anywhere bool) []secretForms {
	for _, form := range forms {
		start := form[:min(len(form), cutValue-4)]
		at := slices.IndexFunc(all, func(f secretForms) bool { return len(f.start) < len(start) || f.start == start })
		switch {
		case at < 0:
			all = append(all, secretForms{start, []string{form}, anywhere})
		case all[at].start != start: // a longer one first, as another may be a part of it
			all = slices.Insert(all, at, secretForms{start, []string{form}, anywhere})
		default:
			f := &all[at]
			if f.anywhere = f.anywhere || anywhere; !slices.Contains(f.all, form) {
				f.all = append(slices.Clip(f.all), form) // a copy of all has the same memory
			}
		}
	}
	return all
}

// shortestEncoded is the length in bytes from which a secret is hidden in base64, too: what that has of a shorter
// one may occur by chance.
const shortestEncoded = 6

// encoded returns what base64 has of a secret wherever it begins in what was encoded: the password of Basic
// after its user, for example. It leaves out a character at either end that has bits of other bytes.
func encoded(text string) (forms []string) {
	if len(text) < shortestEncoded {
		return nil
	}
	for before := range 3 {
		part := base64.StdEncoding.EncodeToString(append(make([]byte, before), text...))
		part = part[(8*before+5)/6 : 8*(before+len(text))/6]
		forms = append(append(forms, written(part)...), urlAlphabet.Replace(part))
	}
	return forms
}

// urlAlphabet turns base64 into that of URLs and tokens.
var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// written returns a text as it is, in JSON, in a URL and between quotes, some of it more than once.
func written(text string) []string {
	if strings.IndexFunc(text, isEscaped) < 0 {
		return []string{text}
	}
	forms := []string{text}
	for _, e := range jsonEscapes {
		forms = append(forms, e.escape(text))
	}
	quoted := quotedEscapes.Replace(text)
	forms = append(forms, quoted, strings.ReplaceAll(quoted, "'", `\'`))
	query := url.QueryEscape(text)
	component := strings.ReplaceAll(query, "+", "%20")
	return append(forms, query, component, strings.ReplaceAll(component, "%2F", "/"), componentMarks.Replace(component),
		url.PathEscape(text), (&url.URL{Path: text}).EscapedPath(), url.UserPassword("", text).String()[1:])
}

// quotedEscapes escapes a text as repr of Python and util.inspect of Node.js do: they choose quotes that are not in it, and
// escape single ones if it has both kinds. PHP always does.
var quotedEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// isEscaped reports whether an encoder of JSON or of URLs may write a character in another way.
func isEscaped(c rune) bool {
	return ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && c != '-' && c != '_' && c != '.' && c != '~'
}

// componentMarks undoes the escapes of the marks that encodeURIComponent of JavaScript leaves as they are.
var componentMarks = strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// jsonEscape is what an encoder of JSON escapes in a string, beside what it has to.
type jsonEscape struct {
	unicode string // these as \u003c
	ascii   bool   // and what is not ASCII
	upper   bool   // those are as \u003C
	slash   bool   // a slash is \/
}

var jsonEscapes = [...]jsonEscape{
	{},                              // JSON.stringify, and encoding/json without HTML escapes
	{unicode: "&<>\u2028\u2029"},    // encoding/json
	{unicode: "&'<=>\u2028\u2029"},  // Gson
	{ascii: true},                   // Python
	{ascii: true, upper: true},      // Jackson, if told to
	{ascii: true, slash: true},      // PHP
	{slash: true},                   // PHP with JSON_UNESCAPED_UNICODE
	{"\"&'+<>`", true, true, false}, // System.Text.Json
}

// escape returns a text as it is in a string of JSON.
func (e jsonEscape) escape(text string) string {
	format := `\u%04x`
	if e.upper {
		format = `\u%04X`
	}
	var b strings.Builder
	for _, c := range text {
		switch {
		case !isEscaped(c):
			b.WriteRune(c)
		case strings.ContainsRune(e.unicode, c), e.ascii && c >= utf8.RuneSelf-1:
			for _, unit := range utf16.AppendRune(nil, c) {
				fmt.Fprintf(&b, format, unit)
			}
		case c == '/' && e.slash:
			b.WriteString(`\/`)
		default:
			quoted := wire.AppendString(nil, string(c))
			b.Write(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
