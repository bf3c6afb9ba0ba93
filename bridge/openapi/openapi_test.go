package openapi_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/openapi"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
)

func load(t *testing.T, doc string, opt openapi.Options) *openapi.API {
	t.Helper()
	api, err := openapi.Import([]byte(doc), opt)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// document returns a document of a version with paths, and with components unless they are "".
func document(version, paths, components string) string {
	return `{"openapi":"` + version + `","info":{"title":"t","version":"1"},"servers":[{"url":"https://api.example.com/v1"}],"paths":` + paths + `,"components":{` + components + `}}`
}

const ok = `"responses":{"200":{"description":"ok"}}`

// withDefaults is the schema of an operation, and withoutDefaults that of the same operation as a PATCH.
const (
	withDefaults    = `{"type":"object","properties":{"on":{"type":"boolean","default":true},"default":{"$ref":"#/$defs/D"}},"additionalProperties":false,"$defs":{"D":{"type":"object","properties":{"n":{"type":"integer","default":3}}}}}`
	withoutDefaults = `{"type":"object","properties":{"on":{"type":"boolean"},"default":{"$ref":"#/$defs/D"}},"additionalProperties":false,"$defs":{"D":{"type":"object","properties":{"n":{"type":"integer"}}}}}`
)

// definitions lists operations and their definitions: want has a line each for NAME: DESCRIPTION,
// the schema and the spec, and then for the notes of LeftOut and Notes.
var definitions = []struct {
	name, version, paths, components string
	want                             string
}{
	{
		"parameters", "3.0.3", `{"/users/{id}/orders":{
				"parameters":[{"name":"id","in":"path","required":true,"description":"whose","schema":{"type":"integer","format":"int64","maximum":12345678901234567890}},{"name":"limit","in":"query","schema":{"type":"string"}}],
				"get":{"operationId":"listOrders","summary":"List orders","description":"All of them.","parameters":[
					{"name":"limit","in":"query","schema":{"type":"integer","default":10,"minimum":0,"exclusiveMinimum":true}},
					{"name":"status[]","in":"query","schema":{"type":"array","items":{"type":"string","enum":["open","done"]}}},
					{"name":"ids","in":"query","explode":false,"schema":{"type":"array","items":{"type":"integer"}}},
					{"name":"tags","in":"query","style":"pipeDelimited","schema":{"type":"array","items":{"type":"string"}}},
					{"name":"filter","in":"query","style":"deepObject","schema":{"type":"object","properties":{"a":{"type":"string"}}}},
					{"name":"X-Trace","in":"header","schema":{"type":"string","nullable":true}},
					{"name":"Accept","in":"header","schema":{"type":"string"}},
					{"name":"accept-encoding","in":"header","schema":{"type":"string"}}],` + ok + `}}}`, "",
		"listOrders: List orders\n\nAll of them.\n" +
			`{"type":"object","properties":{"id":{"description":"whose","type":"integer","format":"int64","maximum":12345678901234567890},"limit":{"type":"integer","default":10,"exclusiveMinimum":0},"status[]":{"type":"array","items":{"type":"string","enum":["open","done"]}},"ids":{"type":"array","items":{"type":"integer"}},"tags":{"type":"array","items":{"type":"string"}},"filter":{"type":"object","properties":{"a":{"type":"string"}}},"X-Trace":{"type":["string","null"]}},"required":["id"],"additionalProperties":false}` + "\n" +
			`{"method":"GET","path":"/users/{id}/orders?limit={limit}&status%5B%5D={status[]}&ids={ids}&tags={tags}&filter={filter}","headers":{"X-Trace":"{X-Trace}"},"encoding":{"filter":{"style":"deepObject"},"ids":{"style":"form","explode":false},"tags":{"style":"pipeDelimited"}}}` + "\n" +
			"listOrders: the header accept-encoding is left out: it belongs to the connection, or is not a valid name",
	}, {
		"body of properties", "3.1.0", `{"/pets":{"post":{"summary":"Add","requestBody":{"required":true,"content":{"application/json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Base"},{"type":"object","properties":{"owner":{"$ref":"#/components/schemas/Owner"}},"required":["owner"]}]}}}},` + ok + `}}}`,
		`"schemas":{"Base":{"type":"object","title":"Base","required":["name","id"],"properties":{"id":{"type":"integer","readOnly":true},"name":{"type":["string","null"],"examples":["Rex"],"x-order":1}}},"Owner":{"type":"object","properties":{"pets":{"type":"array","items":{"$ref":"#/components/schemas/Owner"}},"a/b":{"$ref":"#/components/schemas/Base/properties/name"}}}}`,
		"post_pets: Add\n" +
			`{"type":"object","properties":{"name":{"type":["string","null"],"examples":["Rex"]},"owner":{"$ref":"#/$defs/Owner"}},"required":["name","owner"],"additionalProperties":false,"$defs":{"Owner":{"type":"object","properties":{"pets":{"type":"array","items":{"$ref":"#/$defs/Owner"}},"a/b":{"$ref":"#/$defs/Base.properties.name"}}},"Base.properties.name":{"type":["string","null"],"examples":["Rex"]}}}` + "\n" +
			`{"method":"POST","path":"/pets","body":"json"}`,
	}, {
		"body as a whole", "3.0.0", `{"/pets/{body}":{"put":{"operationId":"put/pet","parameters":[{"name":"body","in":"path","required":true,"schema":{"type":"string"}}],"requestBody":{"description":"the pets","content":{"application/merge-patch+json":{"schema":{"type":"array","items":{"type":"object"}}}}},` + ok + `}}}`, "",
		"put_pet: PUT /pets/{body}\n" +
			`{"type":"object","properties":{"body":{"type":"string"},"request_body":{"description":"the pets","type":"array","items":{"type":"object"}}},"required":["body"],"additionalProperties":false}` + "\n" +
			`{"method":"PUT","path":"/pets/{body}","headers":{"Content-Type":"application/merge-patch+json"},"body":"{request_body}"}` + "\n" +
			`put_pet: the operation is "put/pet" in the document`,
	}, {
		"clash", "3.0.0", `{"/{id}":{"patch":{"operationId":"p","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},{"name":"id","in":"query","schema":{"type":"string"}}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"id":{"type":"string"}}}}}},` + ok + `}}}`, "",
		"p: PATCH /{id}\n" +
			`{"type":"object","properties":{"id":{"type":"string"},"query_id":{"type":"string"},"body":{"type":"object","properties":{"id":{"type":"string"}}}},"required":["id","body"],"additionalProperties":false}` + "\n" +
			`{"method":"PATCH","path":"/{id}?id={query_id}","body":"{body}"}` + "\n" +
			`p: the query parameter id is the argument query_id`,
	}, {
		"form", "3.0.0", `{"/f":{"post":{"operationId":"f","requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}},"multipart/form-data":{}}},` + ok + `}}}`, "",
		"f: POST /f\n" + `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}` + "\n" + `{"method":"POST","path":"/f","body":"form"}`,
	}, {
		"3.0 schemas", "3.0.0", `{"/f":{"post":{"operationId":"f","requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{
				"a":{"nullable":true,"allOf":[{"$ref":"#/components/schemas/A"}]},"b":{"type":"string","enum":["x"],"nullable":true,"example":"x","xml":{}},"c":{"$ref":"#/components/schemas/A","description":"not counted"},"d":{"type":"number","maximum":5,"exclusiveMaximum":false},"e":{"default":{"$ref":"kept"},"nullable":true},"f":{"type":["string","integer"],"nullable":true},"g":{"type":["string","null"],"nullable":true}}}}}},` + ok + `}}}`,
		`"schemas":{"A":{"type":"string"}}`,
		"f: POST /f\n" + `{"type":"object","properties":{"a":{"anyOf":[{"allOf":[{"$ref":"#/$defs/A"}]},{"type":"null"}]},"b":{"type":["string","null"],"enum":["x",null],"examples":["x"]},"c":{"$ref":"#/$defs/A"},"d":{"type":"number","maximum":5},"e":{"default":{"$ref":"kept"}},"f":{"type":["string","integer","null"]},"g":{"type":["string","null"]}},"additionalProperties":false,"$defs":{"A":{"type":"string"}}}` + "\n" + `{"method":"POST","path":"/f"}`,
	}, {
		"the schema of a text", "3.1.0", `{"/t":{"post":{"operationId":"t","requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"a":{"type":"string","contentMediaType":"application/json","contentSchema":{"$ref":"#/components/schemas/A"}}}}}}},` + ok + `}}}`,
		`"schemas":{"A":{"type":"object","xml":{}}}`,
		"t: POST /t\n" + `{"type":"object","properties":{"a":{"type":"string","contentMediaType":"application/json","contentSchema":{"$ref":"#/$defs/A"}}},"additionalProperties":false,"$defs":{"A":{"type":"object"}}}` + "\n" + `{"method":"POST","path":"/t"}`,
	}, {
		"members beside a reference", "3.1.0", `{"/p":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Base","required":["name"],"properties":{"age":{"type":"integer"}}}}}},` + ok + `}}}`,
		`"schemas":{"Base":{"type":"object","properties":{"name":{"type":"string"}}}}`,
		"post_p: POST /p\n" + `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"],"additionalProperties":false}` + "\n" + `{"method":"POST","path":"/p","body":"json"}`,
	}, {
		"defaults", "3.1.0", `{"/u":{"put":{"requestBody":{"$ref":"#/components/requestBodies/U"},` + ok + `},"patch":{"requestBody":{"$ref":"#/components/requestBodies/U"},` + ok + `},"post":{"requestBody":{"$ref":"#/components/requestBodies/U"},` + ok + `}}}`,
		`"requestBodies":{"U":{"content":{"application/json":{"schema":{"type":"object","properties":{"on":{"type":"boolean","default":true},"default":{"$ref":"#/components/schemas/D"}}}}}}},"schemas":{"D":{"type":"object","properties":{"n":{"type":"integer","default":3}}}}`,
		"put_u: PUT /u\n" + withDefaults + "\n" + `{"method":"PUT","path":"/u"}` + "\n" +
			"patch_u: PATCH /u\n" + withoutDefaults + "\n" + `{"method":"PATCH","path":"/u"}` + "\n" +
			"post_u: POST /u\n" + withDefaults + "\n" + `{"method":"POST","path":"/u"}`,
	}, {
		"auth", "3.0.0", `{"/a":{"get":{"operationId":"a","security":[{"key":[]},{"token":["x"]}],` + ok + `}},"/b":{"get":{"operationId":"b","security":[{"key":[]}],"parameters":[{"name":"sid","in":"cookie","schema":{"type":"string"}}],` + ok + `}}}`,
		`"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"},"token":{"type":"http","scheme":"bearer"}}`,
		"a: GET /a\n" + `{"type":"object","properties":{},"additionalProperties":false}` + "\n" + `{"method":"GET","path":"/a"}` + "\n" +
			"b: GET /b\n" + `{"type":"object","properties":{"sid":{"type":"string"}},"additionalProperties":false}` + "\n" + `{"method":"GET","path":"/b","headers":{"Cookie":"sid={sid}"}}` + "\n" +
			`a (security scheme key): set the API's auth to {"header": {"name": "X-Key", "value": KEY}}` + "\n" +
			`a (security scheme token): set the API's auth to {"bearer": TOKEN}`,
	}, {
		"methods of 3.2", "3.2.0", `{"/a":{"query":{"operationId":"find",` + ok + `},"additionalOperations":{"COPY":{` + ok + `}}}}`, "",
		"find: QUERY /a is left out: the kind rest does not support the method\n" +
			"copy_a: COPY /a is left out: the kind rest does not support the method",
	}, {
		"left out", "3.0.0", `{"/a":{"get":{"operationId":"old","deprecated":true,` + ok + `},"options":{` + ok + `},"post":{"operationId":"upload","requestBody":{"required":true,"content":{"multipart/mixed":{}}},` + ok + `}},"/b/{x}":{"get":{"parameters":[{"name":"x","in":"path","required":true,"style":"form","schema":{"type":"string"}}],` + ok + `},"delete":{"operationId":"same",` + ok + `}},"/c":{"get":{"operationId":"same",` + ok + `}}}`, "",
		"same: DELETE /b/{x}\n" + `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}` + "\n" + `{"method":"DELETE","path":"/b/{x}"}` + "\n" +
			"same_2: GET /c\n" + `{"type":"object","properties":{},"additionalProperties":false}` + "\n" + `{"method":"GET","path":"/c"}` + "\n" +
			"options_a: OPTIONS /a is left out: the kind rest does not support the method\n" +
			"upload: POST /a is left out: its body is multipart/mixed, which is not supported\n" +
			`get_b_x: GET /b/{x} is left out: the style "form" of x is not one of a path: expected simple, label, matrix` + "\n" +
			`old: GET /a is left out, as it is deprecated ("deprecated": true includes it)` + "\n" +
			"same: {x} in the path is not declared as a parameter: it is treated as a string\n" +
			"same_2: another operation is named same",
	},
}

func TestDefinitions(t *testing.T) {
	for _, c := range definitions {
		t.Run(c.name, func(t *testing.T) {
			api := load(t, document(c.version, c.paths, c.components), openapi.Options{})
			var got []string
			for _, d := range api.Definitions {
				got = append(got, d.Tool.Name+": "+d.Tool.Description, string(d.Tool.InputSchema), string(d.Spec))
			}
			for _, n := range slices.Concat(api.LeftOut, api.Notes) {
				got = append(got, n.String())
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
			loadable(t, api)
		})
	}
}

// loadable checks that the kind rest accepts each definition without a note.
func loadable(t *testing.T, api *openapi.API) []bridge.Tool {
	t.Helper()
	config, _ := json.Marshal(map[string]string{"url": api.URL})
	backend, err := rest.Kind.Open(bridge.BackendConfig{Name: "api", Config: config, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backend.Close() })
	var tools []bridge.Tool
	for _, d := range api.Definitions {
		tool, notes, err := backend.Tool(d.Tool, d.Spec)
		if err != nil || len(notes) > 0 {
			t.Errorf("%s: %v, notes %v: %s", d.Tool.Name, err, notes, d.Spec)
			continue
		}
		tools = append(tools, tool)
	}
	if _, err := bridge.NewNative(bridge.NativeOptions{}, tools...); err != nil {
		t.Error(err)
	}
	return tools
}

func TestFilters(t *testing.T) {
	doc := document("3.0.0", `{"/a":{"get":{"operationId":"getA","tags":["pets"],`+ok+`},"post":{"operationId":"postA","tags":["pets","admin","own/team"],`+ok+`}},"/b":{"get":{"operationId":"getB","deprecated":true,`+ok+`}}}`, "")
	for _, c := range []struct {
		opt  openapi.Options
		want string
	}{
		{openapi.Options{}, "getA postA"},
		{openapi.Options{Deprecated: true}, "getA postA getB"},
		{openapi.Options{Tags: []string{"adm*"}}, "postA"},
		{openapi.Options{Tags: []string{"o*m"}}, "postA"}, // a slash is an ordinary character
		{openapi.Options{Tags: []string{"own/*"}}, "postA"},
		{openapi.Options{Include: []string{"get*"}}, "getA"},
		{openapi.Options{Exclude: []string{"getA"}}, "postA"},
		{openapi.Options{Tags: []string{"pets"}, Include: []string{"*A"}, Exclude: []string{"post?"}}, "getA"},
	} {
		var names []string
		for _, d := range load(t, doc, c.opt).Definitions {
			names = append(names, d.Tool.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v: %s, want %s", c.opt, got, c.want)
		}
	}
}

// An operation is read-only or idempotent by its method.
func TestReadOnly(t *testing.T) {
	doc := document("3.1.0", `{"/a":{"get":{"operationId":"get",`+ok+`},"head":{"operationId":"head",`+ok+`},"put":{"operationId":"put",`+ok+`},"post":{"operationId":"post",`+ok+`},"delete":{"operationId":"delete",`+ok+`}}}`, "")
	var readOnly, idempotent []string
	for _, tool := range loadable(t, load(t, doc, openapi.Options{})) {
		if tool.ReadOnly {
			readOnly = append(readOnly, tool.Name)
		}
		if tool.Idempotent {
			idempotent = append(idempotent, tool.Name)
		}
	}
	if !slices.Equal(readOnly, []string{"get", "head"}) || !slices.Equal(idempotent, []string{"put", "delete"}) {
		t.Errorf("read-only are %q, idempotent %q", readOnly, idempotent)
	}
}

// What the config sets is not an argument, which could override it.
func TestSet(t *testing.T) {
	doc := document("3.1.0", `{"/{key}":{"get":{"operationId":"a","parameters":[{"name":"key","in":"path","required":true,"schema":{"type":"string"}},{"name":"api_key","in":"query","required":true,"schema":{"type":"string"}},
		{"name":"x-tenant","in":"header","schema":{"type":"string"}},{"name":"sid","in":"cookie","schema":{"type":"string"}},{"name":"q","in":"query","schema":{"type":"string"}}],`+ok+`}}}`, "")
	api := load(t, doc, openapi.Options{Set: []string{"api_key", "X-Tenant", "sid", "Key"}})
	loadable(t, api)
	if got, want := string(api.Definitions[0].Tool.InputSchema)+string(api.Definitions[0].Spec),
		`{"type":"object","properties":{"key":{"type":"string"},"q":{"type":"string"}},"required":["key"],"additionalProperties":false}{"method":"GET","path":"/{key}?q={q}"}`; got != want || len(api.Notes) > 0 {
		t.Errorf("%s, %v\nwant %s", got, api.Notes, want)
	}
}

// With Secured, there are no notes about auth.
func TestSecured(t *testing.T) {
	doc := document("3.1.0", `{"/a":{"get":{"operationId":"a","security":[{"key":[]}],`+ok+`}}}`, `"securitySchemes":{"key":{"type":"http","scheme":"bearer"}}`)
	for secured, want := range map[bool]int{false: 1, true: 0} {
		if api := load(t, doc, openapi.Options{Secured: secured}); len(api.Notes) != want {
			t.Errorf("%v: %v", secured, api.Notes)
		}
	}
}

// A server of an operation's own is said; the document's, written again, and a GET's empty body are
// not.
func TestQuiet(t *testing.T) {
	const body = `"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{}}}}}`
	api := load(t, document("3.0.0", `{"/a":{"servers":[{"url":"https://api.example.com/v1"}],"get":{"operationId":"same",`+body+`,`+ok+`}},
		"/b":{"servers":[{"url":"https://api.example.com/v1"}],"get":{"operationId":"other","servers":[{"url":"https://upload.example.com"}],`+ok+`}}}`, ""), openapi.Options{})
	if len(api.Notes) != 1 || !strings.HasPrefix(api.Notes[0].String(), "other: the document has a separate server") {
		t.Error(api.Notes)
	}
}

func TestServer(t *testing.T) {
	for servers, want := range map[string]string{
		`[{"url":"https://{region}.example.com/{v}","variables":{"region":{"default":"eu"},"v":{"default":"v2"}}},{"url":"https://other.example"}]`: "https://eu.example.com/v2",
		`[{"url":"/v1"}]`: "",
		`[]`:              "",
	} {
		doc := `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":` + servers + `,"paths":{}}`
		api, err := openapi.Import([]byte(doc), openapi.Options{})
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "set its url") {
				t.Errorf("%s: %v", servers, err)
			}
			api, err = openapi.Import([]byte(doc), openapi.Options{URL: "http://localhost:1/x"})
			want = "http://localhost:1/x"
		}
		if err != nil || api.URL != want {
			t.Errorf("%s: %v, %v", servers, api, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for doc, want := range map[string]string{
		``:                                "expected a mapping",
		`[1]`:                             "expected a mapping",
		`{"a":`:                           "neither JSON nor YAML",
		`{"swagger":"2.0"}`:               "does not name a server",
		`{"swagger":"1.2"}`:               "unsupported version 1.2",
		`{"info":{}}`:                     `has no "openapi"`,
		`{"openapi":"4.0.0"}`:             "unsupported version 4.0.0",
		`openapi: 3.0.0` + "\nx: &a [*a]": "nested deeper",
	} {
		if _, err := openapi.Import([]byte(doc), openapi.Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "openapi: ") {
			t.Errorf("%.100s: %v, want %s", doc, err, want)
		}
	}
	if _, err := openapi.Import(nil, openapi.Options{Tags: []string{"["}}); err == nil {
		t.Error("a broken pattern is taken")
	}
}

const yamlDocument = `
openapi: 3.0.3
info: {title: t, version: "1"}
servers: [{url: https://api.example.com}]
x-page: &page
  z: {type: integer, maximum: 12345678901234567890, minimum: 0x10}
  n: {type: number, minimum: -.inf, maximum: &no .Inf, default: *no, enum: [1.5, .nan]}
  a: {type: string, default: "on"}
paths:
  /search:
    post:
      operationId: search
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                <<: *page
                q: {type: string, description: yes, example: 2024-01-01}
                flag: {type: boolean, default: true}
      responses:
        200: {description: ok}
`

func TestYAML(t *testing.T) {
	api := load(t, yamlDocument, openapi.Options{})
	const want = `{"type":"object","properties":{"q":{"type":"string","description":"yes","examples":["2024-01-01"]},"flag":{"type":"boolean","default":true},"z":{"type":"integer","maximum":12345678901234567890,"minimum":16},"n":{"type":"number","enum":[1.5]},"a":{"type":"string","default":"on"}},"additionalProperties":false}`
	if got := string(api.Definitions[0].Tool.InputSchema); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var bomb strings.Builder
	bomb.WriteString("openapi: 3.0.0\na0: &a0 [" + strings.Repeat("lol,", 1000) + "]\n")
	for i := range 9 {
		n := string(rune('0' + i))
		bomb.WriteString("a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat("*a"+n+",", 20) + "]\n")
	}
	if _, err := openapi.Import([]byte(bomb.String()), openapi.Options{}); err == nil {
		t.Error("a bomb of aliases is read")
	}
}

// TestCall calls an imported operation, from the document to the wire.
func TestCall(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = r.Method + " " + r.RequestURI + " " + r.Header.Get("X-Trace") + " " + string(body)
	}))
	defer server.Close()
	doc := document("3.1.0", `{"/users/{user id}/items":{"post":{"operationId":"add","parameters":[{"name":"user id","in":"path","required":true,"schema":{"type":"string"}},{"name":"f","in":"query","style":"deepObject","schema":{"type":"object"}},{"name":"n&m","in":"query","explode":false,"schema":{"type":"array","items":{"type":"integer"}}},{"name":"X-Trace","in":"header","schema":{"type":"string"}}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"name":{"type":"string"}}}}}},`+ok+`}}}`, "")
	tools := loadable(t, load(t, doc, openapi.Options{URL: server.URL}))
	if _, err := tools[0].Call(t.Context(), json.RawMessage(`{"user id":"a/b","f":{"x":1},"n&m":[1,2],"X-Trace":"t","name":"é"}`)); err != nil {
		t.Fatal(err)
	}
	if want := `POST /users/a%2Fb/items?f%5Bx%5D=1&n%26m=1,2 t {"name":"é"}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// FuzzImport: the kind rest accepts the definitions of any document.
func FuzzImport(f *testing.F) {
	f.Add([]byte(yamlDocument))
	f.Add([]byte(swaggerDocument))
	for _, c := range bodies {
		f.Add([]byte(document(c.version, `{"/a/{id}#b":{"post":{"parameters":[{"name":"a","in":"cookie","schema":{}},{"name":"f","in":"path","style":"matrix","schema":{}}],"requestBody":{`+c.body+`},`+ok+`}}}`, "")))
	}
	f.Add([]byte(document("3.0.0", `{"/%":{"get":{`+ok+`}},"/{100%}":{"get":{`+ok+`}},"/}":{"get":{`+ok+`}}}`, "")))
	f.Add([]byte(document("3.1.0", `{"/a/{b}":{"get":{"parameters":[{"name":"b","in":"path","required":true,"schema":{"$ref":"#/components/schemas/A"}}],`+ok+`}}}`, `"schemas":{"A":{"anyOf":[{"$ref":"#/components/schemas/A"}]}}`)))
	backend, err := rest.Kind.Open(bridge.BackendConfig{Name: "api", Config: json.RawMessage(`{"url":"http://localhost"}`), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		api, err := openapi.Import(doc, openapi.Options{URL: "http://localhost"})
		if err != nil {
			return
		}
		for _, d := range api.Definitions {
			if !json.Valid(d.Tool.InputSchema) {
				t.Fatalf("the schema is not JSON: %s", d.Tool.InputSchema)
			}
			if _, _, err := backend.Tool(d.Tool, d.Spec); err != nil {
				t.Fatalf("%s: %v", d.Spec, err)
			}
		}
	})
}
