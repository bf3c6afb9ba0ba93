package graphql

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// openAPI opens a backend; URL in the config stands for url.
func openAPI(t testing.TB, url, config string) bridge.Backend {
	t.Helper()
	return sourcetest.Open(t, Kind, bridge.BackendConfig{Name: "shop", Config: json.RawMessage(strings.ReplaceAll(config, "URL", url))})
}

// says returns a handler that answers with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// newTool returns a tool of a spec.
func newTool(t testing.TB, b bridge.Backend, spec Spec) bridge.Tool {
	t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return sourcetest.Tool(t, b, string(raw))
}

// wantTexts checks the texts of a result.
func wantTexts(t testing.TB, r *toolformat.Result, failed bool, texts ...string) {
	t.Helper()
	if got := sourcetest.Texts(t, r); !slices.Equal(got, texts) || r.IsError() != failed {
		t.Errorf("failed %v: %.1400q\nwant %v: %.1400q", r.IsError(), got, failed, texts)
	}
}

func TestRequest(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"type":"GraphQL","url":"URL/graphql?key=k","auth":"verbatim secret","headers":{"X-Version":"2"}}`)
	const query = "query Orders($id: Int!, $limit: Int = 10) {\n\torders(id: $id, limit: $limit) { id <é> }\n}"
	tool := newTool(t, b, Spec{Query: strings.ReplaceAll(query, "<é>", `a(s: "<é>")`)})
	if _, err := tool.Call(t.Context(), json.RawMessage(`{"id":12.0,"other":1}`)); err != nil {
		t.Fatal(err)
	}
	r := d.Last(t)
	want := `{"query":"query Orders($id: Int!, $limit: Int = 10) {\n\torders(id: $id, limit: $limit) { id a(s: \"<é>\") }\n}","operationName":"Orders","variables":{"id":12}}`
	if r.Method != "POST" || r.URI != "/graphql?key=k" || r.Body != want {
		t.Errorf("%s %s %s\nwant %s", r.Method, r.URI, r.Body, want)
	}
	for name, value := range map[string]string{
		"Authorization": "verbatim secret", "X-Version": "2", "Content-Type": "application/json", "User-Agent": "mcpbridge",
		"Accept": "application/graphql-response+json, application/json;q=0.9",
	} {
		if got := r.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for config, want := range map[string]string{
		``:                                 "the config has no such API",
		`{"url":"ftp://x"}`:                "expected http:// or https://",
		`{"type":"rest","url":"http://x"}`: `type is "rest", not graphql`,
		`{"url":"http://x","retries":1}`:   "retries", // a mutation may have been carried out
		`{"url":"http://x","heders":{}}`:   "headers",
	} {
		cfg := bridge.BackendConfig{Name: "shop"}
		if config != "" {
			cfg.Config = json.RawMessage(config)
		}
		if _, err := Kind.Open(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "graphql: api shop") {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
}

func TestResult(t *testing.T) {
	long := strings.Repeat("é", 3000)
	var many []string
	for range 13 {
		many = append(many, `{"message":"m"}`)
	}
	for _, c := range []struct {
		name, sel string
		status    int
		body      string
		failed    bool
		texts     []string
		structure string
	}{
		{"data", "", 200, "{\"data\": {\n \"a\": 1.50}}", false, []string{"{\n \"a\": 1.50}"}, `{  "a": 1.50}`},
		{"big numbers and order", "", 200, `{"data":{"b":12345678901234567890,"a":1e2},"extensions":{}}`, false, []string{`{"b":12345678901234567890,"a":1e2}`}, `{"b":12345678901234567890,"a":1e2}`},
		{"byte order mark", "", 200, "\ufeff{\"data\":{}}", false, []string{`{}`}, `{}`},
		{"no errors", "", 200, `{"errors":[],"data":{}}`, false, []string{`{}`}, `{}`},
		{"null errors", "", 200, `{"errors":null,"data":{}}`, false, []string{`{}`}, `{}`},
		{"null data", "/a", 200, `{"data":null}`, false, []string{`null`}, ""},
		{"select object", "/a/1", 200, `{"data":{"a":[1,{"b":2}]}}`, false, []string{`{"b":2}`}, `{"b":2}`},
		{"select array", "/a", 200, `{"data":{"a":[1, 2]}}`, false, []string{`[1, 2]`}, ""},
		{"select string", "/a~1b", 200, `{"data":{"a/b":"x\ny"}}`, false, []string{"x\ny"}, ""},
		{"select behind null", "/a/b/c", 200, `{"data":{"a":null}}`, false, []string{`null`}, ""},
		{"select nothing", "/a/b", 200, `{"data":{"a":{}}}`, true, []string{`the data has no "b" at "/a", which is to be selected`}, ""},
		{"errors", "/a", 200, `{"errors":[{"message":"not found","path":["a",0,"b"]},{"message":"other","extensions":{"code":1}}],"data":null}`, true, []string{"GraphQL error: not found (at /a/0/b)\nGraphQL error: other [1]"}, ""},
		{"code", "", 200, `{"errors":[{"message":"nope","path":["a"],"extensions":{"code":"FORBIDDEN","stacktrace":["secret"]}},{"message":"m","extensions":{"code":{"a":1}}},{"message":"m","extensions":{"code":null}},{"message":"m","extensions":7}]}`, true,
			[]string{"GraphQL error: nope [FORBIDDEN] (at /a)\nGraphQL error: m\nGraphQL error: m\nGraphQL error: m"}, ""},
		{"errors and data", "/a", 200, `{"data":{"a":{"b":null}},"errors":[{"message":"m"}]}`, true, []string{"GraphQL error: m", `{"b":null}`}, ""},
		{"errors with an escape behind data", "", 200, `{"data":{"a":1},"\u0065rrors":[{"message":"m"}]}`, true, []string{"GraphQL error: m", `{"a":1}`}, ""},
		{"errors with an escape before data", "/a", 200, `{"error\u0073":[{"message":"m"}],"data":{"a":{}}}`, true, []string{"GraphQL error: m", `{}`}, ""},
		{"errors in data", "", 200, `{"data":{"errors":[1]}}`, false, []string{`{"errors":[1]}`}, `{"errors":[1]}`},
		{"errors beside the selected data", "/b", 200, `{"data":{"errors":[1],"b":{"c":"d"}}}`, false, []string{`{"c":"d"}`}, `{"c":"d"}`},
		{"data twice", "", 200, `{"data":{"a":1},"data":{"a":2}}`, false, []string{`{"a":2}`}, `{"a":2}`},
		{"selected key twice", "/a", 200, `{"data":{"a":{},"a":{"b":1}}}`, false, []string{`{"b":1}`}, `{"b":1}`},
		{"broken behind data", "", 200, `{"data":{"a":1},"x"}`, true, []string{"HTTP 200 OK: the answer is not JSON\n{\"data\":{\"a\":1},\"x\"}"}, ""},
		{"errors and data without selection", "/x", 200, `{"data":{"a":1},"errors":[{"message":"m"}]}`, true, []string{"GraphQL error: m", `{"a":1}`}, ""},
		{"odd errors", "", 200, `{"errors":["text",{"code":1},{"message":5}]}`, true, []string{"GraphQL error: \"text\"\nGraphQL error: {\"code\":1}\nGraphQL error: {\"message\":5}"}, ""},
		{"errors are an object", "", 200, `{"errors":{"message":"x"}}`, true, []string{`GraphQL error: {"message":"x"}`}, ""},
		{"long error", "", 200, `{"errors":[{"message":"` + long + `"}]}`, true, []string{"GraphQL error: " + long[:maxMessage] + "…"}, ""},
		{"many errors", "", 200, `{"errors":[` + strings.Join(many, ",") + `]}`, true, []string{strings.Repeat("GraphQL error: m\n", maxErrors) + "… and 3 more errors"}, ""},
		{"neither", "", 200, `{"a":1}`, true, []string{"HTTP 200 OK: the answer has neither data nor errors: it is not GraphQL\n{\"a\":1}"}, ""},
		{"an array", "", 200, `[]`, true, []string{"HTTP 200 OK: the answer has neither data nor errors: it is not GraphQL\n[]"}, ""},
		{"not JSON", "", 200, `<html>`, true, []string{"HTTP 200 OK: the answer is not JSON\n<html>"}, ""},
		{"cut JSON", "", 200, `{"data":{"a":1}`, true, []string{"HTTP 200 OK: the answer is not JSON\n{\"data\":{\"a\":1}"}, ""},
		{"empty", "", 200, ``, true, []string{"HTTP 200 OK: the answer is not JSON"}, ""},
		{"bytes", "", 200, "\x00\xff", true, []string{"HTTP 200 OK: the answer is not JSON"}, ""},
		{"400", "", 400, `{"errors":[{"message":"m"}]}`, true, []string{"HTTP 400 Bad Request\nGraphQL error: m"}, ""},
		{"400 with a stack", "", 400, `{"errors":[{"message":"nope","extensions":{"code":"BAD_USER_INPUT","stacktrace":["` + strings.Repeat("at /srv/secret.js ", 200) + `"]}}]}`, true,
			[]string{"HTTP 400 Bad Request\nGraphQL error: nope [BAD_USER_INPUT]"}, ""},
		{"500 and data", "/a", 500, "\ufeff{\"data\":{\"a\":{\"b\":null}},\n\"errors\":[{\"message\":\"m\"}]}", true, []string{"HTTP 500 Internal Server Error\nGraphQL error: m", `{"b":null}`}, ""},
		{"401 of another form", "", 401, `{"message":"m","errors":[]}`, true, []string{"HTTP 401 Unauthorized\n" + `{"message":"m","errors":[]}`}, ""},
		{"500", "", 500, long, true, []string{"HTTP 500 Internal Server Error\n" + long[:2000] + "…"}, ""},
		{"503", "", 503, "", true, []string{"HTTP 503 Service Unavailable"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sourcetest.NewAPI(t, says(c.status, c.body))
			tool := newTool(t, openAPI(t, d.URL, `{"url":"URL"}`), Spec{Query: "mutation {a}", Select: c.sel})
			r, err := tool.Call(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			wantTexts(t, r, c.failed, c.texts...)
			if got := string(r.Structured()); got != c.structure {
				t.Errorf("structured content %s, want %s", got, c.structure)
			}
			if n := len(d.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// The model does not see credentials that the API repeats, in whatever part of its answer.
func TestFailureHides(t *testing.T) {
	for _, body := range []string{`{"errors":[{"message":"no t0k3n-of-ann"}]}`, `{"errors":["t0k3n-of-ann"]}`, `not t0k3n-of-ann`, `{"a":"t0k3n-of-ann"}`} {
		for _, status := range []int{200, 400} {
			d := sourcetest.NewAPI(t, says(status, body))
			tool := newTool(t, openAPI(t, d.URL, `{"url":"URL","auth":{"bearer":"t0k3n-of-ann"}}`), Spec{Query: "{a}"})
			r, err := tool.Call(t.Context(), nil)
			if err != nil || !r.IsError() || strings.Contains(string(r.JSON), "t0k3n") || !strings.Contains(string(r.JSON), "xxxxx") {
				t.Errorf("%d %s: %s, %v", status, body, r.JSON, err)
			}
		}
	}
}

// With an output schema, the selected part is structured content whatever its type.
func TestOutputSchema(t *testing.T) {
	d := sourcetest.NewAPI(t, says(200, `{"data":{"a":["x"],"b":"y"}}`))
	b := openAPI(t, d.URL, `{"url":"URL"}`)
	for sel, want := range map[string]string{"/a": `["x"]`, "/b": `"y"`} {
		tool, _, err := b.Tool(toolformat.Tool{Name: "t", OutputSchema: json.RawMessage(`{}`)}, json.RawMessage(`{"query":"{a b}","select":"`+sel+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := tool.Call(t.Context(), nil)
		if err != nil || string(r.Structured()) != want {
			t.Errorf("%s: %s %v", sel, r.JSON, err)
		}
	}
}

func TestMaxBytes(t *testing.T) {
	d := sourcetest.NewAPI(t, says(200, `{"data":{}}`))
	tool := newTool(t, openAPI(t, d.URL, `{"url":"URL","maxBytes":10}`), Spec{Query: "{a}"})
	r, err := tool.Call(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, r, true, "the answer is longer than the limit of 10 bytes: ask for less")
	tool = newTool(t, openAPI(t, d.URL, `{"url":"URL","maxBytes":11}`), Spec{Query: "{a}"})
	if r, err = tool.Call(t.Context(), nil); err != nil || r.IsError() {
		t.Errorf("%s %v", r.JSON, err)
	}
}

// A broken connection is an error without secrets, and the request is not sent again, neither on a
// new connection nor on one that was used before.
func TestBroken(t *testing.T) {
	for query, want := range map[string]string{"{a}": "try again later", "mutation {a}": "may have been carried out"} {
		d := sourcetest.NewAPI(t, nil)
		tool := newTool(t, openAPI(t, d.URL, `{"url":"URL/?key=s3cret"}`), Spec{Query: query})
		if _, err := tool.Call(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		d.Respond(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		_, err := tool.Call(t.Context(), nil)
		var e *toolformat.Error
		if !errors.As(err, &e) || e.Code != toolformat.Unavailable || !strings.Contains(e.Message, want) || strings.Contains(e.Message, "s3cret") || strings.Contains(e.Cause.Error(), "s3cret") {
			t.Errorf("%s: %v", query, err)
		}
		if n := len(d.Requests()); n != 2 {
			t.Errorf("%s: %d requests, want 2", query, n)
		}
	}
}

func TestRedirect(t *testing.T) {
	other := sourcetest.NewAPI(t, nil)
	for _, c := range []struct {
		status int
		to     string
		want   string
		count  int
	}{
		{307, "/new", "", 2},
		{308, "/new", "", 2},
		{302, "/new", "HTTP 302 Found: redirected to ", 1}, // it would become a GET
		{303, "/new", "HTTP 303 See Other: redirected to ", 1},
		{307, other.URL, "HTTP 307 Temporary Redirect: redirected to " + other.URL + ", which is not followed", 1},
		{307, "https://s3cret@example.com/s3cret", "HTTP 307 Temporary Redirect: redirected to https://example.com, which", 1},
		{307, "", "HTTP 307 Temporary Redirect: redirected to ", 6}, // to itself
	} {
		d := sourcetest.NewAPI(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/new" {
				io.WriteString(w, `{"data":{}}`)
				return
			}
			to := c.to
			if to == "" {
				to = "/api"
			}
			w.Header().Set("Location", to)
			w.WriteHeader(c.status)
		})
		tool := newTool(t, openAPI(t, d.URL, `{"url":"URL/api","auth":"s3cret"}`), Spec{Query: "{a}"})
		r, err := tool.Call(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		came := d.Requests()
		if r.IsError() != (c.want != "") || !strings.Contains(string(r.JSON), c.want) || strings.Contains(string(r.JSON), "s3cret") || len(came) != c.count {
			t.Fatalf("%d %s: %s after %d requests", c.status, c.to, r.JSON, len(came))
		}
		if last := came[len(came)-1]; last.Method != "POST" || last.Body != `{"query":"{a}","variables":{}}` || last.Header.Get("Authorization") != "s3cret" {
			t.Errorf("%d %s: the last request is %+v", c.status, c.to, last)
		}
	}
	if len(other.Requests()) > 0 {
		t.Error("a redirect to another host was followed")
	}
}

// A tool whose operation is a query is read-only, whatever else its document has.
func TestReadOnly(t *testing.T) {
	b := openAPI(t, "http://127.0.0.1", `{"url":"URL"}`)
	for _, c := range []struct {
		spec Spec
		want bool
	}{
		{Spec{Query: `{ a }`}, true},
		{Spec{Query: `query Q { a }`}, true},
		{Spec{Query: `mutation M { a }`}, false},
		{Spec{Query: `query Q { mutation } mutation M { query }`, OperationName: "Q"}, true},
		{Spec{Query: `query Q { mutation } mutation M { query }`, OperationName: "M"}, false},
	} {
		if got := newTool(t, b, c.spec); got.ReadOnly != c.want || got.Idempotent {
			t.Errorf("%+v: read-only %v, want %v; idempotent %v", c.spec, got.ReadOnly, c.want, got.Idempotent)
		}
	}
}

// A tool's timeout overrides its API's.
func TestTimeout(t *testing.T) {
	b := openAPI(t, "http://api.example.com", `{"url":"URL","timeout":"3s"}`)
	for spec, want := range map[string]time.Duration{`{"query":"{a}"}`: 3 * time.Second, `{"query":"{a}","timeout":90}`: 90 * time.Second} {
		if got := sourcetest.Tool(t, b, spec).Timeout; got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}
