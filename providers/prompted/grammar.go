package prompted

import (
	"slices"
	"strings"
)

// A grammar is how a family of models writes calls and is told of their results. Its templates
// have the letters of placeholders behind %: see render.
type grammar struct {
	name   string
	models []string // parts of the names of its models, see grammarOf

	turn    pair   // around all calls of a turn; none if each stands alone
	call    pair   // around each call
	body    string // a call between its marks: a template; "" means that of Hermes
	each    string // an argument in body
	quote   string // the quotation mark of strings in %g
	between string // calls of a turn
	result  pair   // around each result
	content string // a result between its marks: a template
	results pair   // around all results of a turn

	plain bool   // call.open is text that may occur anywhere: it counts at the start of a line, for models of this grammar
	bare  bool   // call.open precedes each reply but is not a part of it, and only tools that exist are called
	words string // stand in place of a call before words for the user
}

// A pair is the marks before and behind something.
type pair struct{ open, end string }

const (
	hermesBody    = "\n{\"name\": %q, \"arguments\": %a}\n"
	hermesContent = "\n{\"name\": %q, \"content\": %c}\n"
	objectBody    = `{"name": %q, "arguments": %a}`
	dsmlBody      = "<｜DSML｜invoke name=\"%n\">\n%e</｜DSML｜invoke>\n"
	dsmlEach      = "<｜DSML｜parameter name=\"%k\" string=\"%s\">%v</｜DSML｜parameter>\n"
)

var (
	hermesCall   = pair{"<tool_call>", "</tool_call>"}
	hermesResult = pair{"<tool_response>", "</tool_response>"}
)

// grammars begin with the one of models whose family is not known. Each is read from every model,
// except for those that are plain.
var grammars = []grammar{
	{name: "hermes", models: []string{"hermes"}, call: hermesCall, body: hermesBody, result: hermesResult, content: hermesContent},
	{name: "qwen-coder", models: []string{"qwen3-coder", "qwen3-5", "nemotron-3"},
		call: hermesCall, body: "\n<function=%n>\n%e</function>\n", each: "<parameter=%k>\n%v\n</parameter>\n",
		result: hermesResult, content: "\n%c\n"},
	{name: "seed", models: []string{"seed-oss"},
		call: pair{"<seed:tool_call>", "</seed:tool_call>"}, body: "\n<function=%n>\n%e</function>\n", each: "<parameter=%k>%v</parameter>\n",
		result: hermesResult, content: hermesContent},
	{name: "deepseek-dsml", models: []string{"deepseek-v3-2"},
		turn: pair{"<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"}, body: dsmlBody, each: dsmlEach,
		result: pair{"<result>", "</result>"}, content: "%c", results: pair{"<function_results>", "</function_results>"}},
	{name: "deepseek-v4", models: []string{"deepseek-v4"},
		turn: pair{"<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>"}, body: dsmlBody, each: dsmlEach,
		result: pair{"<tool_result>", "</tool_result>"}, content: "%c"},
	{name: "deepseek-v3.1", models: []string{"deepseek-v3-1"},
		turn: pair{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
		call: pair{"<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"}, body: "%n<｜tool▁sep｜>%a",
		result: pair{"<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"}, content: "%c"},
	{name: "deepseek-v3", models: []string{"deepseek-v3", "deepseek-r1"},
		turn: pair{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
		call: pair{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁call▁end｜>"}, body: "%n\n```json\n%a\n```", between: "\n",
		result: pair{"<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"}, content: "%c", results: pair{"<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"}},
	{name: "kimi", models: []string{"kimi-k2"},
		turn: pair{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
		call: pair{"<|tool_call_begin|>", "<|tool_call_end|>"}, body: "functions.%n:%i<|tool_call_argument_begin|>%a",
		result: pair{open: "## Return of functions."}, content: "%n:%i\n%c"},
	{name: "glm", models: []string{"glm-4-5", "glm-4-6", "glm-4-7", "glm-5"},
		call: hermesCall, body: "%n\n%e", each: "<arg_key>%k</arg_key>\n<arg_value>%v</arg_value>\n",
		result: hermesResult, content: "\n%c\n"},
	{name: "minimax", models: []string{"minimax-m2"},
		turn: pair{"<minimax:tool_call>\n", "</minimax:tool_call>"}, body: "<invoke name=\"%n\">\n%e</invoke>\n", each: "<parameter name=\"%k\">%v</parameter>\n",
		result: pair{"<response>", "</response>"}, content: "%c"},
	{name: "gemma4", models: []string{"gemma-4-", "gemma4"},
		call: pair{"<|tool_call>", "<tool_call|>"}, body: "call:%n%g", quote: textMarks[0],
		result: pair{"<|tool_response>", "<tool_response|>"}, content: "response:%n{value:%c}"},
	{name: "functiongemma", models: []string{"functiongemma"},
		call: pair{"<start_function_call>", "<end_function_call>"}, body: "call:%n%g", quote: textMarks[1],
		result: pair{"<start_function_response>", "<end_function_response>"}, content: "response:%n{value:%c}"},
	{name: "lfm2", models: []string{"lfm2"},
		turn: pair{"<|tool_call_start|>[", "]<|tool_call_end|>"}, body: "%n(%p)", between: ", ",
		result: pair{"<|tool_response_start|>", "<|tool_response_end|>"}, content: "%c"},
	{name: "llama4", models: []string{"llama-4", "llama4"},
		turn: pair{"<|python_start|>[", "]<|python_end|>"}, body: "%n(%p)", between: ", ",
		result: hermesResult, content: hermesContent},
	{name: "command-a", models: []string{"command-a", "command-r7b"},
		turn: pair{"<|START_ACTION|>[\n", "\n]<|END_ACTION|>"}, body: `    {"tool_call_id": "%i", "tool_name": %q, "parameters": %a}`, between: ",\n",
		result: pair{"<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"}, content: "[\n    {\"tool_call_id\": \"%i\", \"results\": {\"0\": %c}, \"is_error\": null}\n]"},
	{name: "internlm", models: []string{"internlm2", "internlm3"},
		call: pair{"<|action_start|><|plugin|>", "<|action_end|>"}, body: "\n{\"name\": %q, \"parameters\": %a}",
		result: hermesResult, content: hermesContent},
	{name: "nemotron", models: []string{"nemotron-nano", "nemotron-h", "nemotron-super", "nemotron-ultra"},
		turn: pair{"<TOOLCALL>[", "]</TOOLCALL>"}, body: objectBody, between: ", ",
		result: pair{"<TOOL_RESPONSE>[", "]</TOOL_RESPONSE>"}, content: "%c"},
	{name: "apertus", models: []string{"apertus"},
		turn: pair{"<|tools_prefix|>[", "]<|tools_suffix|>"}, body: `{%q: %a}`, between: ", ",
		result: hermesResult, content: hermesContent},
	{name: "mistral", models: []string{"mistral-small", "mistral-medium", "mistral-large", "mistral-nemo", "ministral", "magistral", "devstral"},
		turn: pair{open: "[TOOL_CALLS][", end: "]"}, body: objectBody, between: ", ",
		result: pair{"[TOOL_RESULTS]", "[/TOOL_RESULTS]"}, content: `{"content": %c}`},
	{name: "olmo3", models: []string{"olmo-3"},
		turn: pair{"<function_calls>", "</function_calls>"}, body: "%n(%p)", between: "\n",
		result: hermesResult, content: hermesContent},
	{name: "functools", models: []string{"firefunction", "phi-4-mini"},
		turn: pair{open: "functools[", end: "]"}, body: objectBody, between: ", ",
		result: hermesResult, content: hermesContent, plain: true},
	{name: "functionary", models: []string{"functionary"},
		call: pair{open: ">>>"}, body: "%n\n%a", between: "\n",
		result: hermesResult, content: hermesContent, plain: true, bare: true, words: "all\n"},
	{name: "react", models: nil, // a way to prompt any model
		call: pair{open: "Action:"}, body: " %n\nAction Input: %a", between: "\n",
		result: pair{open: "Observation:"}, content: " %c", plain: true},
	{name: harmony, models: []string{"gpt-oss"}}, // see harmony.go
}

// variants are forms that no grammar is written in. "tool_call:" counts at the start of a line.
var variants = []form{
	{open: "<tool_calls>", ends: []string{"</tool_calls>"}}, // Jamba, Hunyuan, MiniMax M1
	{open: "<tool_use>", ends: []string{"</tool_use>"}},     // AbstractLLM and its variants
	{open: "<function_call>", ends: []string{"</function_call>"}},
	{open: "<|tool_call|>", ends: []string{"</|tool_call|>", "<|/tool_call|>", "</tool_call>"}},
	{open: "|tool_call|", ends: []string{"|/tool_call|", "</|tool_call|>", "<|/tool_call|>"}},
	{open: "tool_call:"},
	{open: "[TOOL_CALLS]"},
	{open: "<|python_tag|>"}, // Llama 3
	{open: "<longcat_tool_call>", ends: []string{"</longcat_tool_call>"}},
	{open: "[unused11]", ends: []string{"[unused12]"}},                                     // Pangu
	{open: "<｜tool_calls_begin｜>", ends: []string{"<｜tool_calls_end｜>"}},                   // Step 3
	{open: "<｜tool_call_begin｜>function<｜tool_sep｜>", ends: []string{"<｜tool_call_end｜>"}}, // the type is optional
	{open: "<｜tool_call_begin｜>", ends: []string{"<｜tool_call_end｜>"}},
}

// argumentMarks stand between the name of a tool and its arguments.
var argumentMarks = []string{"[ARGS]", "<|tool_call_argument_begin|>", "<｜tool▁sep｜>", "<|tool▁sep|>", "<tool_sep>", "Action Input:"}

// A syntax is what all grammars together have.
type syntax struct {
	openers []form    // of the grammars that are not plain; one that begins with another is before it
	marks   []string  // of prompts, calls, results and thinking
	starts  [256]bool // the first bytes of marks
}

func newSyntax() *syntax {
	s := &syntax{openers: allForms()}
	s.marks = marksOf(s.openers)
	for _, mark := range s.marks {
		s.starts[mark[0]], s.starts[strings.ToUpper(mark)[0]] = true, true
	}
	return s
}

func allForms() []form {
	var all []form
	for _, f := range variants {
		all = append(all, spellings(f)...)
	}
	for i := range grammars {
		if g := &grammars[i]; !g.plain {
			all = append(all, g.forms()...)
		}
	}
	slices.SortStableFunc(all, func(a, b form) int { return len(b.open) - len(a.open) })
	return slices.CompactFunc(all, func(a, b form) bool { return a.open == b.open })
}

// forms returns the forms in which calls of a grammar are read, without the brackets of lists.
func (g *grammar) forms() (all []form) {
	for _, m := range []pair{g.turn, g.call} {
		f := form{open: strings.TrimRight(m.open, "[\n"), plain: g.plain}
		if end := strings.TrimLeft(m.end, "]\n"); end != "" {
			f.ends = []string{end}
		}
		if f.open != "" {
			all = append(all, spellings(f)...)
		}
	}
	return all
}

// spellings returns a form, and the one that conversions of DeepSeek's models make of it: with bars
// of ASCII.
func spellings(f form) []form {
	both := bothBars([]string{f.open})
	f.ends = bothBars(f.ends)
	all := []form{f}
	if len(both) > 1 {
		f.open = both[1]
		all = append(all, f)
	}
	return all
}

// bothBars adds to texts with wide bars those with bars of ASCII.
func bothBars(texts []string) []string {
	all := slices.Clone(texts)
	for _, text := range texts {
		if narrow := strings.ReplaceAll(text, "｜", "|"); narrow != text {
			all = append(all, narrow)
		}
	}
	return all
}

// grammarOf returns the grammar of a name, or else the one of a model: the first with a part of the
// model's name, whose letters are in lower case and whose separators are hyphens. nil means that the
// name is unknown.
func grammarOf(name, model string) *grammar {
	model = strings.NewReplacer(".", "-", "_", "-", " ", "-").Replace(strings.ToLower(model)) + "-"
	for i := range grammars {
		g := &grammars[i]
		if g.name == name || name == "" && slices.ContainsFunc(g.models, func(part string) bool { return strings.Contains(model, part) }) {
			return g
		}
	}
	if name == "" {
		return &grammars[0]
	}
	return nil
}

// Grammars returns the names for Options.Grammar.
func Grammars() (names []string) {
	for i := range grammars {
		names = append(names, grammars[i].name)
	}
	return names
}

// written returns the grammar in which calls are written: one without templates is only read.
func (g *grammar) written() *grammar {
	if g.body == "" {
		return &grammars[0]
	}
	return g
}
