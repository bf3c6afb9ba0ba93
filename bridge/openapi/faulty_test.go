package openapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/openapi"
)

// A broken reference costs the operations that use it; the others work.
func TestBrokenReferences(t *testing.T) {
	const fine = `"/fine":{"get":{"operationId":"fine",` + ok + `}}`
	body := func(schema string) string {
		return `"requestBody":{"required":true,"content":{"application/json":{"schema":` + schema + `}}},` + ok
	}
	for operation, want := range map[string]string{
		`{"parameters":[{"$ref":"other.json#/x"}],` + ok + `}`:                                               "bundle the document",
		`{"parameters":[{"$ref":"http://127.0.0.1:1/x.json"}],` + ok + `}`:                                   "bundle the document",
		`{"parameters":[{"$ref":"#/components/parameters/none"}],` + ok + `}`:                                "it refers to #/components/parameters/none, which is not in the document",
		`{"parameters":[{"$ref":"#/components/schemas/A"}],` + ok + `}`:                                      "one of its parameters has no name",
		`{"parameters":[{"$ref":"#/components/parameters/loop"}],` + ok + `}`:                                "leads back to itself",
		`{"requestBody":{"$ref":"#/components/requestBodies/none"}}`:                                         "#/components/requestBodies/none",
		`{` + body(`{"$ref":"#/components/schemas/none"}`) + `}`:                                             "#/components/schemas/none",
		`{` + body(`{"$ref":"#/components/schemas/B"}`) + `}`:                                                "#/components/schemas/none",
		`{` + body(`{"type":"object","properties":{"b":{"$ref":"#/components/schemas/B"}}}`) + `}`:           "#/components/schemas/none",
		`{"parameters":[{"name":"a","in":"query","schema":{"items":{"$ref":"#/components/schemas/none"}}}]}`: "#/components/schemas/none",
		`{"parameters":[{"name":"a","in":"nowhere","schema":{"type":"string"}}]}`:                            "which is not supported",
		`{"parameters":[{"name":"a","in":"query","style":"matrix","schema":{"type":"string"}}]}`:             `the style "matrix" of a is not one of a query`,
		`{"parameters":[7]}`: "has no name",
		// What is not part of a request costs nothing.
		`{"responses":{"200":{"$ref":"#/components/requestBodies/A"}}}`:                                          "",
		`{"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/none"}}}}}}`: "",
		`{"callbacks":{"a":{"$ref":"#/none"}},"responses":[1],"externalDocs":7,"tags":{"a":1},"security":"x"}`:   "",
		`{"description":7,"parameters":{"a":1},` + body(`{"$ref":"#/components/schemas/A"}`) + `}`:               "",
		`{` + body(`{"properties":{"a":{"$ref":"#/components/parameters/p/schema"}}}`) + `}`:                     "",
	} {
		doc := document("3.0.3", `{"/t":{"post":`+strings.Replace(operation, "{", `{"operationId":"t",`, 1)+`},`+fine+`}`,
			`"schemas":{"A":{"type":"object"},"B":{"properties":{"c":{"$ref":"#/components/schemas/none"}}},"C":{"$ref":"nowhere.json"}},"requestBodies":{"A":{"content":{}}},
			"parameters":{"p":{"name":"p","in":"query","schema":{"type":"string"}},"loop":{"$ref":"#/components/parameters/loop"}},"responses":{"X":{"$ref":"#/nothing"}}`)
		api := load(t, doc, openapi.Options{})
		loadable(t, api)
		names := names(api)
		switch {
		case want == "" && (!slices.Equal(names, []string{"t", "fine"}) || len(api.LeftOut) > 0):
			t.Errorf("%s: %v, left out %v", operation, names, api.LeftOut)
		case want != "" && (!slices.Equal(names, []string{"fine"}) || len(api.LeftOut) != 1 || api.LeftOut[0].Tool != "t" || !strings.Contains(api.LeftOut[0].Text, want)):
			t.Errorf("%s: %v, left out %v, want %s", operation, names, api.LeftOut, want)
		}
	}
	api := load(t, document("3.1.0", `{"/gone":{"$ref":"#/components/pathItems/none"},"/here":{"$ref":"#/components/pathItems/a"},"x-a":{"get":{}},`+fine+`}`,
		`"pathItems":{"a":{"get":{"operationId":"here",`+ok+`}}}`), openapi.Options{})
	if got := names(api); !slices.Equal(got, []string{"here", "fine"}) || len(api.LeftOut) != 1 || !strings.Contains(api.LeftOut[0].Text, "the path /gone is left out") {
		t.Errorf("%v, left out %v", got, api.LeftOut)
	}
}

// Parts that stand for two others, again and again, stand for no more than the document has.
func TestDoubling(t *testing.T) {
	var schemas, variables []string
	for i := range 90 {
		for _, key := range []string{"allOf", "anyOf"} {
			schemas = append(schemas, fmt.Sprintf(`"%[1]s%[2]d":{"%[1]s":[{"$ref":"#/components/schemas/%[1]s%[3]d"},{"$ref":"#/components/schemas/%[1]s%[3]d"}]}`, key, i, i+1))
		}
		variables = append(variables, fmt.Sprintf(`"v%d":{"default":"{v%d}{v%[2]d}"}`, i, i+1))
	}
	schemas = append(schemas, `"allOf90":{"type":"object","properties":{}}`, `"anyOf90":{"type":"object","properties":{}}`)
	operation := `"operationId":"a","parameters":[{"name":"p","in":"query","schema":{"$ref":"#/components/schemas/anyOf0"}},{"name":"q","in":"query","schema":{"$ref":"#/components/schemas/allOf0"}}],
		"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/allOf0"}}}},` + ok
	doc := document("3.1.0", `{"/a":{"post":{`+operation+`}}}`, `"schemas":{`+strings.Join(schemas, ",")+`}`)
	if got := names(load(t, doc, openapi.Options{})); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v", got)
	}
	server := `{"openapi":"3.1.0","servers":[{"url":"https://{v0}.example","variables":{` + strings.Join(variables, ",") + `}}],"paths":{}}`
	if _, err := openapi.Import([]byte(server), openapi.Options{}); err == nil || !strings.Contains(err.Error(), "too long with its variables") {
		t.Errorf("doubling variables: %v", err)
	}
}

// Tools that refer to the same large schema cannot fill the memory.
func TestManyLarge(t *testing.T) {
	var paths []string
	for i := range 12 {
		paths = append(paths, fmt.Sprintf(`"/%d":{"post":{"operationId":"o%[1]d","requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}},%s}}`, i, ok))
	}
	doc := document("3.1.0", "{"+strings.Join(paths, ",")+"}", `"schemas":{"A":{"type":"string","description":"`+strings.Repeat("x", 8<<20)+`"}}`)
	api := load(t, doc, openapi.Options{})
	if n := len(api.Definitions); n < 7 || n > 9 || len(api.LeftOut) != 12-n || !strings.Contains(api.LeftOut[0].Text, "64 MiB") {
		t.Errorf("%d tools, %d left out", n, len(api.LeftOut))
	}
}

func names(api *openapi.API) (all []string) {
	for _, d := range api.Definitions {
		all = append(all, d.Tool.Name)
	}
	return all
}

// Definitions that cost many tokens are said to, with what to do about it.
func TestLarge(t *testing.T) {
	var paths []string
	for _, path := range []string{"/a", "/b", "/c"} {
		paths = append(paths, `"`+path+`":{"get":{"operationId":"`+path+`","description":"`+strings.Repeat("x", 27_000)+`",`+ok+`}}`)
	}
	doc := document("3.1.0", "{"+strings.Join(paths, ",")+"}", "")
	api := load(t, doc, openapi.Options{})
	large := api.Notes[len(api.Notes)-1].String()
	if want := "the 3 tools cost about 20298 tokens in each request to a model, of which a takes 6766: choose those that are needed with tags, include or exclude"; large != want {
		t.Errorf("%s\nwant %s", large, want)
	}
	for _, n := range load(t, doc, openapi.Options{Exclude: []string{"a"}}).Notes {
		if n.Rule == "large" {
			t.Error(n)
		}
	}
}

// Thousands of operations may have the same name: the import does not count from the first for each.
func TestManyOfOneName(t *testing.T) {
	const operations = 2000
	var paths strings.Builder
	for i := range operations {
		fmt.Fprintf(&paths, `,"/%d":{"get":{"operationId":"same","responses":{}}}`, i)
	}
	doc := []byte(document("3.0.0", "{"+paths.String()[1:]+"}", ""))
	var api *openapi.API
	allocs := testing.AllocsPerRun(1, func() {
		var err error
		if api, err = openapi.Import(doc, openapi.Options{URL: "http://h"}); err != nil {
			t.Fatal(err)
		}
	})
	if n := len(api.Definitions); n != operations || api.Definitions[n-1].Tool.Name != "same_2000" {
		t.Errorf("%d definitions", n)
	}
	if most := 500.0 * operations; allocs > most {
		t.Errorf("%.0f allocations, want at most %.0f", allocs, most)
	}
}
