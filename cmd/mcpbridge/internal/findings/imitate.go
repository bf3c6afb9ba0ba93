package findings

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// imitations are the names of tools by what others could be taken for them.
type imitations struct {
	looks    map[string]named   // by what they look like
	prefixed map[string]named   // as a tool of another server may spell them: github_create_issue
	spelled  map[string][]named // by their words, with one of them left out
}

// named is the name that a server gives to a tool. word is the one that is left out.
type named struct{ server, name, word string }

func (n named) String() string { return n.name + ", a tool of " + cmp.Or(n.server, "another server") }

// note returns what a tool imitates, of the servers that are listed before its own, and takes it in.
func (im *imitations) note(t *toolformat.Tool) (notes []toolformat.Note) {
	server, name := split(t.Name)
	note := func(rule, format string, args ...any) {
		if notes == nil { // one says it
			notes = []toolformat.Note{{Tool: t.Name, Path: "/name", Rule: rule, Text: fmt.Sprintf(format, args...)}}
		}
	}
	look := skeleton(name)
	if other, ok := im.looks[look]; ok && other.server != server && !strings.EqualFold(other.name, name) {
		note("imitation", "the name %+q looks like %s", name, other)
	}
	for key, word := range lessOne(name) {
		for _, other := range im.spelled[key] {
			if other.server != server && isSlip(other.word, word) {
				note("imitation", "the name is one letter away from %s", other)
			}
		}
		im.spelled[key] = append(im.spelled[key], named{server, name, word})
	}
	if _, ok := im.looks[look]; !ok {
		im.looks[look] = named{server, name, ""}
	}
	return notes
}

// newImitations returns those that know how the tools of each server may be spelled by others.
func newImitations(tools []toolformat.Tool) *imitations {
	im := &imitations{looks: map[string]named{}, prefixed: map[string]named{}, spelled: map[string][]named{}}
	for _, t := range tools {
		if server, name := split(t.Name); server != "" {
			for _, between := range []string{"_", "__", "-", "."} {
				im.prefixed[strings.ToLower(server+between+name)] = named{server, name, ""}
			}
		}
	}
	return im
}

// prefix returns that the name of a tool begins with another server's, and goes on with one of its tools.
func (im *imitations) prefix(t *toolformat.Tool) []toolformat.Note {
	server, name := split(t.Name)
	other, ok := im.prefixed[strings.ToLower(name)]
	if !ok || other.server == server {
		return nil
	}
	return []toolformat.Note{{Tool: t.Name, Path: "/name", Rule: "imitation", Text: fmt.Sprintf("the name looks as if the tool were %s of %s", other.name, other.server)}}
}

// alike are letters of other scripts behind the Latin ones that they look like, and digits.
const alike = "aаαɑ eе oоοօ0 pрρ cсϲ yуγ xхχ iіıι jј sѕ hһ dԁ qԛ wԝ vѵν lӏI1| gɡ kк uυս nո"

// skeleton returns the same text for names that look the same.
func skeleton(name string) string {
	name = strings.Map(func(r rune) rune {
		if 0xff01 <= r && r <= 0xff5e { // full width
			r -= 0xfee0
		}
		for group := range strings.FieldsSeq(alike) {
			if strings.ContainsRune(group[1:], r) {
				return rune(group[0])
			}
		}
		return r
	}, name)
	return strings.NewReplacer("rn", "m", "vv", "w").Replace(name)
}

var parts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\p{Lu}?\p{Ll}+|\p{Lu}+|\p{Nd}+|\pL+`) })

// leastWord is the length from which on a word with another letter is likely to be a slip: get and set are
// two words.
const leastWord = 5

// lessOne returns the words of a name that may be a slip by all that is left of it without each.
func lessOne(name string) map[string]string {
	all := parts().FindAllString(name, -1)
	for i := range all {
		all[i] = strings.ToLower(all[i])
	}
	left := map[string]string{}
	for i, word := range all {
		if utf8.RuneCountInString(word) >= leastWord-1 && !unicode.IsDigit(rune(word[0])) {
			left[strings.Join(all[:i], " ")+" * "+strings.Join(all[i+1:], " ")] = word
		}
	}
	return left
}

// isSlip reports whether two words differ by one letter, or by the order of two. A plural is another word.
func isSlip(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if a == b || a == b+"s" || len(a) < leastWord {
		return false
	}
	start := 0
	for start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	a, b = a[start:len(a)-end], b[start:len(b)-end]
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
