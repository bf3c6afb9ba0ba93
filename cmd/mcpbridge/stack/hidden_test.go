package stack

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// requests keeps the last request of an API that refuses all of them, repeating what it was sent.
type requests struct {
	mu   sync.Mutex
	last string
}

func (r *requests) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	uri, _ := url.QueryUnescape(req.RequestURI)
	form, _ := url.QueryUnescape(string(body))
	r.mu.Lock()
	r.last = fmt.Sprint(uri, req.Header, form)
	sent := r.last
	r.mu.Unlock()
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintln(w, "not for you:", sent)
}

// take returns the last request.
func (r *requests) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last
	r.last = ""
	return last
}

// hiddenKinds are definitions of each kind; with names the request names the hidden value.
var hiddenKinds = []struct {
	name, kind string
	names      bool
}{
	{"a path", `"kind":"rest","rest":{"method":"GET","path":"/o/{customerid}"}`, true},
	{"a query", `"kind":"rest","rest":{"method":"GET","path":"/o?c={CustomerID}&o={o}"}`, true},
	{"pairs of a query", `"kind":"rest","rest":{"method":"GET","path":"/o?o={o}","encoding":{"o":{"style":"form","explode":true}}}`, false},
	{"a deepObject", `"kind":"rest","rest":{"method":"GET","path":"/o?o={o}","encoding":{"o":{"style":"deepObject"}}}`, false},
	{"a header", `"kind":"rest","rest":{"method":"GET","path":"/o","headers":{"X-C":"{customerid}"}}`, true},
	{"a JSON body", `"kind":"rest","rest":{"method":"POST","path":"/o","body":"json"}`, false},
	{"a form", `"kind":"rest","rest":{"method":"POST","path":"/o","body":"form"}`, false},
	{"an argument as the body", `"kind":"rest","rest":{"method":"POST","path":"/o","body":"{o}"}`, false},
	{"GraphQL", `"kind":"graphql","api":"g","graphql":{"query":"query($customerid: Int, $o: O) { a(c: $customerid, o: $o) }"}`, true},
	{"SQL", `"kind":"sql","api":"db","sql":{"query":"SELECT json_extract(:customerid || 'x', '$.a')"}`, true},
	{"a command", `"kind":"local","local":{"command":["sh","-c","cat >&2; echo $1 >&2; exit 1","-","{customerid}"]}`, true},
}

// hiddenRoots are schemas with the name in different places.
var hiddenRoots = map[string]string{
	"properties": `"properties":{"customerid":{"type":"integer"},"o":{}}`,
	"nested":     `"properties":{"o":{"type":["object","array"],"properties":{"CustomerId":{"type":"integer"}},"items":{"properties":{"customerid":{}}}}}`,
	"allOf":      `"allOf":[{"properties":{"customerid":{"type":"integer"}}}]`,
	"anyOf":      `"anyOf":[{"properties":{"customerid":{"type":"integer"}}},{"properties":{"o":{}}}]`,
	"oneOf":      `"oneOf":[{"properties":{"customerid":{"type":"integer"}},"required":["customerid"]}]`,
	"reference":  `"$ref":"#/$defs/CustomerID","$defs":{"CustomerID":{"properties":{"customerid":{"type":"integer"}}}}`,
	"none":       `"properties":{"o":{}}`,
	"closed":     `"properties":{"o":{}},"additionalProperties":false`,
}

// hiddenCalls are arguments by which a caller tries to set the value.
var hiddenCalls = []string{
	`{"customerid":999}`, `{"CUSTOMERID":"999","o":{"customerid":999}}`, `{"o":{"a":[{"CustomerId":999}]}}`, `{"o":[{"customerid":999,"x":1}]}`,
	`{"o":"{\"customerid\":999}"}`, `{"o":{"x][customerid":999}}`, `{"customerid":{"$customerid":999}}`, `{"o":{"o.customerid":999,"o[customerid]":999}}`,
	`"{\"customerid\":999}"`, `{"cu\u0073tomerid":999}`, `{"cuſtomerid":999}`,
}

// TestHiddenKinds verifies for each kind of native tool that no caller sees or sets a hidden value,
// and that it is set where the request names it.
func TestHiddenKinds(t *testing.T) {
	api := &requests{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	config := fmt.Sprintf(`{"tools":["tools.json"],"context":{"CustomerID":{"from":"config","value":4242}},
		"apis":{"default":{"type":"rest","url":%q,"retries":0},"g":{"type":"graphql","url":%[1]q},"db":{"type":"sql","url":"sqlite::memory:"}}}`, server.URL)
	var definitions []string
	for i, kind := range hiddenKinds {
		for root, schema := range hiddenRoots {
			definitions = append(definitions, fmt.Sprintf(`{"name":"t%d_%s","description":"A tool.","input_schema":{"type":"object",%s},%s}`, i, root, schema, kind.kind))
		}
	}
	st, err := openConfig(t, config, "["+strings.Join(definitions, ",")+"]", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range st.Problems() {
		t.Error(p.Text)
	}
	session, err := st.Open(t.Context(), &bridge.Caller{ID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.List(t.Context(), bridge.Tools)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range list.Items {
		if strings.Contains(strings.ToLower(string(it.Raw)), "customerid") {
			t.Errorf("listed as %s", it.Raw)
		}
	}
	for i, kind := range hiddenKinds {
		for root := range hiddenRoots {
			for _, arguments := range hiddenCalls {
				reply := callHidden(t, session, fmt.Sprintf("t%d_%s", i, root), arguments)
				sent := api.take()
				if strings.Contains(reply, "4242") || strings.Contains(reply, "999") && !strings.Contains(arguments, `\"`) {
					t.Errorf("%s, %s: %s: answered %s", kind.name, root, arguments, reply)
				}
				if strings.Contains(strings.ReplaceAll(sent, `{\"customerid\":999}`, ""), "999") && !strings.Contains(sent, `{"customerid":999}`) {
					t.Errorf("%s, %s: %s: sent %s", kind.name, root, arguments, sent)
				}
				if kind.names && sent != "" && !strings.Contains(sent, "4242") {
					t.Errorf("%s, %s: %s: sent without it: %s", kind.name, root, arguments, sent)
				}
			}
		}
	}
}

// TestHiddenParameters verifies that the parameters of an OpenAPI operation that have the same hidden
// name, and the body's member, all get the value.
func TestHiddenParameters(t *testing.T) {
	api := &requests{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	const parameter = `{"name":"customerid","required":true,"schema":{"type":"integer"},"in":`
	config := fmt.Sprintf(`{"context":{"customerid":{"from":"config","value":4242}},"apis":{"default":{"type":"openapi","url":%q,"retries":0,"document":{
		"openapi":"3.1.0","info":{"title":"A","version":"1"},"paths":{"/d/{customerid}":{"post":{
			"parameters":[%s"path"},%[2]s"query"},%[2]s"header"},{"name":"filter[customerid]","in":"query","schema":{"type":"integer"}}],
			"requestBody":{"content":{"application/json":{"schema":{"anyOf":[{"properties":{"customerid":{"type":"integer"},"x":{}}},{"properties":{"y":{}}}]}}}},
			"responses":{"200":{"description":"ok"}}}}}}}}}`, server.URL, parameter)
	st, err := openConfig(t, config, "[]", Options{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := st.Open(t.Context(), &bridge.Caller{ID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.List(t.Context(), bridge.Tools)
	if err != nil || len(list.Items) != 1 || strings.Contains(string(list.Items[0].Raw), "customerid") {
		t.Fatalf("%v %v %v", list, err, st.Problems())
	}
	reply := callHidden(t, session, list.Items[0].Key, `{"body":{"customerid":999,"x":1},"filter[customerid]":999}`)
	sent := api.take()
	for _, want := range []string{"/d/4242?customerid=4242&filter[customerid]=4242", "Customerid:[4242]", `{"x":1,"customerid":4242}`} {
		if !strings.Contains(sent, want) {
			t.Errorf("sent %s, want %s (%s)", sent, want, reply)
		}
	}
}

// callHidden returns the answer to a call.
func callHidden(t *testing.T, session bridge.Session, tool, arguments string) string {
	t.Helper()
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":` + arguments + `}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
	if reply.Err != nil {
		return reply.Err.Error()
	}
	return string(reply.Result)
}
