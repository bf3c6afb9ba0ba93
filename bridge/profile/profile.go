package profile

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Profile is what some callers see and may do. It must not change once it is in use. Patterns are those
// of bridge.Match.
type Profile struct {
	Name string

	// Principals are patterns of the names of the callers that it is for, and Claims patterns of the values
	// of their claims, of which each needs one that matches. Without either it is for everyone.
	Principals []string
	Claims     map[string][]string

	Servers     []string        // patterns of names of the servers that there are; empty means all
	Tools       Names           // as the caller sees them
	Prompts     Names           // as the caller sees them
	Resources   Names           // URIs
	Annotations map[string]bool // that a tool must have, by name; without one the protocol's default counts

	Context map[string]json.RawMessage // hidden values by their lower-case names
}

// Names are those that match a pattern of Include, or any if that is empty, and none of Exclude.
type Names struct{ Include, Exclude []string }

func (n *Names) narrow() bool { return len(n.Include)+len(n.Exclude) > 0 }

func (n *Names) admit(name string) bool {
	return matches(n.Include, name) && (len(n.Exclude) == 0 || !matches(n.Exclude, name))
}

// admitURI is admit for a URI of which the server may know other spellings: none of them must match a
// pattern of Exclude, in any letter case, and all of them one of Include.
func (n *Names) admitURI(uri string) bool {
	for range maxEscapes {
		if !n.admit(uri) || strings.ContainsFunc(uri, unicode.IsControl) || slices.ContainsFunc(n.Exclude, func(pattern string) bool {
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

// matches reports whether a name matches one of some patterns; no patterns match any name.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := bridge.Match(pattern, name)
		return ok
	})
}

// names returns what the profile says of a kind.
func (p *Profile) names(kind bridge.ListKind) *Names {
	switch kind {
	case bridge.Tools:
		return &p.Tools
	case bridge.Prompts:
		return &p.Prompts
	default:
		return &p.Resources
	}
}

// narrows reports whether the profile may leave out items of a kind that its servers have.
func (p *Profile) narrows(kind bridge.ListKind) bool {
	return p.names(kind).narrow() || kind == bridge.Tools && len(p.Annotations) > 0
}

// admit reports whether an item of a kind is in the profile.
func (p *Profile) admit(kind bridge.ListKind, it *bridge.Item) bool {
	if !p.names(kind).admit(it.Key) {
		return false
	}
	if kind != bridge.Tools || len(p.Annotations) == 0 {
		return true
	}
	if it.Untrusted {
		return false
	}
	for name, want := range p.Annotations {
		if annotation(it.Raw, name) != want {
			return false
		}
	}
	return true
}

// annotation returns what a tool says of itself, or the protocol's default (MCP specification,
// ToolAnnotations).
func annotation(tool []byte, name string) bool {
	readOnly := name != "readOnlyHint" && annotation(tool, "readOnlyHint")
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

// fits reports whether the profile is for a caller.
func (p *Profile) fits(caller *bridge.Caller) bool {
	if caller.Profiles != nil {
		return slices.Contains(caller.Profiles, p.Name)
	}
	if !matches(p.Principals, caller.Principal.Name) {
		return false
	}
	for name, patterns := range p.Claims {
		if !slices.ContainsFunc(texts(wire.Lookup(caller.Claims, name)), func(text string) bool { return matches(patterns, text) }) {
			return false
		}
	}
	return true
}

// texts returns the values of a claim, of which an array has several: strings, and other values as they
// are written.
func texts(claim []byte) (all []string) {
	switch {
	case len(claim) == 0 || claim[0] == '{':
		return nil
	case claim[0] == '[':
		for value := range wire.Elements(claim) {
			all = append(all, texts(value)...)
		}
		return all
	}
	if text, ok := wire.Text(claim); ok {
		return []string{text}
	}
	return []string{string(claim)}
}
