package openapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/openapi"
)

const swaggerDocument = `{
	"swagger": "2.0", "info": {"title": "t", "version": "1"}, "host": "api.example.com", "basePath": "/v1", "schemes": ["http", "https"],
	"security": [{"key": []}],
	"securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}, "odd": {"type": "oauth2", "flow": "none"}},
	"parameters": {
		"limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 100},
		"pet": {"name": "pet", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Pet"}},
		"photo": {"name": "file", "in": "formData", "type": "file", "required": true},
		"broken": {"name": 7}
	},
	"paths": {
		"/pets/{id}": {
			"parameters": [{"name": "id", "in": "path", "required": true, "type": "string"}],
			"put": {"operationId": "put", "parameters": [{"$ref": "#/parameters/pet"}], "responses": {"200": {"description": 7}}},
			"get": {"operationId": "get", "parameters": [
				{"$ref": "#/parameters/limit"},
				{"name": "a", "in": "query", "type": "array", "items": {"type": "string"}},
				{"name": "b", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "multi"},
				{"name": "c", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "pipes"}
			]},
			"post": {"operationId": "photo", "consumes": ["application/json", "multipart/form-data"], "parameters": [{"$ref": "#/parameters/photo"}]}
		},
		"/form": {"post": {"operationId": "form", "consumes": ["application/json"], "parameters": [
			{"name": "tags", "in": "formData", "type": "array", "items": {"type": "string"}},
			{"name": "n", "in": "formData", "required": true, "type": "integer", "minimum": 1}
		]}},
		"/broken": {"get": {"operationId": "broken", "parameters": [{"$ref": "#/parameters/broken"}]}},
		"/none": {"post": {"operationId": "none", "parameters": [{"name": "b", "in": "body", "schema": {"$ref": "#/definitions/None"}}]}},
		"/odd": {"get": {"operationId": 7}},
		"/both": {"parameters": [{"$ref": "#/parameters/pet"}], "post": {"operationId": "both", "parameters": [{"$ref": "#/parameters/photo"}]}},
		"/gone": {"$ref": "other.json"}
	},
	"definitions": {"Pet": {"type": "object", "required": ["id", "name"], "properties": {
		"name": {"type": "string", "x-nullable": true}, "id": {"type": "integer", "readOnly": true}, "age": {"type": "number", "maximum": 0.10000000000000000001, "description": "a < b"},
		"friends": {"type": "array", "items": {"$ref": "#/definitions/Pet"}},
		"more": {"type": "object", "additionalProperties": {"type": "object", "properties": {"p": {"$ref": "#/definitions/Pet"}}}}
	}}}
}`

// fileSchema is the schema of an argument that is a file.
const fileSchema = `{"type":["string","object"],"description":"A file: its text, data:TYPE;base64,DATA, file:PATH, or an object.","properties":{"uri":{"type":"string","description":"Its name."},"mimeType":{"type":"string"},"text":{"type":"string"},"blob":{"type":"string","description":"Base64."}}}`

// A document of Swagger 2.0 becomes the same as one of 3.0, in its order; what cannot be converted
// costs only what uses it.
func TestSwagger(t *testing.T) {
	const pet = `"name":{"type":["string","null"]},"age":{"type":"number","maximum":0.10000000000000000001,"description":"a < b"}`
	want := []string{
		"https://api.example.com/v1",
		`put: {"type":"object","properties":{"id":{"type":"string"},` + pet + `,"friends":{"type":"array","items":{"$ref":"#/$defs/Pet"}},"more":{"type":"object","additionalProperties":{"type":"object","properties":{"p":{"$ref":"#/$defs/Pet"}}}}},"required":["id","name"],"additionalProperties":false,` +
			`"$defs":{"Pet":{"type":"object","required":["name"],"properties":{"name":{"type":["string","null"]},"age":{"type":"number","maximum":0.10000000000000000001,"description":"a < b"},"friends":{"type":"array","items":{"$ref":"#/$defs/Pet"}},"more":{"type":"object","additionalProperties":{"type":"object","properties":{"p":{"$ref":"#/$defs/Pet"}}}}}}}}`,
		`{"method":"PUT","path":"/pets/{id}","body":"json"}`,
		`get: {"type":"object","properties":{"id":{"type":"string"},"limit":{"type":"integer","maximum":100},"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"array","items":{"type":"string"}}},"required":["id"],"additionalProperties":false}`,
		`{"method":"GET","path":"/pets/{id}?limit={limit}&a={a}&b={b}&c={c}","encoding":{"a":{"style":"form","explode":false},"c":{"style":"pipeDelimited"}}}`,
		`photo: {"type":"object","properties":{"id":{"type":"string"},"file":` + fileSchema + `},"required":["id","file"],"additionalProperties":false}`,
		`{"method":"POST","path":"/pets/{id}","body":"multipart","encoding":{"file":{"style":"file"}}}`,
		`form: {"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}},"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`,
		`{"method":"POST","path":"/form","body":"form","encoding":{"tags":{"style":"form","explode":false}}}`,
		`7: {"type":"object","properties":{},"additionalProperties":false}`,
		`{"method":"GET","path":"/odd"}`,
		`broken: GET /broken is left out: the parameter 7 is in "", which is not supported`,
		`none: POST /none is left out: it refers to #/definitions/None, which is not in the document`,
		`both: POST /both is left out: it has both a body and a form`,
		`the path /gone is left out: it refers to other.json: other files are never loaded; bundle the document into one file first`,
		`put (security scheme key): set the API's auth to {"header": {"name": "X-Key", "value": KEY}}`,
	}
	api := load(t, swaggerDocument, openapi.Options{})
	loadable(t, api)
	got := []string{api.URL}
	for _, d := range api.Definitions {
		got = append(got, d.Tool.Name+": "+string(d.Tool.InputSchema), string(d.Spec))
	}
	for _, n := range append(api.LeftOut, api.Notes...) {
		got = append(got, n.String())
	}
	if text := strings.Join(got, "\n"); text != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", text, strings.Join(want, "\n"))
	}
}

// What is null where it may not be costs the operations that cannot be read without it.
func TestSwaggerNull(t *testing.T) {
	api := load(t, `{"swagger":"2.0","host":"a.example","definitions":{"A":null,"B":{"properties":{"b":null}},"C":{"allOf":[null]}},"paths":{
		"/p":{"get":{"parameters":[null]}},"/b":{"post":{"operationId":"b","parameters":[{"in":"body","name":"b","schema":{"$ref":"#/definitions/B"}}]}},
		"/fine":{"get":{"operationId":"fine"}}}}`, openapi.Options{})
	if got := names(api); !slices.Equal(got, []string{"b", "fine"}) || len(api.LeftOut) != 1 {
		t.Errorf("%v, left out %v", got, api.LeftOut)
	}
}

// A list is written with the separator of its collectionFormat, or a note says how it is.
func TestSwaggerFormats(t *testing.T) {
	list := func(name, in, format string) string {
		return `{"name":"` + name + `","in":"` + in + `","required":true,"type":"array","items":{"type":"string"},"collectionFormat":"` + format + `"}`
	}
	api := load(t, `{"swagger":"2.0","host":"a.example","paths":{"/a/{p}":{
		"get":{"operationId":"get","parameters":[`+list("q", "query", "tsv")+","+list("s", "query", "ssv")+","+list("p", "path", "pipes")+","+list("h", "header", "csv")+`]},
		"post":{"operationId":"post","parameters":[`+list("t", "formData", "tsv")+","+list("m", "formData", "multi")+","+list("p", "path", "csv")+`]}}}}`, openapi.Options{})
	loadable(t, api)
	const want = `{"method":"GET","path":"/a/{p}?q={q}&s={s}","headers":{"h":"{h}"},"encoding":{"s":{"style":"spaceDelimited"}},"join":{"q":"\t"}}`
	if got := string(api.Definitions[0].Spec); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var notes []string
	for _, n := range api.Notes {
		notes = append(notes, n.String())
	}
	if want := []string{
		"get: the list p is written with commas, not as its collectionFormat pipes has it",
		"post: the list t is written as a field for each item, not as its collectionFormat tsv has it",
	}; !slices.Equal(notes, want) {
		t.Errorf("%q\nwant %q", notes, want)
	}
}

// The media types of an operation override those of the document, also an empty list.
func TestSwaggerConsumes(t *testing.T) {
	const parameters = `"parameters":[{"in":"body","name":"b","required":true,"schema":{"properties":{"a":{}}}}]`
	api := load(t, `{"swagger":"2.0","host":"a.example","consumes":["text/csv"],"paths":{
		"/own":{"post":{"consumes":[],`+parameters+`}},"/null":{"post":{"consumes":null,`+parameters+`}}}}`, openapi.Options{})
	loadable(t, api)
	for i, want := range []string{`{"method":"POST","path":"/own","body":"json"}`, `{"method":"POST","path":"/null","headers":{"Content-Type":"text/csv"},"body":"{body}"}`} {
		if got := string(api.Definitions[i].Spec); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
