package browsertest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// definitionsFile in the environment names a file that has more tools of the gallery, or an object with more of all
// that it lists, and with results by the method.
const definitionsFile = "BROWSERTEST_DEFINITIONS"

// answers is a server over stdio that answers requests by their method, or never for nil.
func answers(in io.Reader, out io.Writer, name string, answer func(method string, params json.RawMessage) any) {
	messages, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if messages.Decode(&m) != nil {
			return
		}
		if m.ID == nil {
			continue
		}
		var result any
		if m.Method == "initialize" {
			var p struct{ ProtocolVersion string }
			json.Unmarshal(m.Params, &p)
			result = object{"protocolVersion": p.ProtocolVersion, "serverInfo": object{"name": name, "version": "1"},
				"capabilities": object{"tools": object{}, "prompts": object{}, "resources": object{}}}
		} else {
			result = answer(m.Method, m.Params)
		}
		if result == nil {
			continue // it never answers
		}
		replies.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
	}
}

// gallery is an MCP server whose schemas and results are of every kind that the console shows.
func gallery(in io.Reader, out io.Writer, definitions string) {
	answers(in, out, "gallery", func(method string, params json.RawMessage) any {
		if result := given(definitions)[method]; result != nil {
			return result
		}
		switch method {
		case "tools/list":
			return object{"tools": append(galleryTools(), defined(definitions, "tools")...)}
		case "tools/call":
			var call struct {
				Name      string
				Arguments json.RawMessage
			}
			json.Unmarshal(params, &call)
			return galleryResult(call.Name, call.Arguments)
		case "prompts/list":
			return object{"prompts": append(defined(definitions, "prompts"), object{"name": "greet", "description": "Greets somebody.", "arguments": []object{{"name": "who", "description": "whom", "required": true}}})}
		case "prompts/get":
			return object{"messages": []object{{"role": "user", "content": object{"type": "text", "text": "Greet Ann."}}}}
		case "resources/list":
			return object{"resources": append(defined(definitions, "resources"), object{"uri": "file:///notes.md", "name": "notes", "mimeType": "text/markdown"})}
		case "resources/templates/list":
			return object{"resourceTemplates": append(defined(definitions, "resourceTemplates"), object{"uriTemplate": "file:///{name}", "name": "file"})}
		case "resources/read":
			return object{"contents": []object{{"uri": "file:///notes.md", "mimeType": "text/markdown", "text": markdown}}}
		}
		return object{}
	})
}

// defined returns the definitions of a kind in a file, which has lists by their kind, or those of tools alone.
func defined(file, kind string) (more []object) {
	all := given(file)
	if text, err := os.ReadFile(file); err == nil && all == nil && kind == "tools" {
		json.Unmarshal(text, &more)
	}
	json.Unmarshal(all[kind], &more)
	return more
}

// given returns the members of the object in a file; nil if there is none.
func given(file string) (all map[string]json.RawMessage) {
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// order is a schema with what forms find hard.
const order = `{
	"type": "object", "required": ["customer", "lines", "payment"],
	"properties": {
		"customer": {"type": "object", "description": "Who orders.", "required": ["name"], "properties": {
			"name": {"type": "string", "minLength": 2}, "age": {"type": ["integer", "null"], "minimum": 18}, "address": {"$ref": "#/$defs/address"}}},
		"lines": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["article", "count"], "properties": {
			"article": {"enum": ["tea", "coffee", "milk"]}, "count": {"type": "integer", "default": 1, "minimum": 1, "maximum": 99}}}},
		"payment": {"description": "How it is paid.", "oneOf": [
			{"type": "object", "required": ["by", "iban"], "properties": {"by": {"const": "transfer"}, "iban": {"type": "string"}}},
			{"type": "object", "required": ["by", "number"], "properties": {"by": {"const": "card"}, "number": {"type": "string"}, "month": {"type": "integer"}}}]},
		"gift": {"type": "boolean", "default": false},
		"colors": {"type": "array", "uniqueItems": true, "items": {"enum": ["red", "green", "blue"]}},
		"note": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
		"day": {"type": "string", "format": "date"},
		"extra": {"type": "object", "additionalProperties": true}
	},
	"$defs": {"address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}, "beside": {"$ref": "#/$defs/address"}}}}
}`

// endless is a schema that has no end, and grows with each step.
const endless = `{
	"type": "object", "required": ["a", "b", "c"], "allOf": [{"$ref": "#"}, {"$ref": "#"}],
	"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"$ref": "#"}, "d": {"enum": 5, "required": "x"}, "e": {"$ref": "#/%"}, "f": true}
}`

const markdown = `# Notes

A list of **things** with ` + "`code`" + `, a [link](https://example.com/a) and <b>no markup</b>:

1. one
2. two
   - within two

| name | size |
| --- | --- |
| a | 1 |

> quoted [bad](javascript:alert(1)) ![far](https://example.com/x.png)

` + "```go\nfunc main() {}\n```\n"

// png is a picture of one red pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

func galleryTools() []object {
	plain := func(name, description string, more ...object) object {
		t := object{"name": name, "description": description, "inputSchema": object{"type": "object"}, "annotations": object{"readOnlyHint": true}}
		for _, m := range more {
			for k, v := range m {
				t[k] = v
			}
		}
		return t
	}
	return []object{
		{"name": "order", "title": "Order", "description": "Orders articles.", "inputSchema": json.RawMessage(order), "annotations": object{"destructiveHint": true}},
		plain("report", "A report in Markdown."),
		plain("rows", "Rows of a table.", object{"outputSchema": object{"type": "object"}}),
		plain("picture", "A picture and a sound."),
		plain("attack", "Text that would be harmful as HTML."),
		plain("fail", "Fails."),
		plain("wait", "Never ends."),
		plain("odd", "Its result is like no other."),
		{"name": "endless", "description": "Its schema contains itself.", "inputSchema": json.RawMessage(endless)},
	}
}

// attack is what must never become a part of the page.
const attack = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script> **bold** <iframe src="https://example.com"></iframe>`

func galleryResult(name string, arguments json.RawMessage) any {
	text := func(text string) object { return object{"type": "text", "text": text} }
	switch name {
	case "wait":
		return nil
	case "order":
		return object{"content": []object{text(string(arguments))}}
	case "report":
		return object{"content": []object{text(markdown)}}
	case "rows":
		var rows []object
		for i := range 300 {
			rows = append(rows, object{"id": i, "name": fmt.Sprintf("row %d", 299-i), "late": i%2 == 0})
		}
		whole := object{"rows": rows}
		raw, _ := json.Marshal(whole)
		return object{"content": []object{text(string(raw))}, "structuredContent": whole}
	case "picture":
		return object{"content": []object{{"type": "image", "mimeType": "image/png", "data": png}, {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}, {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy8+"}}}
	case "attack":
		return object{"content": []object{text(attack)}}
	case "odd":
		return object{"content": []any{object{"type": "text"}, object{"type": "image", "mimeType": 5}, object{"type": "new"}, object{"type": "resource"}, text(strings.Repeat("[", 100_000))}}
	case "fail":
		return object{"content": []object{text("it did not work")}, "isError": true}
	}
	return object{"content": []object{text("done")}}
}

// manyTools is how many tools the long list has.
const manyTools = 10_000

// many is an MCP server with many tools.
func many(in io.Reader, out io.Writer) {
	var tools []object
	for i := range manyTools {
		tools = append(tools, object{"name": fmt.Sprintf("tool_%05d", i), "description": fmt.Sprintf("Does thing %d of the %d that there are.", i, manyTools), "inputSchema": object{"type": "object"}})
	}
	answers(in, out, "many", func(method string, _ json.RawMessage) any {
		switch method {
		case "tools/list":
			return object{"tools": tools}
		case "tools/call":
			return object{"content": []object{{"type": "text", "text": "done"}}}
		}
		return object{}
	})
}
