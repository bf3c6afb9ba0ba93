package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A result is a tool's result in a request.
type result struct {
	call string // the call's id, or the tool's name in an API without ids
	text string
}

// A resultPlace is a provider that says where the requests of its API have results of tools.
type resultPlace interface {
	// ResultPlace returns the path of the objects that are results, and their members: those
	// that name the call, of which the first present counts, and the one with the result. A
	// step of the path is the name of a member, * for all elements, or name=value to keep
	// the objects with that text.
	ResultPlace() (path string, ids []string, result string)
}

// check compares the results in a request with those of the recorded one: each of them
// must be present, in their order.
func check(place resultPlace, recorded, request []byte) error {
	if !json.Valid(request) {
		return fmt.Errorf("the request is not JSON")
	}
	have := results(place, request)
	for _, want := range results(place, recorded) {
		i := slices.IndexFunc(have, func(r result) bool { return r.call == want.call })
		if i < 0 {
			return fmt.Errorf("the request lacks a result of the call %s; the recorded one has %.200q", want.call, want.text)
		}
		if have[i].text != want.text {
			return fmt.Errorf("the result of the call %s is %.200q; the recorded one has %.200q", want.call, have[i].text, want.text)
		}
		have = have[i+1:]
	}
	return nil
}

// results returns the results in a request, in order.
func results(place resultPlace, request []byte) []result {
	path, ids, value := place.ResultPlace()
	objects := [][]byte{request}
	for step := range strings.SplitSeq(path, "/") {
		var found [][]byte
		for _, o := range objects {
			key, text, filter := strings.Cut(step, "=")
			member := wire.Lookup(o, key)
			switch have, _ := wire.Text(member); {
			case step == "*":
				found = slices.AppendSeq(found, wire.Elements(o))
			case filter && have == text:
				found = append(found, o)
			case !filter && member != nil:
				found = append(found, member)
			}
		}
		objects = found
	}
	var all []result
	for _, o := range objects {
		r := result{text: flatten(wire.Lookup(o, value))}
		for _, id := range ids {
			text, _ := wire.Text(wire.Lookup(o, id))
			r.call = cmp.Or(r.call, text)
		}
		all = append(all, r)
	}
	return all
}

// flatten returns the text of a result, which can be a string or blocks.
func flatten(raw []byte) string {
	if text, ok := wire.Text(raw); ok {
		return text
	}
	var parts []string
	for element := range wire.Elements(raw) {
		parts = append(parts, flatten(element))
	}
	if parts != nil {
		return strings.Join(parts, "\n")
	}
	if text, ok := wire.Text(wire.Lookup(raw, "text")); ok {
		return text
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // raw is valid, or empty
	return b.String()
}
