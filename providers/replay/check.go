package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// result is what a request says that a call came to.
type result struct {
	call string // its id; the tool's name where the request has none
	text string
}

// check compares the results in a request with those of the recorded one: each of them
// must be there, in their order.
func check(format toolformat.Format, recorded, request []byte) error {
	if !json.Valid(request) {
		return fmt.Errorf("the request is no JSON")
	}
	have := results(format, request)
	for _, want := range results(format, recorded) {
		i := 0
		for i < len(have) && have[i].call != want.call {
			i++
		}
		if i == len(have) {
			return fmt.Errorf("the request has no result of the call %s, where the recorded one has %s", want.call, quote(want.text))
		}
		if have[i].text != want.text {
			return fmt.Errorf("the result of the call %s is %s, where the recorded one has %s", want.call, quote(have[i].text), quote(want.text))
		}
		have = have[i+1:]
	}
	return nil
}

// results are those in a request, in order.
func results(format toolformat.Format, request []byte) []result {
	var all []result
	add := func(object []byte, value string, ids ...string) {
		r := result{text: flatten(wire.Lookup(object, value))}
		for _, id := range ids {
			text, _ := wire.Text(wire.Lookup(object, id))
			r.call = cmp.Or(r.call, text)
		}
		all = append(all, r)
	}
	switch format {
	case toolformat.FormatOpenAI, toolformat.FormatOllama:
		for m := range wire.Elements(wire.Lookup(request, "messages")) {
			if is(m, "role", "tool") {
				add(m, "content", "tool_call_id", "tool_name")
			}
		}
	case toolformat.FormatOpenAIResponses:
		for item := range wire.Elements(wire.Lookup(request, "input")) {
			if is(item, "type", "function_call_output") {
				add(item, "output", "call_id")
			}
		}
	case toolformat.FormatAnthropic:
		for m := range wire.Elements(wire.Lookup(request, "messages")) {
			for block := range wire.Elements(wire.Lookup(m, "content")) {
				if is(block, "type", "tool_result") {
					add(block, "content", "tool_use_id")
				}
			}
		}
	case toolformat.FormatGemini:
		for c := range wire.Elements(wire.Lookup(request, "contents")) {
			for part := range wire.Elements(wire.Lookup(c, "parts")) {
				if response := wire.Lookup(part, "functionResponse"); response != nil {
					add(response, "response", "id", "name")
				}
			}
		}
	}
	return all
}

func is(object []byte, key, value string) bool {
	text, ok := wire.Text(wire.Lookup(object, key))
	return ok && text == value
}

// flatten is what a result says, whether it was written as a text or as blocks.
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
	_ = json.Compact(&b, raw) // it is part of valid JSON, or nothing
	return b.String()
}

// quote is a text for an error, cut where it is long.
func quote(text string) string {
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
