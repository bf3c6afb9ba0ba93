package prompted

// The templates that several grammars have.
const (
	objectBody   = `{"name": %q, "arguments": %a}`
	functionBody = "\n<function=%n>\n%e</function>\n"
	pythonBody   = "%n(%p)"
	dsmlBody     = "<｜DSML｜invoke name=\"%n\">\n%e</｜DSML｜invoke>\n"
	dsmlEach     = "<｜DSML｜parameter name=\"%k\" string=\"%s\">%v</｜DSML｜parameter>\n"
	gemmaBody    = "call:%n%g"
	gemmaContent = "response:%n{value:%c}"
)

// The marks that several grammars have.
var (
	hermesCall    = pair{"<tool_call>", "</tool_call>"}
	hermesResult  = pair{"<tool_response>", "</tool_response>"}
	deepseekCalls = pair{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"}
	deepseekReply = pair{"<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"}
)

// grammars begin with the one of models whose family is not known. Each is read from every model,
// except for those that are plain.
var grammars = []grammar{
	{
		name: "hermes", models: []string{"hermes"},
		call: hermesCall, body: "\n" + objectBody + "\n",
		result: hermesResult, content: "\n{\"name\": %q, \"content\": %c}\n",
	}, {
		name: "qwen-coder", models: []string{"qwen3-coder", "qwen3-5", "nemotron-3"},
		call: hermesCall, body: functionBody, each: "<parameter=%k>\n%v\n</parameter>\n",
		result: hermesResult, content: "\n%c\n",
	}, {
		name: "seed", models: []string{"seed-oss"},
		call: pair{"<seed:tool_call>", "</seed:tool_call>"},
		body: functionBody, each: "<parameter=%k>%v</parameter>\n",
	}, {
		name: "deepseek-dsml", models: []string{"deepseek-v3-2"}, special: true,
		turn: pair{"<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"},
		body: dsmlBody, each: dsmlEach,
		results: pair{"<function_results>", "</function_results>"},
		result:  pair{"<result>", "</result>"}, content: "%c",
	}, {
		name: "deepseek-v4", models: []string{"deepseek-v4"}, special: true,
		turn: pair{"<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>"},
		body: dsmlBody, each: dsmlEach,
		result: pair{"<tool_result>", "</tool_result>"}, content: "%c",
	}, {
		name: "deepseek-v3.1", models: []string{"deepseek-v3-1"}, special: true,
		turn: deepseekCalls,
		call: pair{"<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"}, body: "%n<｜tool▁sep｜>%a",
		result: deepseekReply, content: "%c",
	}, {
		name: "deepseek-v3", models: []string{"deepseek-v3", "deepseek-r1"}, special: true,
		turn: deepseekCalls, between: "\n",
		call:    pair{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁call▁end｜>"},
		body:    "%n\n```json\n%a\n```",
		results: pair{"<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"},
		result:  deepseekReply, content: "%c",
	}, {
		name: "kimi", models: []string{"kimi-k2"},
		turn:   pair{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
		call:   pair{"<|tool_call_begin|>", "<|tool_call_end|>"},
		body:   "functions.%n:%i<|tool_call_argument_begin|>%a",
		result: pair{open: "## Return of functions."}, content: "%n:%i\n%c",
	}, {
		name: "glm", models: []string{"glm-4-5", "glm-4-6", "glm-4-7", "glm-5"},
		call: hermesCall, body: "%n\n%e", each: "<arg_key>%k</arg_key>\n<arg_value>%v</arg_value>\n",
		result: hermesResult, content: "\n%c\n",
	}, {
		name: "minimax", models: []string{"minimax-m2"},
		turn: pair{"<minimax:tool_call>\n", "</minimax:tool_call>"},
		body: "<invoke name=\"%n\">\n%e</invoke>\n", each: "<parameter name=\"%k\">%v</parameter>\n",
		result: pair{"<response>", "</response>"}, content: "%c",
	}, {
		name: "gemma4", models: []string{"gemma-4-", "gemma4"},
		call: pair{"<|tool_call>", "<tool_call|>"}, body: gemmaBody, quote: textMarks[0],
		result: pair{"<|tool_response>", "<tool_response|>"}, content: gemmaContent,
	}, {
		name: "functiongemma", models: []string{"functiongemma"},
		call: pair{"<start_function_call>", "<end_function_call>"}, body: gemmaBody, quote: textMarks[1],
		result: pair{"<start_function_response>", "<end_function_response>"}, content: gemmaContent,
	}, {
		name: "lfm2", models: []string{"lfm2"},
		turn: pair{"<|tool_call_start|>[", "]<|tool_call_end|>"}, body: pythonBody, between: ", ",
		result: pair{"<|tool_response_start|>", "<|tool_response_end|>"}, content: "%c",
	}, {
		name: "llama4", models: []string{"llama-4", "llama4"},
		turn: pair{"<|python_start|>[", "]<|python_end|>"}, body: pythonBody, between: ", ",
	}, {
		name: "command-a", models: []string{"command-a", "command-r7b"},
		turn: pair{"<|START_ACTION|>[\n", "\n]<|END_ACTION|>"}, between: ",\n",
		body:    `    {"tool_call_id": "%i", "tool_name": %q, "parameters": %a}`,
		result:  pair{"<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"},
		content: "[\n    {\"tool_call_id\": \"%i\", \"results\": {\"0\": %c}, \"is_error\": null}\n]",
	}, {
		name: "internlm", models: []string{"internlm2", "internlm3"},
		call: pair{"<|action_start|><|plugin|>", "<|action_end|>"},
		body: "\n{\"name\": %q, \"parameters\": %a}",
	}, {
		name: "nemotron", models: []string{"nemotron-nano", "nemotron-h", "nemotron-super", "nemotron-ultra"},
		turn: pair{"<TOOLCALL>[", "]</TOOLCALL>"}, body: objectBody, between: ", ",
		result: pair{"<TOOL_RESPONSE>[", "]</TOOL_RESPONSE>"}, content: "%c",
	}, {
		name: "apertus", models: []string{"apertus"},
		turn: pair{"<|tools_prefix|>[", "]<|tools_suffix|>"}, body: `{%q: %a}`, between: ", ",
	}, {
		name: "mistral",
		models: []string{"mistral-small", "mistral-medium", "mistral-large", "mistral-nemo", "ministral",
			"magistral", "devstral"},
		turn: pair{"[TOOL_CALLS][", "]"}, body: objectBody, between: ", ",
		result: pair{"[TOOL_RESULTS]", "[/TOOL_RESULTS]"}, content: `{"content": %c}`,
	}, {
		name: "olmo3", models: []string{"olmo-3"},
		turn: pair{"<function_calls>", "</function_calls>"}, body: pythonBody, between: "\n",
	}, {
		name: "functools", models: []string{"firefunction", "phi-4-mini"}, plain: true,
		turn: pair{"functools[", "]"}, body: objectBody, between: ", ",
	}, {
		name: "functionary", models: []string{"functionary"}, plain: true, bare: true,
		call: pair{open: ">>>"}, body: "%n\n%a", words: "all\n",
	}, {
		name: "react", plain: true, // a way to prompt any model
		call: pair{open: "Action:"}, body: " %n\nAction Input: %a",
		result: pair{open: "Observation:"}, content: " %c",
	}, {
		name: harmony, models: []string{"gpt-oss"}, // see harmony.go
	},
}

// variants are forms that no grammar is written in. "tool_call:" counts at the start of a line.
var variants = []form{
	{open: "<tool_calls>", ends: []string{"</tool_calls>"}}, // Jamba, Hunyuan, MiniMax M1
	{open: "<tool_use>", ends: []string{"</tool_use>"}},     // AbstractLLM and its variants
	{open: "<function_call>", ends: []string{"</function_call>"}},
	{open: "<|function_call|>"}, // GigaChat
	{open: "<|tool_call|>", ends: []string{"</|tool_call|>", "<|/tool_call|>", "</tool_call>"}},
	{open: "|tool_call|", ends: []string{"|/tool_call|", "</|tool_call|>", "<|/tool_call|>"}},
	{open: "tool_call:"},
	{open: "[TOOL_CALLS]"},
	{open: "<|python_tag|>"}, // Llama 3
	{open: "<longcat_tool_call>", ends: []string{"</longcat_tool_call>"}},
	{open: "[unused11]", ends: []string{"[unused12]"}},                   // Pangu
	{open: "<｜tool_calls_begin｜>", ends: []string{"<｜tool_calls_end｜>"}}, // Step 3
	{open: "<｜tool_call_begin｜>function<｜tool_sep｜>", ends: []string{"<｜tool_call_end｜>"}},
	{open: "<｜tool_call_begin｜>", ends: []string{"<｜tool_call_end｜>"}},
}
