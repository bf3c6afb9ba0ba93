package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// acornFiles are the definition files of Acorn's own examples: what callers see of each,
// and what a call becomes. A request is its method, its path and, of GraphQL, its
// variables.
var acornFiles = map[string]struct {
	api   string // its type
	list  string // name{properties}required, a space between
	notes string // what check says
	calls []acornCall
}{
	"activity.tools.json": {
		api:  "rest",
		list: `generic_activity{} filter_activity{type participants}`,
		calls: []acornCall{
			{tool: "generic_activity", request: "GET /random"},
			{tool: "filter_activity", args: `{"type":"social"}`, request: "GET /filter?type=social"},
			{tool: "filter_activity", args: `{"participants":2.0}`, request: "GET /filter?participants=2"},
			{tool: "filter_activity", request: "GET /filter"},
			{tool: "filter_activity", args: `{"type":"sleep"}`, fails: "/type: expected one of"},
		},
	},
	"advice.tools.json": {
		api:   "rest",
		list:  `random_advice{} search_advice{query}query advice_by_id{slid_id}slid_id`,
		notes: "tool advice_by_id: /rest: the placeholder {slip_id} is not a property (did you mean {slid_id}?)",
		calls: []acornCall{
			{tool: "random_advice", request: "GET /advice"},
			{tool: "search_advice", args: `{"query":"a b/é?d"}`, request: "GET /advice/search/a%20b%2F%C3%A9%3Fd"},
			{tool: "advice_by_id", args: `{"slid_id":"1"}`, fails: "slip_id"},
		},
	},
	"nutshop-c360.tools.json": {
		api:  "graphql",
		list: `ordered_products{} spending_by_week{limit} orders{limit}`,
		calls: []acornCall{
			{tool: "orders", args: `{"limit":2.0}`, context: "customerid=7", request: `POST / {"customerid":7,"limit":2}`},
			{tool: "orders", args: `{"CustomerID":9,"customerid":9}`, context: "CustomerId=8", request: `POST / {"customerid":8}`},
			{tool: "ordered_products", context: "customerid=7", request: `POST / {"customerid":7}`},
			{tool: "spending_by_week", args: `{"limit":1}`, fails: "Missing context field: customerid"},
			{tool: "orders", context: "customerid=me", fails: "Invalid context field: customerid"},
			{tool: "InternalSaveChatMessage", context: "customerid=7", unknown: true},
			{tool: "internalGetChatMessages", context: "customerid=7", unknown: true},
		},
	},
	"rickandmorty.tools.json": {
		api:  "graphql",
		list: `character_by_name{name}name episode_by_id{episodeid}episodeid`,
		calls: []acornCall{
			{tool: "character_by_name", args: `{"name":"Morty \"} Smith"}`, request: `POST / {"name":"Morty \"} Smith"}`},
			{tool: "episode_by_id", args: `{"episodeid":"S02E05"}`, request: `POST / {"episodeid":"S02E05"}`},
			{tool: "episode_by_id", fails: `missing required property "episodeid"`},
		},
	},
	"weather.tools.json": {
		api:  "rest",
		list: `weather_forecast{latitude longitude measurement}latitude longitude measurement`,
		calls: []acornCall{
			{tool: "weather_forecast", args: `{"latitude":47.5,"longitude":-122.25,"measurement":"cloudcover"}`,
				request: "GET /forecast?latitude=47.5&longitude=-122.25&hourly=cloudcover&past_hours=1&forecast_hours=12"},
		},
	},
}

type acornCall struct {
	tool, args, context string
	request             string // what the API sees
	fails               string // what the failed result says; the API sees nothing
	unknown             bool   // there is no such tool
}

// acornFolder is where Acorn's examples are.
func acornFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MCPBRIDGE_CORPUS")
	if dir == "" {
		t.Skip("MCPBRIDGE_CORPUS is not set: Acorn's definition files are not there")
	}
	return filepath.Join(dir, "acorn")
}

// Every definition file of Acorn's loads, lists and runs against a double of its API.
func TestAcornFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(acornFolder(t), "*.tools.json"))
	if err != nil || len(files) < len(acornFiles) {
		t.Fatalf("%d files, of which %d are known (%v)", len(files), len(acornFiles), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, known := acornFiles[filepath.Base(file)]
			if !known {
				t.Fatal("nothing is said about this file")
			}
			api := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", `{"data":{"answer":true}}`))
			config := writeConfig(t, file, map[string]string{"type": c.api, "url": api.URL})
			code, out, _ := runWith("tools", "list", "--json", "--config", config)
			if got := seenTools([]byte(out)); code != exitDone || got != c.list {
				t.Errorf("exit code %d, list\n%s\nwant\n%s", code, got, c.list)
			}
			code, out, _ = runWith("check", "--config", config)
			if (code == exitDone) != (c.notes == "") || !strings.Contains(out, c.notes) {
				t.Errorf("check: exit code %d\n%s", code, out)
			}
			for _, call := range c.calls {
				call.check(t, config, api)
			}
		})
	}
}

func (c acornCall) check(t *testing.T, config string, api *sourcetest.API) {
	t.Helper()
	args := []string{"tools", "call", c.tool, "--config", config}
	if c.args != "" {
		args = append(args, "--args", c.args)
	}
	if c.context != "" {
		args = append(args, "--context", c.context)
	}
	api.Requests()
	code, out, errs := runWith(args...)
	requests := api.Requests()
	switch {
	case c.unknown:
		if code != exitUsage || !strings.Contains(errs, "unknown tool: "+c.tool) {
			t.Errorf("%v: exit code %d\n%s%s", args[2:], code, out, errs)
		}
	case c.fails != "":
		if code != exitFailed || !strings.Contains(out, c.fails) || len(requests) > 0 {
			t.Errorf("%v: exit code %d, %d requests\n%s%s", args[2:], code, len(requests), out, errs)
		}
	case code != exitDone || !strings.Contains(out, "answer") || len(requests) != 1:
		t.Errorf("%v: exit code %d, %d requests\n%s%s", args[2:], code, len(requests), out, errs)
	default:
		if got := acornRequest(requests[0]); got != c.request {
			t.Errorf("%v: %s, want %s", args[2:], got, c.request)
		}
	}
}

// acornRequest is a request as a table has it.
func acornRequest(r sourcetest.Request) string {
	s := r.Method + " " + r.URI
	var body struct {
		Variables map[string]json.RawMessage // in no order
	}
	if json.Unmarshal([]byte(r.Body), &body) == nil && body.Variables != nil {
		variables, _ := json.Marshal(body.Variables)
		s += " " + string(variables)
	}
	return s
}

// A bare function is a client function: the operator sees it, and nobody but a client that
// says that it can carries it out.
func TestAcornClientFunctions(t *testing.T) {
	for _, file := range []string{"datacharts.json", "datacharts2d.json"} {
		config := writeConfig(t, filepath.Join(acornFolder(t), file), map[string]string{"type": "rest", "url": "http://127.0.0.1:1"})
		if code, out, errs := runWith("tools", "list", "--config", config); code != exitDone || !strings.HasPrefix(out, "data_visualization") || errs != "" {
			t.Errorf("%s: exit code %d\n%s%s", file, code, out, errs)
		}
		code, out, errs := runWith("tools", "call", "data_visualization", "--config", config)
		if code != exitAway || out != "" || !strings.Contains(errs, "tool data_visualization is a client function") {
			t.Errorf("%s is called: exit code %d\n%s%s", file, code, out, errs)
		}
	}
}

// writeConfig is a config with a definition file and the one API that it stands on.
func writeConfig(t *testing.T, file string, api map[string]string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"tools": []string{file}, "apis": api})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), config.FileName)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runWith runs a command line in this process.
func runWith(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &errs})
	return code, out.String(), errs.String()
}

// seenTools is a list as a table has it.
func seenTools(list []byte) string {
	var all []string
	for tool := range wire.Elements(list) {
		name, _ := wire.Text(wire.Lookup(tool, "name"))
		var properties, required []string
		for property := range wire.Members(wire.Lookup(tool, "inputSchema", "properties")) {
			properties = append(properties, property)
		}
		for raw := range wire.Elements(wire.Lookup(tool, "inputSchema", "required")) {
			property, _ := wire.Text(raw)
			required = append(required, property)
		}
		all = append(all, name+"{"+strings.Join(properties, " ")+"}"+strings.Join(required, " "))
	}
	return strings.Join(all, " ")
}
