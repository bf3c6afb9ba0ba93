package match

import (
	"bytes"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Subject returns the item that a request is about; ok is false without one.
func Subject(req *bridge.Request) (kind bridge.ListKind, key string, ok bool) {
	if kind, _, ok = bridge.Routes(req.Method); ok {
		return kind, req.Target, true
	}
	if req.Method != wire.MethodComplete || req.Params == nil {
		return 0, "", false
	}
	ref := req.Params.Edited(wire.Ref, req.Edits)
	switch of, _ := wire.Text(wire.Lookup(ref, "type")); of {
	case refPrompt:
		key, ok = wire.Text(wire.Lookup(ref, "name"))
		return bridge.Prompts, key, ok
	case refResource:
		key, ok = wire.Text(wire.Lookup(ref, "uri"))
		return bridge.Templates, key, ok
	}
	return 0, "", false // which below refuses
}

// The types of what a completion is about.
const refPrompt, refResource = "ref/prompt", "ref/resource"

// PlainRef returns a completion whose ref has nothing but what was looked at: some servers read keys in
// any letter case.
func PlainRef(req *bridge.Request, kind bridge.ListKind, key string) (*bridge.Request, error) {
	of, member := refPrompt, "name"
	if kind == bridge.Templates {
		of, member = refResource, "uri"
	}
	ref := wire.SetMember([]byte(`{"type":"`+of+`"}`), member, wire.AppendString(nil, key))
	params, err := wire.SplitParams(req.Params.Append(nil, append(slices.Clip(req.Edits), wire.Edit{Key: wire.Ref, Value: ref})...))
	own := *req
	own.Params, own.Edits = &params, nil
	return &own, err
}

// Arguments returns those of a request as below gets them, raw JSON; nil without any.
func Arguments(req *bridge.Request) []byte {
	return bytes.TrimSpace(req.Params.Edited(wire.Arguments, req.Edits))
}

// Repeats reports whether an object in a value has a key twice, or in several letter cases.
func Repeats(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	switch value[0] {
	case '{':
		seen := map[string]bool{}
		for key, member := range wire.Members(value) {
			folded := folded(key)
			if seen[folded] || Repeats(member) {
				return true
			}
			seen[folded] = true
		}
	case '[':
		for element := range wire.Elements(value) {
			if Repeats(element) {
				return true
			}
		}
	}
	return false
}
