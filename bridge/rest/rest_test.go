package rest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// openAPI opens a backend; URL in the config stands for url.
func openAPI(t testing.TB, url, config string) bridge.Backend {
	t.Helper()
	return sourcetest.Open(t, Kind, bridge.BackendConfig{Name: "shop", Config: json.RawMessage(strings.ReplaceAll(config, "URL", url))})
}

// wantText checks that a result is one text.
func wantText(t testing.TB, r *toolformat.Result, text string, failed bool) {
	t.Helper()
	if got := sourcetest.Texts(t, r); len(got) != 1 || got[0] != text || r.IsError() != failed {
		t.Errorf("result %.500s, want the text %q, failed %v", r.JSON, text, failed)
	}
}

func TestRequest(t *testing.T) {
	const restUtil = `{"method":"GET","path":"/path/{param1}/resource/{param2}?param3={param3}&param4={param4}&staticFilter&anotherFilter=5"}`
	for _, c := range []struct {
		name, spec, arguments string
		want                  string // METHOD URI BODY
	}{
		{"RestUtilTest", restUtil, `{"param1":"value1","param2":"value2","param4":4}`, "GET /v1/path/value1/resource/value2?param4=4&staticFilter&anotherFilter=5 "},
		{"all query arguments absent", `{"method":"get","path":"/filter?type={type}&participants={participants}"}`, `{}`, "GET /v1/filter "},
		{"null is absent", `{"method":"GET","path":"/f?a={a}&b={b}"}`, `{"a":null,"b":""}`, "GET /v1/f?b= "},
		{"embedded", `{"method":"GET","path":"/f?q=pre{x}&r=a{x}b{y}c"}`, `{"x":"a b&c"}`, "GET /v1/f?q=prea%20b%26c "},
		{"embedded twice", `{"method":"GET","path":"/f?q={x}-{y}"}`, `{"x":1,"y":[2,"3,4"]}`, "GET /v1/f?q=1-2,3%2C4 "},
		{"space and slash", `{"method":"GET","path":"/a/{x}/b"}`, `{"x":"a b/c+d%2e"}`, "GET /v1/a/a%20b%2Fc%2Bd%252e/b "},
		{"prefix in a segment", `{"method":"GET","path":"/a/v{x}.json"}`, `{"x":2}`, "GET /v1/a/v2.json "},
		{"array in a path", `{"method":"GET","path":"/a/{x}"}`, `{"x":["a","b,c",3]}`, "GET /v1/a/a,b%2Cc,3 "},
		{"array in a query", `{"method":"GET","path":"/a?x={x}&y=1"}`, `{"x":["a","b&c",3]}`, "GET /v1/a?x=a&x=b%26c&x=3&y=1 "},
		{"empty array", `{"method":"GET","path":"/a?x={x}"}`, `{"x":[]}`, "GET /v1/a "},
		{"object in a query", `{"method":"GET","path":"/a?x={x}"}`, `{"x":{"a":[1]}}`, "GET /v1/a?x=%7B%22a%22%3A%5B1%5D%7D "},
		{"joined", `{"method":"GET","path":"/a?x={x}&y={y}","join":{"x":",","y":"|"}}`, `{"x":["a","b,"],"y":[1,2]}`, "GET /v1/a?x=a,b%2C&y=1%7C2 "},
		{"deep object", `{"method":"GET","path":"/a?f={f}","join":{"f":"[]"}}`, `{"f":{"a":1,"b]&":["x","y"]}}`, "GET /v1/a?f%5Ba%5D=1&f%5Bb%5D%26%5D%5B%5D=x&f%5Bb%5D%26%5D%5B%5D=y "},
		{"big numbers", `{"method":"POST","path":"/a/{x}?y={y}"}`, `{"x":12345678901234567890,"y":1.50,"z":0.10000000000000000001}`, `POST /v1/a/12345678901234567890?y=1.50 {"z":0.10000000000000000001}`},
		{"body keeps its order and bytes", `{"method":"POST","path":"/a"}`, `{"z":"<&\u00e9>","a":null,"m":{"k": [1.0]}}`, `POST /v1/a {"z":"<&\u00e9>","a":null,"m":{"k": [1.0]}}`},
		{"POST without arguments", `{"method":"POST","path":"/a"}`, `{}`, "POST /v1/a "},
		{"always an object", `{"method":"POST","path":"/a/{x}","body":"json"}`, `{"x":1}`, "POST /v1/a/1 {}"},
		{"one argument is the body", `{"method":"PUT","path":"/a","body":"{doc}"}`, `{"doc":[1,{"a":2}],"x":1}`, `PUT /v1/a [1,{"a":2}]`},
		{"no body", `{"method":"PATCH","path":"/a","body":"none"}`, `{"x":1}`, "PATCH /v1/a "},
		{"form", `{"method":"POST","path":"/a/{id}","body":"form"}`, `{"id":1,"a b":"c&d","l":[1,2],"n":null}`, "POST /v1/a/1 a%20b=c%26d&l=1&l=2"},
		{"DELETE", `{"method":"DELETE","path":"/a/{x}"}`, `{"x":"é"}`, "DELETE /v1/a/%C3%A9 "},
		{"GET ignores what is left", `{"method":"GET","path":"/a"}`, `{"x":1}`, "GET /v1/a "},
		{"HEAD", `{"method":"HEAD","path":"/a"}`, `{"x":1}`, "HEAD /v1/a "},
		{"no slash first", `{"method":"GET","path":"a/{x}"}`, `{"x":1}`, "GET /v1/a/1 "},
		{"argument first", `{"method":"GET","path":"{x}"}`, `{"x":".evil.example"}`, "GET /v1/.evil.example "},
		{"query alone", `{"method":"GET","path":"?x={x}"}`, `{"x":1}`, "GET /v1/?x=1 "},
		{"literals", `{"method":"GET","path":"/a b/é%2F:@?k k=ü%20&&x"}`, `{}`, "GET /v1/a%20b/%C3%A9%2F:@?k%20k=%C3%BC%20&x "},
		{"odd names", `{"method":"GET","path":"/{a/b}?q={c?d&e}"}`, `{"a/b":1,"c?d&e":2}`, "GET /v1/1?q=2 "},
		{"duplicates: the last", `{"method":"GET","path":"/{a}"}`, `{"a":1,"a":2}`, "GET /v1/2 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sourcetest.NewAPI(t, nil)
			sourcetest.Do(t, sourcetest.Tool(t, openAPI(t, d.URL, `{"type":"rest","url":"URL/v1/"}`), c.spec), c.arguments)
			if r := d.Last(t); r.Method+" "+r.URI+" "+r.Body != c.want {
				t.Errorf("%s %s %s\nwant %s", r.Method, r.URI, r.Body, c.want)
			} else if wantType := r.Body != ""; wantType != (r.Header.Get("Content-Type") != "") {
				t.Errorf("content type %q of the body %q", r.Header.Get("Content-Type"), r.Body)
			}
		})
	}
}

func TestMissingArgument(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	tool := sourcetest.Tool(t, openAPI(t, d.URL, `{"url":"URL"}`), `{"method":"GET","path":"/advice/{slip_id}"}`)
	for _, arguments := range []string{`{"slid_id":"1"}`, `{"slip_id":null}`} {
		_, err := tool.Call(t.Context(), json.RawMessage(arguments))
		if err == nil || err.Error() != "missing argument: slip_id, a part of the path /advice/{slip_id}" {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if came := d.Requests(); len(came) != 0 {
		t.Errorf("requests came: %v", came)
	}
}

func TestHeaders(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL?key=s%26t","auth":{"bearer":"abc"},"headers":{"X-A":"1","X-B":"{2}","Accept":"text/plain"}}`)
	sourcetest.Do(t, sourcetest.Tool(t, b, `{"method":"POST","path":"/?x={x}","headers":{"X-B":"b{b}","x-c":"{c}","Content-Type":"application/merge-patch+json"}}`), `{"x":1,"b":[1,"é"],"d":1}`)
	r := d.Last(t)
	got := []string{r.Header.Get("Authorization"), r.Header.Get("X-A"), r.Header.Get("X-B"), r.Header.Get("X-C"), r.Header.Get("Accept"), r.Header.Get("Content-Type"), r.URI, r.Body}
	want := []string{"Bearer abc", "1", "b1,é", "", "text/plain", "application/merge-patch+json", "/?key=s%26t&x=1", `{"d":1}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// The API's Content-Type is that of its JSON: no form or file is sent with it.
func TestTypeOfAPI(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL","headers":{"content-type":"application/vnd.api+json"}}`)
	for spec, want := range map[string]string{
		`{"method":"POST","path":"/"}`:                                                               "application/vnd.api+json",
		`{"method":"POST","path":"/","body":"{a}"}`:                                                  "application/vnd.api+json",
		`{"method":"POST","path":"/","body":"form"}`:                                                 "application/x-www-form-urlencoded",
		`{"method":"POST","path":"/","body":"{a}","encoding":{"a":{"style":"file"}}}`:                "application/octet-stream",
		`{"method":"POST","path":"/","body":"{a}","headers":{"Content-Type":"text/csv"}}`:            "text/csv",
		`{"method":"POST","path":"/","body":"form","headers":{"Content-Type":"application/x-form"}}`: "application/x-form",
		`{"method":"POST","path":"/","body":"form","headers":{"Content-Type":"application/{none}"}}`: "application/x-www-form-urlencoded",
	} {
		sourcetest.Do(t, sourcetest.Tool(t, b, spec), `{"a":"x"}`)
		if got := d.Last(t).Header.Get("Content-Type"); got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for config, want := range map[string]string{
		``:                                     "the config has no such API",
		`{"url":"ftp://h"}`:                    "expected http:// or https://",
		`{"url":"https://h","type":"graphql"}`: `type is "graphql", not rest`,
		`{"url":"https://h","retries":11}`:     "retries: expected 0 to 10",
		`{"url":"https://h","retries":-1}`:     "retries: expected 0 to 10",
		`{"url":"https://h","timeout":0}`:      "timeout: expected a duration",
		`{"ulr":"https://h"}`:                  "url",
	} {
		cfg := bridge.BackendConfig{Name: "shop"}
		if config != "" {
			cfg.Config = json.RawMessage(config)
		}
		if _, err := Kind.Open(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "rest: api shop") {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	b := openAPI(t, "", `{"url":"http://localhost"}`)
	for spec, want := range map[string]string{
		`{"method":"","path":"/a"}`:                             "method is empty",
		`{"path":"/a"}`:                                         "method",
		`{"method":"TRACE","path":"/a"}`:                        "TRACE is not supported",
		`{"method":"GET","path":""}`:                            "path is empty",
		`{"method":"GET"}`:                                      "path",
		`{"method":"GET","path":"/a/{b"}`:                       "unbalanced braces: no } after",
		`{"method":"GET","path":"/a/b}"}`:                       "unbalanced braces: } without {",
		`{"method":"GET","path":"/a/{{b}}"}`:                    "unbalanced braces",
		`{"method":"GET","path":"/a/{}"}`:                       "{} does not name an argument",
		`{"method":"GET","path":"/a%zz"}`:                       "%25",
		`{"method":"GET","path":"/a?b#c"}`:                      "fragment",
		`{"method":"GET","path":"https://evil.example/{a}"}`:    "whole URL",
		`{"method":"GET","path":"/a","pth":1}`:                  "pth",
		`{"method":"GET","path":"/a","headers":{"Host":"{h}"}}`: "belongs to the connection",
		`{"method":"GET","path":"/a","headers":{"X":"{h"}}`:     "unbalanced",
		`{"method":"GET","path":"/a","headers":{"X":"a\nb"}}`:   "line break",
		`{"method":"GET","path":"/a","body":"json"}`:            "a GET has no body",
		`{"method":"POST","path":"/a","body":"xml"}`:            "expected \"json\"",
		`{"method":"POST","path":"/a","body":"{a}{b}"}`:         "one placeholder",
		`{"method":"GET","path":"/a?b={b}","join":{"c":","}}`:   "{c} is not in the query",
		`{"method":"GET","path":"/a?b={b}","join":{"b":""}}`:    "is empty",
		`{"method":"GET","path":"/a?b=x{b}","join":{"b":"[]"}}`: "is for a pair",
		`{"method":"GET","path":"/a","select":"a/b"}`:           "JSON Pointer",
		`{"method":"GET","path":"/a","select":"/a~2"}`:          "JSON Pointer",
	} {
		_, _, err := b.Tool(toolformat.Tool{Name: "tool"}, json.RawMessage(spec))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "rest") {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
}

func TestNotes(t *testing.T) {
	b := openAPI(t, "", `{"url":"http://localhost"}`)
	for _, c := range []struct {
		schema, spec string
		want         []string
	}{
		{`{"type":"object","properties":{"slid_id":{"type":"string"}},"required":["slid_id"]}`, `{"method":"GET","path":"/advice/{slip_id}"}`, []string{
			"tool: /rest: the placeholder {slip_id} is not a property (did you mean {slid_id}?); every call fails without it",
			"tool: /input_schema/properties/slid_id: slid_id is ignored, as the request has no place for it: a GET has no body",
		}},
		{`{"properties":{"a":{},"b":{"default":1},"c":{}}}`, `{"method":"POST","path":"/{a}/{b}?d={dddd}","body":"none"}`, []string{
			"tool: /input_schema/properties/a: a is in the path and not required: a call without it fails",
			"tool: /rest: the placeholder {dddd} is not a property; it is omitted from every request",
			"tool: /input_schema/properties/c: c is ignored, as the request has no place for it: its body is \"none\"",
		}},
		{`{"properties":{"a":{},"b":{}}}`, `{"method":"POST","path":"/","body":"{a}"}`, []string{
			"tool: /input_schema/properties/b: b is ignored, as the request has no place for it: the body is {a}",
		}},
		{`{"properties":{"a":{},"b":{}},"required":["a"]}`, `{"method":"POST","path":"/{a}"}`, nil},
	} {
		_, notes, err := b.Tool(toolformat.Tool{Name: "tool", InputSchema: json.RawMessage(c.schema)}, json.RawMessage(c.spec))
		var got []string
		for _, n := range notes {
			got = append(got, n.String())
		}
		if err != nil || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.spec, err, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// A missing answer is an error that does not show the URL.
func TestAway(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL/?key=s3cr3t","retries":0}`)
	d.Close()
	_, err := sourcetest.Tool(t, b, `{"method":"GET","path":"/{a}"}`).Call(t.Context(), json.RawMessage(`{"a":"s3cr3t"}`))
	var e *toolformat.Error
	if !errors.As(err, &e) || e.Code != toolformat.Unavailable || e.Message != `tool tool: the API "shop" did not answer; try again later` {
		t.Fatalf("%v", err)
	}
	if e.Cause == nil || strings.Contains(e.Cause.Error(), "s3cr3t") {
		t.Errorf("cause %v", e.Cause)
	}
}

// Safe methods are read-only; of the others, PUT and DELETE are idempotent.
func TestHints(t *testing.T) {
	b := openAPI(t, "http://127.0.0.1", `{"url":"URL"}`)
	for method, want := range map[string][2]bool{
		"GET": {true, false}, "get": {true, false}, "HEAD": {true, false}, "PUT": {false, true}, "DELETE": {false, true}, "POST": {}, "PATCH": {},
	} {
		tool := sourcetest.Tool(t, b, `{"method":"`+method+`","path":"/"}`)
		if got := [2]bool{tool.ReadOnly, tool.Idempotent}; got != want {
			t.Errorf("%s: read-only, idempotent: %v, want %v", method, got, want)
		}
	}
}
