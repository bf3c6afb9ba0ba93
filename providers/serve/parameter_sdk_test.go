package serve_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/completions"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/messages"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/responses"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

var update = flag.Bool("update", false, "write the golden files")

// sdkAPI are the parameters of a method of an SDK, each with a value that says something, apart from those of
// the base request.
type sdkAPI struct {
	path       string
	own, other toolformat.Format
	base       string
	parameters map[string]string
}

// sdkAPIs has what the SDKs know of that testdata/parameter_names.txt names, and what those for Python have beside it:
// openai 3.57.0, and anthropic 2.14.0 with its beta.
var sdkAPIs = []sdkAPI{{
	path: "/v1/chat/completions", own: toolformat.FormatOpenAI, other: toolformat.FormatGemini,
	base: `"model":"here/m","messages":[{"role":"user","content":"hi"}],` + drawTool,
	parameters: map[string]string{
		"audio": `{"voice":"alloy","format":"wav"}`, "frequency_penalty": "0.5", "function_call": `"none"`,
		"functions": `[{"name":"old","parameters":{"type":"object"}}]`, "logit_bias": `{"50256":-100}`, "logprobs": "true",
		"max_completion_tokens": "100", "max_tokens": "100", "metadata": `{"a":"b"}`, "modalities": `["text","audio"]`,
		"moderation": `{"model":"omni-moderation-latest"}`, "n": "2", "parallel_tool_calls": "false", "prediction": `{"type":"content","content":"hi"}`,
		"presence_penalty": "0.5", "prompt_cache_key": `"k"`, "prompt_cache_options": `{"ttl":"1h"}`, "prompt_cache_retention": `"24h"`,
		"reasoning_effort": `"high"`, "response_format": `{"type":"json_object"}`, "safety_identifier": `"u"`, "seed": "4",
		"service_tier": `"flex"`, "stop": `["a"]`, "store": "true", "stream": "true", "stream_options": `{"include_usage":true}`,
		"temperature": "0.5", "tool_choice": `"required"`, "tools": `[]`, "top_logprobs": "3", "top_p": "0.5", "user": `"u"`,
		"verbosity": `"low"`, "web_search_options": `{"search_context_size":"low"}`,
	},
}, {
	path: "/v1/responses", own: toolformat.FormatOpenAIResponses, other: toolformat.FormatGemini,
	base: `"model":"here/m","input":"hi","tools":[{"type":"function","name":"draw","parameters":{"type":"object"}}]`,
	parameters: map[string]string{
		"access_programs": `["p"]`, "background": "true", "background_options": `{"a":1}`, "context_management": `[{"type":"compaction","compact_threshold":1000}]`,
		"conversation": `"conv_1"`, "moderation": `{"model":"omni-moderation-latest"}`, "include": `["reasoning.encrypted_content"]`, "image": `{"a":1}`,
		"instructions": `"Be kind."`, "max_output_tokens": "100", "max_tool_calls": "3", "metadata": `{"a":"b"}`, "parallel_tool_calls": "false",
		"previous_response_id": `"resp_1"`, "prompt": `{"id":"pmpt_1"}`, "prompt_cache_key": `"k"`, "prompt_cache_options": `{"ttl":"1h"}`,
		"prompt_cache_retention": `"24h"`, "reasoning": `{"effort":"high","summary":"auto"}`, "safety_identifier": `"u"`, "service_tier": `"flex"`,
		"store": "true", "stream": "true", "stream_options": `{"include_obfuscation":false}`, "temperature": "0.5",
		"text": `{"format":{"type":"json_object"},"verbosity":"low"}`, "tool_choice": `"required"`, "tools": "[]", "top_logprobs": "3",
		"top_p": "0.5", "truncation": `"auto"`, "user": `"u"`,
	},
}, {
	path: "/v1/messages", own: toolformat.FormatAnthropic, other: toolformat.FormatGemini,
	base: askMessages[1:] + "]",
	parameters: map[string]string{
		"max_tokens": "50", "cache_control": `{"type":"ephemeral"}`, "container": `"c"`, "diagnostics": `{"a":1}`, "inference_geo": `"eu"`,
		"metadata": `{"user_id":"u"}`, "output_config": `{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}}`,
		"service_tier": `"standard_only"`, "speed": `"fast"`, "stop_sequences": `["a"]`, "stream": "true", "system": `"Be kind."`,
		"thinking": `{"type":"enabled","budget_tokens":2000}`, "tool_choice": `{"type":"any","disable_parallel_tool_use":true}`, "tools": "[]",
		"user_profile_id": `"u"`, "workspace_id": `"w"`, "billing_policy": `"p"`, "compaction": `{"type":"auto"}`,
		"context_management": `{"edits":[{"type":"clear_tool_uses_20250919"}]}`, "fallback_credit_token": `"t"`, "fallbacks": `["m"]`,
		"mcp_servers": `[{"type":"url","name":"x","url":"https://e.example"}]`, "thread": `"t"`, "betas": `["b"]`,
		"output_format": `{"type":"json_schema","schema":{"type":"object"}}`, "temperature": "0.5", "top_p": "0.5", "top_k": "5",
	},
}}

// asked is what a request asks of a model, and how it is answered.
func (a *sdkAPI) asked(t *testing.T, format toolformat.Format, members string) map[string]string {
	f := newFront(t, says("{}"))
	f.format = format
	status, body := f.postTo(a.path, "", members)
	if status != http.StatusOK {
		var refusal struct{ Error struct{ Message string } }
		if err := json.Unmarshal([]byte(body), &refusal); err != nil {
			t.Errorf("%s: %s", members, body)
		}
		return map[string]string{"refused": fmt.Sprint(status, " ", refusal.Error.Message)}
	}
	var settings map[string]json.RawMessage
	raw, err := json.Marshal(f.requests[0].Settings)
	if err == nil {
		err = json.Unmarshal(raw, &settings)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := f.requests[0]
	all := map[string]string{"system": r.System, "choice": string(r.Choice), "messages": fmt.Sprint(len(r.Messages)), "tools": fmt.Sprint(toolNames(r.Tools))}
	for key, value := range settings {
		all[key] = string(value)
	}
	all["answer"] = "whole"
	if strings.HasPrefix(body, "event: ") || strings.HasPrefix(body, "data: ") {
		all["answer"] = "streamed"
	}
	return all
}

func toolNames(set *providers.ToolSet) (names []string) {
	for _, t := range set.Tools() {
		names = append(names, t.Name)
	}
	return names
}

// The golden file says what becomes of every parameter that the SDKs have, where the model's API is the same
// and where it is another one: it is mapped, passed on, refused by its name, or tells the model nothing.
func TestParametersOfSDKs(t *testing.T) {
	const golden = "testdata/parameters.txt"
	var got strings.Builder
	for _, api := range sdkAPIs {
		for _, name := range slices.Sorted(maps.Keys(api.parameters)) {
			fmt.Fprintf(&got, "%s %s=%s\n", api.path, name, api.parameters[name])
			for _, at := range []struct {
				who    string
				format toolformat.Format
			}{{"same API", api.own}, {"another", api.other}} {
				base, with := api.asked(t, at.format, "{"+api.base+"}"), api.asked(t, at.format, api.with(name))
				fmt.Fprintf(&got, "\t%s: %s\n", at.who, difference(base, with))
			}
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the parameters are taken as\n%s\nwant\n%s", got.String(), want)
	}
}

// Every parameter that the SDKs' types of requests name is placed, and its case is in the golden file above. What is
// ignored or refused has a reason.
func TestParameterNames(t *testing.T) {
	names, err := os.ReadFile("testdata/parameter_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	apis := map[string]interface{ Parameters() parameter.Parameters }{"/v1/chat/completions": completions.API{}, "/v1/responses": responses.API{}, "/v1/messages": messages.API{}}
	for line := range strings.Lines(string(names)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		all := apis[words[0]].Parameters()
		at := slices.IndexFunc(sdkAPIs, func(a sdkAPI) bool { return a.path == words[0] })
		for _, name := range words[1:] {
			p, known := all[name]
			if !known || p.Why == "" && (p.Kind == parameter.Ignored || p.Kind == parameter.Refused) {
				t.Errorf("%s %s: no place in the table of parameters, or no reason there", words[0], name)
			}
			if name != "model" && name != "messages" && name != "input" && sdkAPIs[at].parameters[name] == "" {
				t.Errorf("%s %s: no case in sdkAPIs", words[0], name)
			}
		}
		delete(apis, words[0])
	}
	if len(apis) > 0 {
		t.Errorf("no names for %v", apis)
	}
}

// A parameter of a wrong type is refused, though it is one that other providers are not sent.
func TestParameterTypes(t *testing.T) {
	for _, api := range sdkAPIs {
		for name, wrong := range map[string]string{"metadata": `"a"`, "user": "1", "store": `"yes"`, "service_tier": "true"} {
			if api.parameters[name] == "" {
				continue
			}
			f := newFront(t, says("ok"))
			status, body := f.postTo(api.path, "", strings.Replace("{"+api.base+"}", "{", `{"`+name+`":`+wrong+",", 1))
			if status != http.StatusBadRequest || !strings.Contains(body, name+": expected ") {
				t.Errorf("%s %s=%s: %d %s", api.path, name, wrong, status, body)
			}
		}
	}
}

// with returns the base request with a parameter, which may be one that it has.
func (a *sdkAPI) with(name string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte("{"+a.base+"}"), &members); err != nil {
		panic(err)
	}
	if strings.HasPrefix(name, "function") { // as it was before there were tools
		delete(members, "tools")
		members["functions"] = json.RawMessage(a.parameters["functions"])
	}
	members[name] = json.RawMessage(a.parameters[name])
	raw, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func difference(base, with map[string]string) string {
	if refused := with["refused"]; refused != "" {
		return refused
	}
	var changes []string
	for _, key := range slices.Sorted(maps.Keys(with)) {
		if with[key] != base[key] {
			changes = append(changes, key+" "+with[key])
		}
	}
	if changes == nil {
		return "the model is asked the same"
	}
	return strings.Join(changes, ", ")
}
