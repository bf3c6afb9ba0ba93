package profile

import (
	"encoding/json"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
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
type Names = match.Names

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
	return p.names(kind).Narrow() || kind == bridge.Tools && len(p.Annotations) > 0
}

// admit reports whether an item of a kind is in the profile.
func (p *Profile) admit(kind bridge.ListKind, it *bridge.Item) bool {
	if kind == bridge.Resources {
		return p.Resources.AdmitURI(it.Key) // as when it is read
	}
	if !p.names(kind).Admit(it.Key) {
		return false
	}
	if kind != bridge.Tools || len(p.Annotations) == 0 {
		return true
	}
	if it.Untrusted {
		return false
	}
	for name, want := range p.Annotations {
		if match.Annotation(it.Raw, name) != want {
			return false
		}
	}
	return true
}

// fits reports whether the profile is for a caller.
func (p *Profile) fits(caller *bridge.Caller) bool {
	if caller.Profiles != nil {
		return slices.Contains(caller.Profiles, p.Name)
	}
	if !match.Any(p.Principals, caller.Principal.Name) {
		return false
	}
	for name, patterns := range p.Claims {
		if !slices.ContainsFunc(texts(wire.Lookup(caller.Claims, name)), func(text string) bool { return match.Any(patterns, text) }) {
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
