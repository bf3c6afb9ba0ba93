package gemini

import (
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// Vertex AI streams the arguments of a call if functionCallingConfig has
// streamFunctionCallArguments: a part with the name begins the call, and parts without one have
// the values of some arguments, each with its JSONPath. A part that does not say willContinue
// ends the call.

// isStreamed reports whether the arguments of a functionCall are streamed.
func isStreamed(called []byte) bool {
	return willContinue(called) || wire.Lookup(called, "partialArgs") != nil
}

func willContinue(called []byte) bool { return string(wire.Lookup(called, "willContinue")) == "true" }

// beginCall adds a call whose arguments are streamed.
func (d *decoder) beginCall(p part) error {
	p.args = &rawjson.Node{}
	p.args.Merge(p.call.Arguments)
	d.parts = append(d.parts, p)
	d.open, d.edited = len(d.parts), true
	return d.addArguments(p.called)
}

// continueCall adds the arguments of a part to the call that is open.
func (d *decoder) continueCall(p *part) error {
	if signature := wire.Lookup(p.raw, "thoughtSignature"); signature != nil {
		open := &d.parts[d.open-1]
		open.raw = wire.SetMember(open.raw, "thoughtSignature", signature)
	}
	return d.addArguments(p.called)
}

// addArguments adds the arguments of a functionCall to the call that is open, and ends it if no
// more will come.
func (d *decoder) addArguments(called []byte) error {
	p := &d.parts[d.open-1]
	for arg := range wire.Elements(wire.Lookup(called, "partialArgs")) {
		path := rawjson.TextAt(arg, "jsonPath")
		if !set(p.args, path, arg) {
			return providers.Unreadable("an argument of a call has the path %.100q: expected one such as $.a[0].b", path)
		}
	}
	if !willContinue(called) {
		d.endCall()
	}
	return nil
}

// endCall ends the call whose arguments are streamed, if there is one.
func (d *decoder) endCall() {
	if d.open == 0 {
		return
	}
	p := &d.parts[d.open-1]
	call := p.call
	call.Arguments, d.open = p.args.JSON(), 0
	d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: call, Text: string(call.Arguments)})
}

// set adds the value of an argument at its path to the arguments. It reports false for a path
// that cannot be read.
func set(args *rawjson.Node, path string, arg []byte) bool {
	rest, ok := strings.CutPrefix(path, "$")
	n := args
	for depth := 0; ok && rest != ""; depth++ {
		n, rest = step(n, rest)
		ok = n != nil && depth < wire.MaxDepth
	}
	if !ok || n == args {
		return false
	}
	for key, value := range wire.Members(arg) {
		switch {
		case key == "stringValue" && value[0] == '"':
			n.Extend(value)
		case key == "numberValue", key == "boolValue":
			n.Set(value)
		case key == "nullValue":
			n.Set([]byte("null"))
		}
	}
	return true
}

// step returns the member or element of n with which a path begins, and the rest of the path;
// nil if the path cannot be read.
func step(n *rawjson.Node, path string) (next *rawjson.Node, rest string) {
	if path[0] == '.' {
		end := strings.IndexAny(path[1:], ".[") + 1
		if end == 0 {
			end = len(path)
		}
		if end == 1 {
			return nil, ""
		}
		return n.Child(path[1:end]), path[end:]
	}
	key, rest, ok := strings.Cut(path[1:], "]")
	if path[0] != '[' || !ok {
		return nil, ""
	}
	if i, err := strconv.Atoi(key); err == nil && i >= 0 {
		return n.At(i), rest
	}
	if inner := strings.Trim(key, `'"`); len(inner) == len(key)-2 {
		return n.Child(inner), rest
	}
	return nil, ""
}
