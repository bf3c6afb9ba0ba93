package sdktest

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/models.md anew")

// page has the table, between marks.
const page = "../../../docs/models.md"

// endpoints are the APIs of the bridge.
var endpoints = []string{"chat/completions", "messages", "responses"}

// A feature is a row of the table.
type feature struct {
	name    string
	content map[string]string // of the user's message by endpoint, JSON; "" is that of all
	members map[string]string // of the request by endpoint; an API that is not there lacks the feature
	refused string            // begins the member that a refusal names; "" means that there is no refusal
	sent    []string          // the provider's request has one of them; nil means that it need not be looked at
	got     []string          // the answer has one of them, and does not have missing
}

// all returns what is the same for all endpoints.
func all(text string) map[string]string {
	m := map[string]string{}
	for _, e := range endpoints {
		m[e] = text
	}
	return m
}

const (
	pixel  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	paper  = "JVBERi0xLjQKJcOkw7zDtsOfCg=="
	answer = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`
)

// drawTools is the client's tool draw in each API.
var drawTools = map[string]string{
	"chat/completions": `,"tools":[{"type":"function","function":{"name":"draw","parameters":{"type":"object"}}}]`,
	"messages":         `,"tools":[{"name":"draw","input_schema":{"type":"object"}}]`,
	"responses":        `,"tools":[{"type":"function","name":"draw","parameters":{"type":"object"},"strict":false}]`,
}

// with returns members with more of them.
func with(members map[string]string, more map[string]string) map[string]string {
	m := map[string]string{}
	for e, text := range members {
		if _, ok := more[e]; ok {
			m[e] = text + more[e]
		}
	}
	return m
}

var features = []feature{
	{name: "answers", members: all(""), got: []string{"Hello!"}},
	{name: "streams", members: all(`,"stream":true`), got: []string{`"lo!"`}},
	{name: "tools of the bridge, and the client's", content: all(`"please draw"`), members: drawTools, sent: []string{"2469134"}, got: []string{`"draw"`}},
	{name: "parallel calls", content: all(`"please draw two"`), members: drawTools, got: []string{"dog"}},
	{name: "one call at a time", members: map[string]string{
		"chat/completions": drawTools["chat/completions"] + `,"parallel_tool_calls":false`, "responses": drawTools["responses"] + `,"parallel_tool_calls":false`,
		"messages": drawTools["messages"] + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`,
	}, sent: []string{`"parallel_tool_calls":false`, `"disable_parallel_tool_use":true`, "one such block at most"}},
	{name: "a tool that must be called", content: all(`"please draw two"`), members: with(drawTools, map[string]string{
		"chat/completions": `,"tool_choice":"required"`, "messages": `,"tool_choice":{"type":"any"}`, "responses": `,"tool_choice":"required"`,
	}), sent: []string{`"tool_choice":"required"`, `"tool_choice":{"type":"any"}`, `"mode":"ANY"`, "must call", "must use"}},
	{name: "images", members: all(""), content: map[string]string{
		"chat/completions": `[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}}]`,
		"messages":         `[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]`,
		"responses":        `[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,` + pixel + `"}]`,
	}, sent: []string{pixel}},
	{name: "images by https URL", members: all(""), refused: "messages", content: map[string]string{
		"chat/completions": `[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]`,
		"messages":         `[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]`,
		"responses":        `[{"type":"input_image","image_url":"https://example.com/a.png"}]`,
	}, sent: []string{"https://example.com/a.png"}},
	{name: "documents (PDF)", members: all(""), content: map[string]string{
		"chat/completions": `[{"type":"text","text":"read"},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + paper + `"}}]`,
		"messages":         `[{"type":"text","text":"read"},{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"` + paper + `"}}]`,
		"responses":        `[{"type":"input_text","text":"read"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,` + paper + `"}]`,
	}, sent: []string{paper}},
	{name: "answers in JSON by a schema", content: all(`"please answer in JSON"`), members: map[string]string{
		"chat/completions": `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + answer + `}}`,
		"messages":         `,"output_config":{"format":{"type":"json_schema","schema":` + answer + `}}`,
		"responses":        `,"text":{"format":{"type":"json_schema","name":"a","schema":` + answer + `}}`,
	}, sent: []string{`"ok":{"type":"boolean"}`, `\"ok\":{\"type\":\"boolean\"}`}, got: []string{`{\"ok\":true}`}},
	{name: "thinking is shown", members: all(""), got: []string{"A greeting."}},
	{name: "effort of thinking", refused: "effort", members: map[string]string{
		"chat/completions": `,"reasoning_effort":"low"`, "messages": `,"output_config":{"effort":"low"}`, "responses": `,"reasoning":{"effort":"low"}`,
	}, sent: []string{`"effort":"low"`, `"reasoning_effort":"low"`, `"thinkingLevel":"low"`, `"thinkingLevel":"LOW"`, `"think":"low"`, `"thinkingBudget"`, `"budget_tokens"`}},
	{name: "stop sequences", refused: "stop", members: map[string]string{"chat/completions": `,"stop":["END"]`, "messages": `,"stop_sequences":["END"]`}, sent: []string{`"END"`}},
	{name: "seed", refused: "seed", members: map[string]string{"chat/completions": `,"seed":7`}, sent: []string{`"seed":7`}},
	{name: "penalties", refused: "penalty", members: map[string]string{"chat/completions": `,"presence_penalty":0.25,"frequency_penalty":0.25`}, sent: []string{"0.25"}},
	{name: "temperature, top_p", members: all(`,"temperature":0.25,"top_p":0.5`), sent: []string{"0.25"}},
	{name: "usage", members: all(""), got: []string{`"completion_tokens":3`, `"output_tokens":3`}},
	{name: "prompt caching", members: all(""), sent: []string{"cache_control"}},
	{name: "cached tokens in usage", members: all(""), got: []string{`"cached_tokens":4`, `"cache_read_input_tokens":4`}},
}

// TestMatrix asks each endpoint for each feature of each provider, and compares the outcome with the table of
// docs/models.md.
func TestMatrix(t *testing.T) {
	url, doubles := serveDoubles(t)
	var b strings.Builder
	fmt.Fprintf(&b, "\n| | `%s` |\n|%s\n", strings.Join(providerNames, "` | `"), strings.Repeat(" --- |", len(providerNames)+1))
	for _, f := range features {
		fmt.Fprintf(&b, "| %s |", f.title())
		for _, provider := range providerNames {
			fmt.Fprintf(&b, " %s |", f.tryAll(t, url, provider, doubles[provider]))
		}
		b.WriteString("\n")
	}
	const begin, end = "<!-- table: go test ./providers/serve/sdktest -update -->\n", "\n<!-- end of the table -->"
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := bytes.Cut(was, []byte(begin))
	_, after, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		t.Fatalf("%s has no place for the table", page)
	}
	is := bytes.Join([][]byte{before, []byte(begin + b.String() + end), after}, nil)
	if *update {
		err = os.WriteFile(page, is, 0o644)
	} else if !bytes.Equal(was, is) {
		err = fmt.Errorf("%s differs from what the endpoints do (go test -update writes it anew):\n%s", page, b.String())
	}
	if err != nil {
		t.Error(err)
	}
}

// title returns the name of the feature, with the APIs that have it if not all do.
func (f *feature) title() string {
	var have []string
	for _, endpoint := range endpoints {
		if _, has := f.members[endpoint]; has {
			have = append(have, "`"+endpoint+"`")
		}
	}
	if len(have) == len(endpoints) {
		return f.name
	}
	return f.name + " (" + strings.Join(have, ", ") + ")"
}

// tryAll asks each endpoint that has the feature, and returns what the table says of it.
func (f *feature) tryAll(t *testing.T, url, provider string, d *double) string {
	var all []string
	for _, endpoint := range endpoints {
		if _, has := f.members[endpoint]; !has {
			continue
		}
		outcome := f.try(t, url, endpoint, provider, d)
		if outcome == "" {
			t.Errorf("%s, %s, %s: an answer that ignores the question", endpoint, f.name, provider)
		}
		if !slices.Contains(all, outcome) {
			all = append(all, outcome)
		}
	}
	return strings.Join(all, ", ")
}

// try asks an endpoint with a model of a provider for the feature. It returns what the table says of it, or "" if the
// answer ignores it.
func (f *feature) try(t *testing.T, url, endpoint, provider string, d *double) string {
	content := f.content[endpoint]
	if content == "" {
		content = `"hello"`
	}
	said := map[string]string{"messages": `,"max_tokens":100,"messages":`, "chat/completions": `,"messages":`, "responses": `,"input":`}[endpoint]
	body := `{"model":"` + provider + `/m"` + said + `[{"role":"user","content":` + content + `}]` + f.members[endpoint] + `}`
	d.asked()
	resp, err := http.Post(url+"/v1/"+endpoint, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	sent := strings.Join(d.asked(), "\n")
	contains := func(text string, words []string) bool {
		for _, word := range words {
			if strings.Contains(text, word) {
				return true
			}
		}
		return words == nil
	}
	switch {
	case resp.StatusCode == http.StatusBadRequest && f.refused != "" && strings.Contains(string(got), f.refused) && sent == "":
		return "refused"
	case resp.StatusCode != http.StatusOK:
		t.Errorf("%s, %s, %s: %d %s", endpoint, f.name, provider, resp.StatusCode, got)
	case contains(sent, f.sent) && contains(string(got), f.got):
		return "yes"
	}
	if why := exceptions[f.name][provider]; why != "" {
		return why
	}
	t.Logf("%s\nsent %.2000s\ngot %.1000s", body, sent, got)
	return ""
}

// byItself is how an API caches prompts that begin alike: the bridge keeps the order of tools and keys.
const byItself = "by the API itself"

// exceptions are what a provider's API has no place for, and what happens then.
var exceptions = map[string]map[string]string{
	"one call at a time":         {"gemini": "the model decides", "ollama": "the model decides"},
	"a tool that must be called": {"ollama": "the model decides"},
	"prompt caching":             {"openai": byItself, "openai-responses": byItself, "gemini": byItself, "ollama": byItself, "prompted": byItself},
	"documents (PDF)":            {"ollama": "only the name"},
	"cached tokens in usage":     {"ollama": "–"},
}
