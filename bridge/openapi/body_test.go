package openapi_test

import (
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/openapi"
)

// bodies lists request bodies: the properties of the tool and the spec that they become.
var bodies = []struct {
	version, body, want string
}{
	{"3.0.0", `"content":{"application/json":{"schema":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{}}}}}`,
		`{"a":{"type":"string"},"b":{}} ["a"] {"method":"POST","path":"/","body":"json"}`},
	{"3.0.0", `"content":{"application/json":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
		`{"a":{"type":"string"}}  {"method":"POST","path":"/"}`},
	{"3.0.0", `"content":{"text/json":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}},"text/plain":{}}`,
		`{"a":{"type":"string"}}  {"method":"POST","path":"/","headers":{"Content-Type":"text/json"}}`},
	{"3.0.0", `"required":true,"content":{"text/plain; charset=utf-8":{"schema":{"type":"string"}}}`,
		`{"body":{"description":"The body as text/plain.","type":"string"}} ["body"] {"method":"POST","path":"/","headers":{"Content-Type":"text/plain; charset=utf-8"},"body":"{body}"}`},
	{"3.0.0", `"description":"Rows.","content":{"text/*":{"schema":{"type":"object"}}}`,
		`{"body":{"description":"Rows.","type":"string"}}  {"method":"POST","path":"/","headers":{"Content-Type":"text/plain"},"body":"{body}"}`},
	{"3.0.0", `"content":{"application/xml":{"schema":{"type":"object"}}}`,
		`{"body":{"description":"The body as application/xml.","type":"string"}}  {"method":"POST","path":"/","headers":{"Content-Type":"application/xml"},"body":"{body}"}`},
	{"3.0.0", `"content":{"image/*":{"schema":{"type":"string","format":"binary"}}}`,
		`{"body":` + fileSchema + `}  {"method":"POST","path":"/","body":"{body}","encoding":{"body":{"style":"file"}}}`},
	{"3.1.0", `"content":{"application/octet-stream":{}}`,
		`{"body":` + fileSchema + `}  {"method":"POST","path":"/","headers":{"Content-Type":"application/octet-stream"},"body":"{body}","encoding":{"body":{"style":"file"}}}`},
	{"3.0.0", `"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"object"},"b":{"type":"array"},"c":{"type":"object"},"d":{"type":"string"},"e":{"type":"string"}}},
		"encoding":{"a":{"style":"deepObject","explode":true},"b":{"explode":false},"d":{"style":"deepObject"},"e":{"contentType":"application/json"}}}}`,
		`{"a":{"type":"object"},"b":{"type":"array"},"c":{"type":"object"},"d":{"type":"string"},"e":{"type":"string"}}  {"method":"POST","path":"/","body":"form","encoding":{"a":{"style":"deepObject"},"b":{"style":"form","explode":false},"e":{"style":"json"}}}`},
	{"3.0.0", `"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","additionalProperties":{"type":"string"},"properties":{"a":{"type":"object"}}},"encoding":{"a":{"style":"deepObject"}}}}`,
		`{"body":{"type":"object","additionalProperties":{"type":"string"},"properties":{"a":{"type":"object"}}}}  {"method":"POST","path":"/","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":"{body}","encoding":{"a":{"style":"deepObject"}}}`},
	{"3.0.0", `"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{}}}}`, `{}  {"method":"POST","path":"/","body":"form"}`},
	{"3.0.0", `"content":{"application/json":{"schema":{"type":"object","properties":{}}}}`,
		`{"body":{"type":"object","properties":{}}}  {"method":"POST","path":"/","body":"{body}"}`},
	{"3.0.0", `"content":{"multipart/form-data":{}}`,
		`{"body":{"type":"object"}}  {"method":"POST","path":"/","headers":{"Content-Type":"multipart/form-data"},"body":"{body}"}`},
	{"3.0.0", `"content":{"multipart/form-data":{"schema":{"type":"object","required":["f"],"properties":{"f":{"type":"string","format":"binary"},"p":{"type":"string"},"q":{"type":"integer"},"o":{"type":"object"}}},
		"encoding":{"f":{"contentType":"image/png"},"q":{"contentType":"a/b\\n"},"p":{"contentType":"image/png, image/gif"},"o":{"style":"deepObject"}}}}`,
		`{"f":` + fileSchema + `,"p":{"type":"string"},"q":{"type":"integer"},"o":{"type":"object"}} ["f"] {"method":"POST","path":"/","body":"multipart","encoding":{"f":{"style":"file","contentType":"image/png"},"o":{"style":"deepObject"}}}`},
	{"3.1.0", `"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"f":{"description":"The files.","type":"array","items":{"type":"string","contentMediaType":"application/octet-stream"}},"b":{"type":"string","contentEncoding":"base64"},"o":{"type":"object"}}},
		"encoding":{"o":{"style":"deepObject"}}}}`,
		`{"f":{"description":"The files.","type":"array","items":` + fileSchema + `},"b":{"type":"string","contentEncoding":"base64"},"o":{"type":"object"}}  {"method":"POST","path":"/","body":"multipart","encoding":{"f":{"style":"file"},"o":{"style":"deepObject"}}}`},
	{"3.0.0", `"content":{"application/json":{"schema":{"type":"object","properties":{
		"a":{"required":["id"],"allOf":[{"properties":{"id":{"readOnly":true},"n":{"type":"string"}}},{"required":["id","n"],"properties":{"b":{"required":["id"]}}}]},
		"c":{"required":["id"],"allOf":[{"properties":{"id":{"readOnly":true}}},{"properties":{"id":{}}}]}}}}}`,
		`{"a":{"allOf":[{"properties":{"n":{"type":"string"}}},{"required":["n"],"properties":{"b":{"required":["id"]}}}]},"c":{"required":["id"],"allOf":[{"properties":{}},{"properties":{"id":{}}}]}}  {"method":"POST","path":"/"}`},
	{"3.0.0", `"content":{"a{b}/json":{},"not a type":{},"multipArt":{},"multipart/mixed":{}}`, `{}  {"method":"POST","path":"/","body":"none"}`},
	{"3.0.0", `"required":true,"content":{"application/x-thing":{"schema":{"type":"object"}}}`, ``},
}

func TestBodies(t *testing.T) {
	for _, c := range bodies {
		api := load(t, document(c.version, `{"/":{"post":{"operationId":"t","requestBody":{`+c.body+`},`+ok+`}}}`, ""), openapi.Options{})
		loadable(t, api)
		got := ""
		for _, d := range api.Definitions {
			var schema struct{ Properties, Required json.RawMessage }
			if err := json.Unmarshal(d.Tool.InputSchema, &schema); err != nil {
				t.Fatal(err)
			}
			got = string(schema.Properties) + " " + string(schema.Required) + " " + string(d.Spec)
		}
		if got != c.want || c.want == "" && len(api.LeftOut) != 1 {
			t.Errorf("%s:\n%s\nwant\n%s", c.body, got, c.want)
		}
	}
}

// The places and styles of parameters become what rest calls them.
func TestParameterStyles(t *testing.T) {
	const list, object, scalar = `{"type":"array"}`, `{"allOf":[{"type":"object"}]}`, `{"type":["string","null"]}`
	for _, c := range []struct{ in, style, schema, want string }{
		{"query", ``, list, ``},
		{"query", ``, scalar, ``},
		{"query", ``, object, `{"style":"form"}`},
		{"query", ``, `{}`, `{"style":"form"}`},
		{"query", ``, `{"anyOf":[{"type":"string"},{"enum":[{}]}]}`, `{"style":"form"}`},
		{"query", ``, `{"oneOf":[{"type":"string"},{"enum":["a"]}]}`, ``},
		{"query", `,"explode":false`, scalar, ``},
		{"query", `,"explode":false`, object, `{"style":"form","explode":false}`},
		{"query", `,"style":"spaceDelimited"`, list, `{"style":"spaceDelimited"}`},
		{"query", `,"style":"pipeDelimited","explode":true`, list, `{"style":"pipeDelimited","explode":true}`},
		{"query", `,"style":"deepObject","explode":true`, list, `{"style":"deepObject"}`},
		{"query", `,"content":{"application/json":{"schema":{"type":"string"}}}`, ``, `{"style":"json"}`},
		{"query", `,"content":{"text/plain":{"schema":{"type":"string"}}}`, ``, ``},
		{"path", ``, list, ``},
		{"path", ``, object, `{"style":"simple"}`},
		{"path", `,"explode":true`, object, `{"style":"simple","explode":true}`},
		{"path", `,"style":"label"`, scalar, `{"style":"label"}`},
		{"path", `,"style":"matrix","explode":true`, list, `{"style":"matrix","explode":true}`},
		{"header", ``, list, ``},
		{"header", `,"explode":true`, object, `{"style":"simple","explode":true}`},
		{"cookie", ``, object, `{"style":"form"}`},
		{"cookie", `,"style":"cookie"`, list, ``},
		{"cookie", `,"explode":false`, list, `{"style":"form","explode":false}`},
	} {
		schema := ""
		if c.schema != "" {
			schema = `,"schema":` + c.schema
		}
		api := load(t, document("3.2.0", `{"/{v}":{"get":{"operationId":"t","parameters":[{"name":"v","in":"`+c.in+`"`+c.style+schema+`}],`+ok+`}}}`, ""), openapi.Options{})
		tools := loadable(t, api)
		if len(tools) != 1 {
			t.Errorf("%s%s: left out %v", c.in, c.style, api.LeftOut)
			continue
		}
		var spec struct {
			Encoding map[string]json.RawMessage
			Path     string
			Headers  map[string]string
		}
		if err := json.Unmarshal(api.Definitions[0].Spec, &spec); err != nil {
			t.Fatal(err)
		}
		place := map[string]string{"query": "/{path_v}?v={v}", "path": "/{v}"}[c.in]
		header := map[string]string{"header": "{v}", "cookie": "v={v}"}[c.in]
		if got := string(spec.Encoding["v"]); got != c.want || place != "" && spec.Path != place || header != "" && spec.Headers["v"]+spec.Headers["Cookie"] != header {
			t.Errorf("%s%s %s: %s, want %s", c.in, c.style, c.schema, api.Definitions[0].Spec, c.want)
		}
	}
}

// The fragment of a path only tells operations apart; a parameter without a place is left out.
func TestPaths(t *testing.T) {
	id := `"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},{"name":"other","in":"path","required":true,"schema":{"type":"string"}}],` + ok
	api := load(t, document("3.0.0", `{"/files/{id}":{"post":{"operationId":"a",`+id+`}},"/files/{id}#shared/{other}":{"post":{"operationId":"b",`+id+`}},"/files?x={id}":{"post":{"operationId":"c",`+ok+`}},"/}#":{"post":{"operationId":"d",`+ok+`}},"/#{":{"put":{"operationId":"e",`+ok+`}}}`, ""), openapi.Options{})
	loadable(t, api)
	for _, d := range api.Definitions {
		want := `{"method":"POST","path":"/files/{id}"}`
		if d.Tool.Name == "e" {
			want = `{"method":"PUT","path":"/"}`
		}
		if got := string(d.Spec); got != want || strings.Contains(string(d.Tool.InputSchema), "other") {
			t.Errorf("%s: %s %s, want %s", d.Tool.Name, got, d.Tool.InputSchema, want)
		}
	}
	if len(api.Definitions) != 3 || len(api.LeftOut) != 2 || len(api.Notes) != 2 {
		t.Errorf("%v, left out %v, notes %v", names(api), api.LeftOut, api.Notes)
	}
}

// TestForms calls imported operations with forms, from the document to the wire.
func TestForms(t *testing.T) {
	var body, contentType string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, contentType = string(b), r.Header.Get("Content-Type")
	}))
	defer server.Close()
	const deep = `{"style":"deepObject","explode":true}`
	doc := document("3.0.0", `{"/v1/customers":{"post":{"operationId":"stripe","requestBody":{"content":{"application/x-www-form-urlencoded":{
		"schema":{"type":"object","properties":{"metadata":{"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"string","enum":[""]}]},"preferred_locales":{"type":"array","items":{"type":"string"}},"items":{"type":"array","items":{"type":"object"}},"name":{"type":"string"}}},
		"encoding":{"metadata":`+deep+`,"preferred_locales":`+deep+`,"items":`+deep+`}}}},`+ok+`}},
		"/upload":{"post":{"operationId":"upload","requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","required":["file"],"properties":{"file":{"type":"string","format":"binary"},"name":{"type":"string"}}}}}},`+ok+`}}}`, "")
	tools := loadable(t, load(t, doc, openapi.Options{URL: server.URL}))
	if _, err := tools[0].Call(t.Context(), json.RawMessage(`{"metadata":{"a":"b"},"preferred_locales":["en"],"items":[{"price":"p","tiers":[{"up_to":1}]}],"name":"X & Y"}`)); err != nil {
		t.Fatal(err)
	}
	const want = "metadata[a]=b&preferred_locales[]=en&items[0][price]=p&items[0][tiers][0][up_to]=1&name=X%20%26%20Y"
	if got := strings.NewReplacer("%5B", "[", "%5D", "]").Replace(body); got != want || contentType != "application/x-www-form-urlencoded" {
		t.Errorf("%s: %s\nwant %s", contentType, got, want)
	}
	if _, err := tools[0].Call(t.Context(), json.RawMessage(`{"metadata":""}`)); err != nil || body != "metadata=" {
		t.Errorf("%s, %v", body, err)
	}
	if _, err := tools[1].Call(t.Context(), json.RawMessage(`{"file":"data:image/png;base64,AAE=","name":"x"}`)); err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(strings.NewReader(body), params["boundary"]).ReadForm(1000)
	if err != nil || len(form.File["file"]) != 1 || form.File["file"][0].Size != 2 || form.Value["name"][0] != "x" {
		t.Errorf("%+v, %v", form, err)
	}
}
