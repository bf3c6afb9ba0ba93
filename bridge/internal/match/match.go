// Package match decides which callers and items the patterns of a config mean. match.go has names and
// annotations, subject.go what a request is about, and its arguments.
package match

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Names are those that match a pattern of Include, or any if that is empty, and none of Exclude.
type Names struct{ Include, Exclude []string }

// Narrow reports whether there are names that are left out.
func (n *Names) Narrow() bool { return len(n.Include)+len(n.Exclude) > 0 }

// Admit reports whether a name is one of them.
func (n *Names) Admit(name string) bool {
	return Any(n.Include, name) && (len(n.Exclude) == 0 || !Any(n.Exclude, name))
}

// AdmitURI is Admit for a URI of which the server may know other spellings: none of them must match a
// pattern of Exclude, in any letter case, and all of them one of Include.
func (n *Names) AdmitURI(uri string) bool {
	for range maxEscapes {
		if !n.Admit(uri) || strings.ContainsFunc(uri, unicode.IsControl) || slices.ContainsFunc(n.Exclude, func(pattern string) bool {
			excluded, _ := bridge.Match(folded(pattern), folded(uri))
			return excluded
		}) {
			return false
		}
		plain, err := url.PathUnescape(uri)
		if err != nil {
			return false
		}
		if plain == uri {
			return !slices.ContainsFunc(strings.FieldsFunc(plain, isSeparator), func(segment string) bool {
				return segment == "." || segment == ".."
			})
		}
		uri = plain
	}
	return false
}

// folded returns a text in one letter case. The long s and others have only one of their own.
func folded(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// maxEscapes bounds how often parts of a URI may have been escaped.
const maxEscapes = 4

func isSeparator(r rune) bool { return strings.ContainsRune(`/\?#`, r) }

// Any reports whether a name matches one of some patterns; no patterns match any name.
func Any(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := bridge.Match(pattern, name)
		return ok
	})
}

// Server returns the name by which patterns of servers know the one that has an item: what clients lend is in no
// member of a Bridge.
func Server(it *bridge.Item) string {
	if it.Member == "" && it.Function != "" {
		return lentTools
	}
	return it.Member
}

const lentTools = "lent tools" // in configs

// Owner returns the server whose item a session lists; "" if that is not known.
func Owner(ctx context.Context, s bridge.Session, kind bridge.ListKind, key string) string {
	l, _ := s.List(ctx, kind)
	if l == nil {
		return ""
	}
	it, _ := l.Find(key)
	return it.Member
}

// Annotation returns what a tool says of itself, or the protocol's default (MCP specification,
// ToolAnnotations).
func Annotation(tool []byte, name string) bool {
	readOnly := name != "readOnlyHint" && Annotation(tool, "readOnlyHint")
	switch value := string(wire.Lookup(tool, "annotations", name)); {
	case readOnly && name == "destructiveHint":
		return false
	case readOnly && name == "idempotentHint":
		return true
	case value == "true", value == "false":
		return value == "true"
	}
	return name == "destructiveHint" || name == "openWorldHint"
}
