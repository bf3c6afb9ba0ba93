package prompted

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// testTools are the offered tools.
var testTools = sync.OnceValue(func() *providers.ToolSet {
	return providers.NewToolSet([]toolformat.Tool{
		{Name: "get_weather", Description: "Get current weather for a location.", InputSchema: json.RawMessage(`{"type":"object","properties":{"location":{"type":"string"},"unit":{"type":"string"}},"required":["location"]}`)},
		{Name: "add", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}}}`)},
		{Name: "files.write", InputSchema: json.RawMessage(`{"type":"object"}`)},
	})
})

// newTestScanner returns a scanner that emits to out.
func newTestScanner(most int, out func(piece)) *scanner {
	return newScannerIn(&grammars[0], most, out)
}

func newScannerIn(g *grammar, most int, out func(piece)) *scanner {
	return newScanner(testSyntax(), g, toolsOf(request()), most, out)
}

var testSyntax = sync.OnceValue(newSyntax)

// scanned returns what a scanner emits for a text in pieces: texts, joined, in quotes, and calls
// as name and arguments.
func scanned(most int, portions ...string) string {
	return emitted(func(out func(piece)) *scanner { return newTestScanner(most, out) }, portions...)
}

// emitted is scanned for any scanner.
func emitted(open func(out func(piece)) *scanner, portions ...string) string {
	var all []piece
	s := open(func(p piece) {
		if n := len(all); n > 0 && p.kind != providers.PartCall && all[n-1].kind == p.kind {
			all[n-1].text += p.text
		} else {
			all = append(all, p)
		}
	})
	for _, p := range portions {
		s.write(p)
	}
	s.close()
	var lines []string
	for _, p := range all {
		switch p.kind {
		case providers.PartText:
			lines = append(lines, fmt.Sprintf("%q", p.text))
		case providers.PartThinking:
			lines = append(lines, fmt.Sprintf("thinks %q", p.text))
		case providers.PartCall:
			lines = append(lines, p.call.name+" "+string(p.call.arguments))
		}
	}
	if s.ended {
		lines = append(lines, "over")
	}
	return strings.Join(lines, "\n")
}

const paris = `{"name": "get_weather", "arguments": {"location": "Paris"}}`
const inParis = `get_weather {"location": "Paris"}`

// A scanCase is a text and the result of scanned.
type scanCase struct{ name, text, want string }

var scannerCases = []scanCase{
	{"text alone", "Hello.", `"Hello."`},
	{"nothing", "", ""},
	{"Hermes", "<tool_call>\n" + paris + "\n</tool_call>", inParis},
	{"with text around", "Let me see.\n<tool_call>" + paris + "</tool_call>\nOne moment.", `"Let me see.\n"` + "\n" + inParis + "\n" + `"\nOne moment."`},
	{"several, one after another", "<tool_call>" + paris + "</tool_call>\n<tool_call>" + paris + "</tool_call>\n", inParis + "\n" + inParis},
	{"several in one form", "<tool_call>" + paris + "\n" + paris + "</tool_call>", inParis + "\n" + inParis},
	{"an array", "<tool_calls>[" + paris + ", " + paris + "]</tool_calls>", inParis + "\n" + inParis},
	{"with OpenAI's envelope", `<tool_call>{"id":"x","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}</tool_call>`, `add {"a":1}`},
	{"OpenAI's message", `{"tool_calls":[{"type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]}`, `add {"a":1}`},
	{"arguments first", `<tool_call>{"arguments":{"a":1},"name":"add"}</tool_call>`, `add {"a":1}`},
	{"no arguments", `<tool_call>{"name":"add"}</tool_call>`, `add {}`},
	{"arguments null", `<tool_call>{"name":"add","arguments":null}</tool_call>`, `add {}`},
	{"arguments an empty string", `<tool_call>{"name":"add","arguments":""}</tool_call>`, `add {}`},
	{"arguments no object", `<tool_call>{"name":"add","arguments":"five"}</tool_call>`, `add "five"`},
	{"big numbers", `<tool_call>{"name":"add","arguments":{"a":12345678901234567890,"b":1.0}}</tool_call>`, `add {"a":12345678901234567890,"b":1.0}`},
	{"tag in any letter case", "<Tool_Call>" + paris + "</TOOL_CALL>", inParis},
	{"own name for the format's", `<tool_call>{"name":"files.write","arguments":{}}</tool_call>`, `files.write {}`},
	{"the format's name", `<tool_call>{"name":"` + testTools().WireName(format, "files.write") + `","arguments":{}}</tool_call>`, `files.write {}`},
	{"an unknown tool", `<tool_call>{"name":"rm","arguments":{}}</tool_call>`, `rm {}`},
	{"an unknown tool, arguments first", `<tool_call>{"arguments":{},"name":"rm"}</tool_call>!`, "rm {}\n\"!\""},
	{"an unknown tool among known ones", "<tool_call>[" + paris + `,{"name":"rm","arguments":{}}]</tool_call>`, inParis + "\nrm {}"},
	{"an unknown tool, bare", `{"name":"rm","arguments":{}}`, `"{\"name\":\"rm\",\"arguments\":{}}"`},
	{"an unknown tool in Python", "<tool_call>rm(a=1)</tool_call>", `rm {"a":1}`},
	{"an unknown function of Python", "```tool_code\nlen(\"x\")\n```", `"` + "```tool_code\\nlen(\\\"x\\\")\\n```" + `"`},
	{"an unknown tool of Mistral", `[TOOL_CALLS]rm[ARGS]{"a":1}`, `rm {"a":1}`},
	{"an unknown tool without arguments that can be read", `[TOOL_CALLS]rm{x}`, `"[TOOL_CALLS]rm{x}"`},
	{"an unknown name of several words", `<tool_call>{"name":"no such\u0007","arguments":{}}</tool_call>`, fmt.Sprintf("%q", `<tool_call>{"name":"no such\u0007","arguments":{}}</tool_call>`)},
	{"a name in a namespace", `<tool_call>{"name":"functions.add","arguments":{"a":1}}</tool_call>`, `add {"a":1}`},
	{"a name in another namespace", `<tool_call>{"name":"os.add","arguments":{"a":1}}</tool_call>`, `os.add {"a":1}`},
	{"a name with a number", `<tool_call>{"name":"functions.add:0","arguments":{"a":1}}</tool_call>`, `add {"a":1}`},
	{"a name with other separators", `{"name":"Get-Weather","arguments":{}}`, `get_weather {}`},
	{"a function in a namespace", "<function=functions.add></function>", `add {}`},
	{"Anthropic's keys", `<tool_call>{"tool_name":"add","tool_input":{"a":1}}</tool_call>`, `add {"a":1}`},
	{"ReAct's keys", "```json\n" + `{"action":"add","action_input":{"a":1}}` + "\n```", `add {"a":1}`},
	{"arguments beside the name", `<tool_call>{"name":"add","a":1,"b":2}</tool_call>`, `add {"a":1,"b":2}`},
	{"arguments in an unknown member", `<tool_call>{"name":"add","payload":{"a":1}}</tool_call>`, `add "{\"name\":\"add\",\"payload\":{\"a\":1}}"`},
	{"some arguments beside the others", `<tool_call>{"name":"add","arguments":{"a":1},"b":2}</tool_call>`, `add "{\"name\":\"add\",\"arguments\":{\"a\":1},\"b\":2}"`},
	{"two names", `<tool_call>{"name":"add","tool":"get_weather","arguments":{}}</tool_call>`, `get_weather "{\"name\":\"add\",\"tool\":\"get_weather\",\"arguments\":{}}"`},
	{"two arguments", `<tool_call>{"name":"add","args":{"a":1},"parameters":{"a":2}}</tool_call>`, `add "{\"name\":\"add\",\"args\":{\"a\":1},\"parameters\":{\"a\":2}}"`},
	{"bare, behind a bracket of prose", "in [0, 1):\n\n" + paris, "\"in [0, 1):\\n\\n\"\n" + inParis},
	{"another member", `<tool_call>{"name":"add","arguments":{"a":1},"why":"so"}</tool_call>`, `add {"a":1}`},
	{"another member, bare", `{"name":"add","arguments":{"a":1},"why":"so"}`, fmt.Sprintf("%q", `{"name":"add","arguments":{"a":1},"why":"so"}`)},
	{"the tag in prose", "Use the <tool_call> tag, or <b>not</b>.", `"Use the <tool_call> tag, or <b>not</b>."`},
	{"an end without a beginning", "so </tool_call> it is", `"so </tool_call> it is"`},
	{"a tag in a string", `<tool_call>{"name":"add","arguments":{"a":"</tool_call>"}}</tool_call>.`, "add {\"a\":\"</tool_call>\"}\n\".\""},
	{"no end", "<tool_call>" + paris, inParis},
	{"no end, text behind", "<tool_call>" + paris + "\nthat is it", inParis + "\n" + `"\nthat is it"`},
	{"no end, another behind", "<tool_call>" + paris + "\n<tool_call>" + paris, inParis + "\n" + inParis},
	{"one brace too many", "<tool_call>" + paris + "}</tool_call>.", inParis + "\n" + `"."`},
	{"a brace too few", `<tool_call>{"name":"add","arguments":{"a":1}</tool_call>.`, "add {\"a\":1}\n\".\""},
	{"braces too few at the end", `<tool_call>{"name":"add","arguments":{"a":[1`, `add "{\"name\":\"add\",\"arguments\":{\"a\":[1"`},
	{"a quote too few", `<tool_call>{"name":"add","arguments":{"a":"1}}</tool_call>.`, `add "{\"name\":\"add\",\"arguments\":{\"a\":\"1}}"` + "\n" + `"."`},
	{"what no JSON has", `<tool_call>{"name":"add","arguments":{"a":<1>}}</tool_call>.`, `add "{\"name\":\"add\",\"arguments\":{\"a\":<1>}}"` + "\n" + `"."`},
	{"a value too few", `<tool_call>{"name":"add","arguments":{"a":}}</tool_call>.`, `add "{\"name\":\"add\",\"arguments\":{\"a\":}}"` + "\n" + `"."`},
	{"a block of code in a form", "<tool_call>\n```json\n" + paris + "\n```\n</tool_call>", inParis},
	{"JSON in a block of code", "I will:\n```json\n" + paris + "\n```\nDone.", `"I will:\n"` + "\n" + inParis + "\n" + `"\nDone."`},
	{"an array in a block of code", "```\n[" + paris + "," + paris + "]\n```", inParis + "\n" + inParis},
	{"several in a block of code", "```json\n" + paris + "\n" + paris + "\n```", inParis + "\n" + inParis},
	{"other JSON in a block of code", "```json\n{\"a\": 1}\n```", `"` + "```json\\n{\\\"a\\\": 1}\\n```" + `"`},
	{"a call in a program", "```python\n" + paris + "\n```\n" + paris, fmt.Sprintf("%q", "```python\n"+paris+"\n```\n") + "\n" + inParis},
	{"a tag in a block of code", "```xml\n<tool_call>" + paris + "</tool_call>\n```", fmt.Sprintf("%q", "```xml\n<tool_call>"+paris+"</tool_call>\n```")},
	{"bare", " \n" + paris + "\n", inParis},
	{"bare, after text", "Here:\n" + paris, `"Here:\n"` + "\n" + inParis},
	{"bare array", "[" + paris + "]", inParis},
	{"bare, separated", paris + "; " + paris, inParis + "\n" + inParis},
	{"bare, not where a line begins", "as in " + paris, fmt.Sprintf("%q", "as in "+paris)},
	{"bare, indented", "a:\n  " + paris, fmt.Sprintf("%q", "a:\n  "+paris)},
	{"bare, without arguments", `{"name": "add"}`, `"{\"name\": \"add\"}"`},
	{"JSON as an answer", "{\"result\": {\"a\": [1, 2]}}", `"{\"result\": {\"a\": [1, 2]}}"`},
	{"a footnote", "[1] Says who?\n[2]: me", `"[1] Says who?\n[2]: me"`},
	{"Llama's parameters", `{"type": "function", "name": "add", "parameters": {"a": 1}}`, `add {"a": 1}`},
	{"Llama's tag", `<|python_tag|>{"name": "add", "parameters": {"a": 1}}`, `add {"a": 1}`},
	{"Llama's list", `[add(a=1, b=-2.5), get_weather(location='Paris')]`, "add {\"a\":1,\"b\":-2.5}\nget_weather {\"location\":\"Paris\"}"},
	{"Llama's function", `<function=add>{"a": 1}</function>.`, "add {\"a\": 1}\n\".\""},
	{"Llama's function without end", `<function=add>{"a": 1}`, `add {"a": 1}`},
	{"Qwen's function", "<tool_call>\n<function=get_weather>\n<parameter=location>\nParis\n</parameter>\n<parameter=unit>\nc\n</parameter>\n</function>\n</tool_call>", `get_weather {"location":"Paris","unit":"c"}`},
	{"Qwen's function, its end in a parameter", "<function=add>\n<parameter=a>\n</function>\n</parameter>\n</function>", `add {"a":"</function>"}`},
	{"Qwen's function without end", "<function=add>\n<parameter=a>\n1", `add "<parameter=a>\n1"`},
	{"Qwen's parameter without end", "<function=add>\n<parameter=a>\n1\n<parameter=b>\n2\n</parameter>\n</function>", `add {"a":"1","b":"2"}`},
	{"Qwen's last parameter without end", "<tool_call><function=add>\n<parameter=a>\n1\n</function></tool_call>", `add {"a":"1"}`},
	{"Qwen's parameter with the beginning of another", "<function=add>\n<parameter=a>\n<parameter=a> <parameter=c>\n</parameter>\n</function>", `add {"a":"<parameter=a> <parameter=c>"}`},
	{"Qwen's function without its own end", "<tool_call><function=add>\n<parameter=a>\n1\n</parameter></tool_call>", `add {"a":"1"}`},
	{"Qwen's function, cut between parameters", "<function=add>\n<parameter=a>\n1\n</parameter>\n", `add "<parameter=a>\n1\n</parameter>"`},
	{"a function without parameters", "<function=add></function>", `add {}`},
	{"an unknown function", "<function=rm></function>", `rm {}`},
	{"Mistral's list", "[TOOL_CALLS] [" + paris + "]", inParis},
	{"Mistral's names", `[TOOL_CALLS]add{"a": 1}[TOOL_CALLS]add{"a": 2}`, "add {\"a\": 1}\nadd {\"a\": 2}"},
	{"Mistral's names, then an unknown one", `[TOOL_CALLS]add{"a": 1}[TOOL_CALLS]rm{"a": 2}`, "add {\"a\": 1}\nrm {\"a\": 2}"},
	{"Mistral's names, then prose", `[TOOL_CALLS]add{"a": 1}x{"a": 2}`, "add {\"a\": 1}\n" + `"x{\"a\": 2}"`},
	{"Mistral's marks", `[TOOL_CALLS]add[CALL_ID]x1[ARGS]{"a": 1}`, `add {"a": 1}`},
	{"Llama 4", `<|python_start|>[add(a=1), add(a=2)]<|python_end|>`, "add {\"a\":1}\nadd {\"a\":2}"},
	{"LFM2", `So.<|tool_call_start|>[add(a=1)]<|tool_call_end|>.`, "\"So.\"\nadd {\"a\":1}\n\".\""},
	{"Command-A", `<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", "tool_name": "add", "parameters": {"a": 1}}]<|END_ACTION|>`, "thinks \"hm\"\nadd {\"a\": 1}"},
	{"Nemotron", `<TOOLCALL>[` + paris + `]</TOOLCALL>`, inParis},
	{"InternLM", `<|action_start|><|plugin|>` + "\n" + paris + `<|action_end|>`, inParis},
	{"Kimi", `<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a":1}<|tool_call_end|><|tool_call_begin|>functions.add:1<|tool_call_argument_begin|>{"a":2}<|tool_call_end|><|tool_calls_section_end|>.`, "add {\"a\":1}\nadd {\"a\":2}\n\".\""},
	{"DeepSeek V3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{\"a\":1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>.", "add {\"a\":1}\n\".\""},
	{"DeepSeek V3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{\"a\":1}<｜tool▁call▁end｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{\"a\":2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "add {\"a\":1}\nadd {\"a\":2}"},
	{"DeepSeek with bars of ASCII", "<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>add\n```json\n{\"a\":1}\n```<|tool▁call▁end|><|tool▁calls▁end|>", "add {\"a\":1}"},
	{"forms in a form", "<tool_calls>\n    <tool_call>" + paris + "</tool_call>\n    <tool_call>" + paris + "</tool_call>\n</tool_calls>.", inParis + "\n" + inParis + "\n\".\""},
	{"a form in a block of code", "```tool_call\n<tool_call>" + paris + "</tool_call>\n```.", inParis + "\n\".\""},
	{"forms without their ends in a form", "<tool_calls><tool_call>" + paris + "<tool_call>" + paris + "</tool_calls>", inParis + "\n" + inParis},
	{"Gemma's call in a form without an end", `[TOOL_CALLS]call:add{a:1} and more`, `"[TOOL_CALLS]call:add{a:1} and more"`},
	{"Mistral's mark in prose", `[TOOL_CALLS] is a token`, `"[TOOL_CALLS] is a token"`},
	{"seed 004's tool_use", `I look.<tool_use>{"name": "get_weather", "input": {"location": "Paris"}}</tool_use>`, `"I look."` + "\n" + `get_weather {"location": "Paris"}`},
	{"a function whose parameters cannot be read", "<function=add>a=1</function>.", `add "a=1"` + "\n" + `"."`},
	{"a function whose arguments cannot be read", `<function=add>{"a":<}</function>.`, `add "{\"a\":<}"` + "\n" + `"."`},
	{"a function's tag that goes on", "<function=add is what I mean", `"<function=add is what I mean"`},
	{"Python that cannot be read", "<tool_call>add(a=<1>)</tool_call>.", `add "(a=<1>)"` + "\n" + `"."`},
	{"Python with a value too many", "```tool_code\nadd(1, 2, 3)\n```", `add "(1, 2, 3)"`},
	{"Python that prints something else", "```tool_code\nprint(1)\n```", `"` + "```tool_code\\nprint(1)\\n```" + `"`},
	{"a name and nothing else", "tool_call: add", `"tool_call: add"`},
	{"a name and something else", "tool_call: add, then", `"tool_call: add, then"`},
	{"Mistral's marks, then something else", `[TOOL_CALLS]add[ARGS]1`, `"[TOOL_CALLS]add[ARGS]1"`},
	{"a name and a bracket", `[TOOL_CALLS]add[0]`, `"[TOOL_CALLS]add[0]"`},
	{"a bracket that is missing", `<tool_call>{"name":"add","arguments":{"a":[1}}</tool_call>.`, "add {\"a\":[1]}\n\".\""},
	{"brackets that do not match", `<tool_call>{"name":"add","arguments":{"a":[1},"b":2}}</tool_call>.`, `add "{\"name\":\"add\",\"arguments\":{\"a\":[1},\"b\":2}}"` + "\n" + `"."`},
	{"deeper than anything", `<tool_call>{"name":"add","arguments":` + strings.Repeat("[", 600), fmt.Sprintf("add %q", `{"name":"add","arguments":`+strings.Repeat("[", 600))},
	{"a key that never ends", "\n{\"" + strings.Repeat("k", 200), fmt.Sprintf("%q", "\n{\""+strings.Repeat("k", 200))},
	{"thinking", "<think>\n<tool_call>" + paris + "</tool_call> no.</think>\n\nHello.", fmt.Sprintf("thinks %q", "\n<tool_call>"+paris+"</tool_call> no.") + "\n" + `"\n\nHello."`},
	{"no thought", "<think>\n\n</think>\n\n" + paris, inParis},
	{"Magistral's thinking", "[THINK]" + paris + "[/THINK]Hello.", fmt.Sprintf("thinks %q", paris) + "\n" + `"Hello."`},
	{"a block of code behind a lone quotation mark", "He said \"so:\n```json\n" + paris + "\n```\nIt is \"so\" now.", `"He said \"so:\n"` + "\n" + inParis + "\n" + `"\nIt is \"so\" now."`},
	{"words behind a call in a block of code", "```json\n" + paris + "\nor <tool_call>" + paris + "</tool_call>\n```\n<tool_call>" + paris + "</tool_call>", inParis + "\n" + fmt.Sprintf("%q", "\nor <tool_call>"+paris+"</tool_call>\n```\n") + "\n" + inParis},
	{"thinking without end", "<think>hm </thin", `thinks "hm </thin"`},
	{"thinking later on", "I <think> so", `"I <think> so"`},
	{"a result that the model makes up", "<tool_call>" + paris + "</tool_call>\n<tool_response>\nsunny</tool_response>\n<tool_call>" + paris + "</tool_call>", inParis + "\nover"},
	{"a result without a call", "<tool_response>", `"<tool_response>"`},
}

func TestScanner(t *testing.T) { runScans(t, scannerCases) }

func runScans(t *testing.T, cases []scanCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := scanned(1<<20, c.text); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			if got := scanned(1<<20, portions(c.text, nil)...); got != c.want {
				t.Errorf("byte by byte:\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A call that is longer than the limit is malformed, or text if its tool is not known.
func TestTooLong(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []scanCase{
		{"with a name", `<tool_call>{"name":"add","arguments":{"a":"` + long, fmt.Sprintf("add %q", `{"name":"add","arguments":{"a":"`+long[:100-43]) + "\n" + fmt.Sprintf("%q", long[:43])},
		{"without a name", `<tool_call>{"arguments":"` + long, fmt.Sprintf("%q", `<tool_call>{"arguments":"`+long)},
		{"bare", `{"name":"add","arguments":"` + long + `"}`, fmt.Sprintf("%q", `{"name":"add","arguments":"`+long+`"}`)},
		{"short", `{"name":"add","arguments":{}}`, "add {}"},
	} {
		for _, text := range [][]string{{c.text}, portions(c.text, nil)} {
			if got := scanned(100, text...); got != c.want {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
			}
		}
	}
}

func TestLiteral(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{` {"a": 1.0}`, ` {"a": 1.0}`},
		{`{'a': (1, 2,), "b": True, c: None, 'd': False,}`, `{"a":[1,2],"b":true,"c":null,"d":false}`},
		{`"""say "hi" """`, ``},
		{`"a" 'b'`, `"ab"`},
		{`'\ud83d\ude00 \u00e9 \ud83d \ud83d\u0041'`, `"😀 é \ufffd \ufffdA"`},
		{`'a\
b\t\r\b\f\/\'\q\u12'`, `"ab\t\r\b\f/'\\q\\u12"`},
		{`[-1, 1e+5, 0.5]`, `[-1,1e+5,0.5]`},
		{`[.5]`, ``}, {`[1_000]`, ``}, {`[01]`, ``}, {`{1: 2}`, `{"1":2}`}, {`{,}`, ``}, {`[1 2]`, ``}, {`{"a" 1}`, ``}, {`'a`, ``}, {`'a\`, ``}, {`[] []`, ``}, {"\x00", ``}, {`maybe`, ``}, {``, ``},
		{strings.Repeat("[", 600) + strings.Repeat("]", 600), ``},
	} {
		got, ok := toJSON([]byte(c.in))
		if ok != (c.want != "") || ok && !sameJSON(string(got), c.want) {
			t.Errorf("%s: %s, %v, want %s", c.in, got, ok, c.want)
		}
	}
}

// sorted returns arguments with sorted keys. A value that is JSON in a string is that JSON, as after
// the conversion to a schema.
func sorted(arguments []byte) string {
	var object map[string]any
	if err := json.Unmarshal(arguments, &object); err != nil {
		return err.Error() + ": " + string(arguments)
	}
	for key, value := range object {
		if text, ok := value.(string); ok {
			var inner any
			if json.Unmarshal([]byte(text), &inner) == nil {
				object[key] = inner
			}
		}
	}
	b, _ := json.Marshal(object)
	return string(b)
}

// sameJSON compares JSON, whatever the escapes in its strings.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// The forms that AbstractLLM asks for, by family of models, and texts that its parser gets
// wrong.
var abstractCases = []scanCase{
	{"qwen", "<|tool_call|>\n" + paris + "\n</|tool_call|>", inParis},
	{"qwen: a brace in a string", `<|tool_call|>{"name":"get_weather","arguments":{"location":"a } b"}}</|tool_call|>`, `get_weather {"location":"a } b"}`},
	{"qwen: function and parameters", `<|tool_call|>{"function":"add","parameters":{"a":1}}</|tool_call|>`, `add {"a":1}`},
	{"qwen: bare bars", `|tool_call|` + paris + `|/tool_call|`, inParis},
	{"qwen: no end", `<|tool_call|>` + paris + "\n", inParis},
	{"qwen: a brace missing", `<|tool_call|>{"name":"add","arguments":{"a":1}</|tool_call|>`, `add {"a":1}`},
	{"qwen: a line break in a string", "<|tool_call|>{\"name\":\"get_weather\",\"arguments\":{\"location\":\"a\nb\"}}</|tool_call|>", `get_weather {"location":"a\nb"}`},
	{"qwen: tag in upper case", "<|TOOL_CALL|>" + paris + "</|TOOL_CALL|>", inParis},
	{"llama and mistral", `<function_call>` + paris + `</function_call>`, inParis},
	{"llama: raw JSON", paris, inParis},
	{"phi", `<tool_call>` + paris + `</tool_call>`, inParis},
	{"phi: raw JSON", paris, inParis},
	{"raw JSON: deeper than two levels", `{"name":"add","arguments":{"a":{"b":{"c":{"d":[{}]}}}}}`, `add {"a":{"b":{"c":{"d":[{}]}}}}`},
	{"raw JSON: something with a name", `{"name":"bob","age":3}`, `"{\"name\":\"bob\",\"age\":3}"`},
	{"raw JSON: arguments as a string", `{"name":"add","arguments":"{\"a\": 1}"}`, `add {"a": 1}`},
	{"gemma", "```tool_code\nget_weather(location=\"Paris\")\n```", `get_weather {"location":"Paris"}`},
	{"gemma: on one line", "```tool_code get_weather(location=\"Paris\")```", `get_weather {"location":"Paris"}`},
	{"gemma: tool_call", "```tool_call\nget_weather(location=\"Paris\")\n```", `get_weather {"location":"Paris"}`},
	{"gemma: a line", "tool_call: get_weather(location=\"Paris\")", `get_weather {"location":"Paris"}`},
	{"gemma: a comma in a string", "```tool_code\nget_weather(location=\"x, y\")\n```", `get_weather {"location":"x, y"}`},
	{"gemma: numbers and others", "```tool_code\nadd(a=1.5, b=-2, c=True, d=None, e=[1, (2,)], f={'k': \"it's\"})\n```", `add {"a":1.5,"b":-2,"c":true,"d":null,"e":[1,[2]],"f":{"k":"it's"}}`},
	{"gemma: print", "```tool_code\nprint(get_weather(location=\"Paris\"))\n```", `get_weather {"location":"Paris"}`},
	{"gemma: an object in front", "```tool_code\nprint(default_api.add(a=1))\n```", `add {"a":1}`},
	{"gemma: by place", "```tool_code\nget_weather(\"Paris\", unit='c')\n```", `get_weather {"location":"Paris","unit":"c"}`},
	{"gemma: several", "```tool_code\nadd(a=1)\nadd(a=2)\n```", "add {\"a\":1}\nadd {\"a\":2}"},
	{"the example of the prompt, copied", `<|tool_call|>{'name': 'get_weather', 'arguments': {'location': 'value'}}</|tool_call|>`, `get_weather {"location":"value"}`},
	{"a Windows path", `<tool_call>{"name": "get_weather", "arguments": {"location": "C:\Users\new"}}</tool_call>`, `get_weather {"location":"C:\\Users` + `\new"}`},
}

func TestAbstractLLM(t *testing.T) { runScans(t, abstractCases) }
