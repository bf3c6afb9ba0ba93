package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// weatherIn are the arguments of the tool that the seed documents have as their example.
type weatherIn struct {
	Location string `json:"location" jsonschema:"The city and country."`
	Unit     string `json:"unit" jsonschema:"The temperature unit to use." enum:"celsius,fahrenheit" default:"celsius"`
}

type weatherOut struct {
	Temperature float64 `json:"temperature"`
	Conditions  string  `json:"conditions"`
}

func getWeather(_ context.Context, in weatherIn) (weatherOut, error) {
	switch {
	case in.Location == "Atlantis":
		return weatherOut{}, errors.New("there is no weather station in Atlantis")
	case in.Unit == "fahrenheit":
		return weatherOut{77, "sunny & <dry>"}, nil
	}
	return weatherOut{25, "sunny & <dry>"}, nil
}

func must[In, Out any](t *testing.T, name, description string, fn func(context.Context, In) (Out, error)) bridge.Tool {
	t.Helper()
	tool, err := bridge.Func(name, description, fn)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestFunc(t *testing.T) {
	weather := must(t, "get_weather", "Gets the current weather of a place.", getWeather)
	if weather.Timeout != 5*time.Second {
		t.Errorf("the timeout is %s", weather.Timeout)
	}
	n, s := open(t, bridge.NativeOptions{}, weather)
	defer n.Close()
	l, err := s.List(t.Context(), bridge.Tools)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"get_weather","description":"Gets the current weather of a place.","inputSchema":{"type":"object","properties":{` +
		`"location":{"type":"string","description":"The city and country."},` +
		`"unit":{"type":"string","description":"The temperature unit to use.","enum":["celsius","fahrenheit"],"default":"celsius"}},` +
		`"required":["location"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"temperature":{"type":"number"},"conditions":{"type":"string"}},"required":["temperature","conditions"]}}`
	if got := string(l.Items[0].Raw); got != want {
		t.Errorf("the definition is\n%s\nwant\n%s", got, want)
	}
	celsius := `{"content":[{"type":"text","text":"{\"temperature\":25,\"conditions\":\"sunny & <dry>\"}"}],"structuredContent":{"temperature":25,"conditions":"sunny & <dry>"}}`
	fahrenheit := strings.ReplaceAll(celsius, "25", "77")
	wantResult(t, call(t.Context(), s, "get_weather", `{"arguments":{"location":"Paris"}}`, nil), celsius)
	wantResult(t, call(t.Context(), s, "get_weather", `{"arguments":{"location":"Paris","unit":"celsius"}}`, nil), celsius)
	wantResult(t, call(t.Context(), s, "get_weather", `{"arguments":{"location":"Paris","unit":"fahrenheit"}}`, nil), fahrenheit)
	wantResult(t, call(t.Context(), s, "get_weather", `{"arguments":{"location":"Atlantis"}}`, nil),
		`{"content":[{"type":"text","text":"there is no weather station in Atlantis"}],"isError":true}`)
	for _, bad := range []string{`{}`, `{"location":7}`, `{"location":"Paris","unit":"kelvin"}`, `{"location":"Paris","Unit":"celsius"}`, `{"Location":"Paris"}`, `[]`} {
		r := call(t.Context(), s, "get_weather", `{"arguments":`+bad+`}`, nil)
		if r.Err != nil || !strings.HasPrefix(string(r.Result), `{"content":[{"type":"text","text":"invalid arguments for tool get_weather:`) || !strings.HasSuffix(string(r.Result), `"}],"isError":true}`) {
			t.Errorf("%s: %s, error %v", bad, r.Result, r.Err)
		}
	}
}

type mode string

func TestFuncResults(t *testing.T) {
	type none struct{}
	image := &toolformat.Result{JSON: json.RawMessage(`{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}`)}
	for i, c := range []struct {
		tool         bridge.Tool
		schema, want string // want "": an internal error
	}{
		{must(t, "t", "", func(context.Context, none) (string, error) { return "a\n\u2028<b>", nil }), ``, `{"content":[{"type":"text","text":"a\n\u2028\u003cb\u003e"}]}`},
		{must(t, "t", "", func(context.Context, none) (mode, error) { return "fast", nil }), ``, `{"content":[{"type":"text","text":"fast"}]}`},
		{must(t, "t", "", func(context.Context, none) (*toolformat.Result, error) { return image, nil }), ``, string(image.JSON)},
		{must(t, "t", "", func(context.Context, none) (*toolformat.Result, error) { return nil, nil }), ``, `{"content":[]}`},
		{must(t, "t", "", func(context.Context, none) (any, error) { return nil, nil }), ``, `{"content":[]}`},
		{must(t, "t", "", func(context.Context, none) (any, error) { return "text", nil }), ``, `{"content":[{"type":"text","text":"text"}]}`},
		{must(t, "t", "", func(context.Context, none) (any, error) { return []int{1}, nil }), ``, `{"content":[{"type":"text","text":"[1]"}]}`},
		{must(t, "t", "", func(context.Context, none) (float64, error) { return 1.5, nil }), `{"type":"number"}`, `{"content":[{"type":"text","text":"1.5"}],"structuredContent":1.5}`},
		{must(t, "t", "", func(context.Context, none) ([]string, error) { return nil, nil }), `{"type":"array","items":{"type":"string"}}`, `{"content":[{"type":"text","text":"[]"}],"structuredContent":[]}`},
		{must(t, "t", "", func(context.Context, none) (map[string]int, error) { return nil, nil }), `{"type":"object","additionalProperties":{"type":"integer"}}`, `{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}`},
		{must(t, "t", "", func(context.Context, none) (*none, error) { return &none{}, nil }), `{"type":"object","properties":{}}`, `{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}`},
		{must(t, "t", "", func(context.Context, none) (*none, error) { return nil, nil }), `{"type":"object","properties":{}}`, ``},
		{must(t, "t", "", func(context.Context, none) (map[string]any, error) { return map[string]any{"f": func() {}}, nil }), `{"type":"object"}`, ``},
		{must(t, "t", "", func(_ context.Context, in map[string]int) (string, error) { return fmt.Sprint(in), nil }), ``, `{"content":[{"type":"text","text":"map[]"}]}`},
	} {
		if string(c.tool.OutputSchema) != c.schema {
			t.Errorf("%d: the output schema is %s, want %s", i, c.tool.OutputSchema, c.schema)
		}
		n, s := open(t, bridge.NativeOptions{}, c.tool)
		if r := call(t.Context(), s, "t", `{}`, nil); c.want == "" {
			wantError(t, r, toolformat.Internal, "internal error")
		} else {
			wantResult(t, r, c.want)
			if structured := wire.Lookup(r.Result, "structuredContent"); structured != nil && structured[0] != '{' && !r.Loose {
				t.Errorf("%d: the result is not Loose", i)
			}
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFuncRefusals(t *testing.T) {
	type callback struct{ Callback func() }
	for _, c := range []struct {
		make func() (bridge.Tool, error)
		want string
	}{
		{func() (bridge.Tool, error) {
			return bridge.Func("t", "", func(context.Context, callback) (string, error) { return "", nil })
		}, `bridge: tool t: toolformat: bridge_test.callback.Callback: a func cannot be expressed in JSON Schema; use json:"-" to leave it out`},
		{func() (bridge.Tool, error) {
			return bridge.Func("t", "", func(context.Context, string) (string, error) { return "", nil })
		}, `bridge: tool t: its arguments are a string; they must be a struct, a field for each`},
		{func() (bridge.Tool, error) {
			return bridge.Func("t", "", func(context.Context, struct{}) (chan int, error) { return nil, nil })
		}, `bridge: tool t: its result: toolformat: chan int: a channel cannot`},
	} {
		if tool, err := c.make(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v (%s), want %s", err, tool.InputSchema, c.want)
		}
	}
}

// What is valid by the schema but not by the Go type is the model's to put right, too.
func TestFuncDecode(t *testing.T) {
	type in struct {
		N    int8      `json:"n,omitempty"`
		U    uint64    `json:"u,omitempty"`
		When time.Time `json:"when,omitzero"`
		List []int     `json:"list,omitempty"`
	}
	n, s := open(t, bridge.NativeOptions{}, must(t, "t", "", func(_ context.Context, in in) (string, error) {
		return fmt.Sprint(in.N, in.U, in.List), nil
	}))
	defer n.Close()
	for arguments, want := range map[string]string{
		`{"n":12.0,"u":1.8446744073709551615e19,"list":[1e2,-0.0]}`: `{"content":[{"type":"text","text":"12 18446744073709551615 [100 0]"}]}`,
		`{"n":300}`:          `{"content":[{"type":"text","text":"invalid arguments for tool t: /n: expected \u003c= 127, got 300"}],"isError":true}`,
		`{"u":1e20}`:         `{"content":[{"type":"text","text":"invalid arguments for tool t: u: expected uint64, got number 100000000000000000000"}],"isError":true}`,
		`{"when":"tuesday"}`: `{"content":[{"type":"text","text":"invalid arguments for tool t: parsing time \"tuesday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"tuesday\" as \"2006\""}],"isError":true}`,
	} {
		wantResult(t, call(t.Context(), s, "t", `{"arguments":`+arguments+`}`, nil), want)
	}
}
