package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The values of the table of style examples in OpenAPI 3.1.1, section 4.8.12.6. Its object is
// { "R": 100, "G": 200, "B": 150 }.
const (
	empty  = `""`
	text   = `"blue"`
	list   = `["blue","black","brown"]`
	object = `{"R":100,"G":200,"B":150}`
)

// styles is that table, as it is on the wire: with the escapes that a URL needs. Where the table
// has n/a, the row is ours.
var styles = []struct {
	place, style string // the place is path, query, header, cookie, form or multipart
	explode      bool
	value, want  string
}{
	{"path", "matrix", false, empty, ";color"},
	{"path", "matrix", false, text, ";color=blue"},
	{"path", "matrix", false, list, ";color=blue,black,brown"},
	{"path", "matrix", false, object, ";color=R,100,G,200,B,150"},
	{"path", "matrix", true, empty, ";color"},
	{"path", "matrix", true, text, ";color=blue"},
	{"path", "matrix", true, list, ";color=blue;color=black;color=brown"},
	{"path", "matrix", true, object, ";R=100;G=200;B=150"},
	{"path", "label", false, text, ".blue"},
	{"path", "label", false, list, ".blue,black,brown"},
	{"path", "label", false, object, ".R,100,G,200,B,150"},
	{"path", "label", true, text, ".blue"},
	{"path", "label", true, list, ".blue.black.brown"},
	{"path", "label", true, object, ".R=100.G=200.B=150"},
	{"path", "simple", false, text, "blue"},
	{"path", "simple", false, list, "blue,black,brown"},
	{"path", "simple", false, object, "R,100,G,200,B,150"},
	{"path", "simple", true, text, "blue"},
	{"path", "simple", true, list, "blue,black,brown"},
	{"path", "simple", true, object, "R=100,G=200,B=150"},
	{"path", "simple", true, `{"a/b":"c,d/e"}`, "a%2Fb=c%2Cd%2Fe"},

	{"header", "simple", false, empty, ""},
	{"header", "simple", false, text, "blue"},
	{"header", "simple", false, list, "blue,black,brown"},
	{"header", "simple", false, object, "R,100,G,200,B,150"},
	{"header", "simple", true, text, "blue"},
	{"header", "simple", true, list, "blue,black,brown"},
	{"header", "simple", true, object, "R=100,G=200,B=150"},

	{"query", "form", false, empty, "color="},
	{"query", "form", false, text, "color=blue"},
	{"query", "form", false, list, "color=blue,black,brown"},
	{"query", "form", false, object, "color=R,100,G,200,B,150"},
	{"query", "form", true, empty, "color="},
	{"query", "form", true, text, "color=blue"},
	{"query", "form", true, list, "color=blue&color=black&color=brown"},
	{"query", "form", true, object, "R=100&G=200&B=150"},
	{"query", "spaceDelimited", false, text, "color=blue"},
	{"query", "spaceDelimited", false, list, "color=blue%20black%20brown"},
	{"query", "spaceDelimited", false, object, "color=R%20100%20G%20200%20B%20150"},
	{"query", "spaceDelimited", true, list, "color=blue&color=black&color=brown"},
	{"query", "pipeDelimited", false, text, "color=blue"},
	{"query", "pipeDelimited", false, list, "color=blue%7Cblack%7Cbrown"},
	{"query", "pipeDelimited", false, object, "color=R%7C100%7CG%7C200%7CB%7C150"},
	{"query", "pipeDelimited", true, list, "color=blue&color=black&color=brown"},
	{"query", "deepObject", true, object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"},
	{"query", "deepObject", false, object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"},
	{"query", "deepObject", true, text, "color=blue"},
	{"query", "deepObject", true, list, "color%5B%5D=blue&color%5B%5D=black&color%5B%5D=brown"},
	{"query", "deepObject", true, `{"a":{"b":[{"c":1},{"c":[2,3]}]}}`, "color%5Ba%5D%5Bb%5D%5B0%5D%5Bc%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D%5B%5D=2&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D%5B%5D=3"},
	{"query", "json", false, text, "color=%22blue%22"},
	{"query", "json", false, `[1]`, "color=%5B1%5D"},
	{"query", "form", false, `["a,b","c&d"]`, "color=a%2Cb,c%26d"},
	{"query", "form", true, `["a",null,{"b":1}]`, "color=a&color=%7B%22b%22%3A1%7D"},
	{"query", "form", true, `{"a b":null,"c&d":"e=f"}`, "c%26d=e%3Df"},
	{"query", "form", true, `[]`, ""},
	{"query", "form", false, `[]`, ""},
	{"query", "form", true, `{}`, ""},
	{"query", "deepObject", true, `{"a":{},"b":[null]}`, ""},

	// An exploded cookie is one for each item: with & between them, as in the table, only the
	// first would be a cookie (appendix D.3 and OpenAPI 3.2, section 4.12.8.5).
	{"cookie", "form", false, empty, "color="},
	{"cookie", "form", false, text, "color=blue"},
	{"cookie", "form", true, list, "color=blue; color=black; color=brown"},
	{"cookie", "form", true, object, "R=100; G=200; B=150"},

	{"form", "form", false, list, "color=blue,black,brown"},
	{"form", "form", true, list, "color=blue&color=black&color=brown"},
	{"form", "form", false, object, "color=R,100,G,200,B,150"},
	{"form", "form", true, object, "R=100&G=200&B=150"},
	{"form", "spaceDelimited", false, list, "color=blue%20black%20brown"},
	{"form", "pipeDelimited", false, list, "color=blue%7Cblack%7Cbrown"},
	{"form", "deepObject", true, object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"},
	{"form", "deepObject", true, `["x"]`, "color%5B%5D=x"},
	{"form", "json", true, `[1,"a"]`, "color=%5B1%2C%22a%22%5D"},

	{"multipart", "form", false, list, "color=blue,black,brown"},
	{"multipart", "form", true, list, "color=blue|color=black|color=brown"},
	{"multipart", "form", true, object, "R=100|G=200|B=150"},
	{"multipart", "deepObject", true, object, "color[R]=100|color[G]=200|color[B]=150"},
	{"multipart", "json", true, object, `color; application/json={"R":100,"G":200,"B":150}`},
}

func TestStyles(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL"}`)
	specs := map[string]string{
		"path":      `{"method":"POST","path":"/{color}","body":"none","encoding":%s}`,
		"query":     `{"method":"POST","path":"/?color={color}","body":"none","encoding":%s}`,
		"header":    `{"method":"POST","path":"/","body":"none","headers":{"X-Color":"{color}"},"encoding":%s}`,
		"cookie":    `{"method":"POST","path":"/","body":"none","headers":{"Cookie":"color={color}"},"encoding":%s}`,
		"form":      `{"method":"POST","path":"/","body":"form","encoding":%s}`,
		"multipart": `{"method":"POST","path":"/","body":"multipart","encoding":%s}`,
	}
	for _, c := range styles {
		encoding := fmt.Sprintf(`{"color":{"style":%q,"explode":%v}}`, c.style, c.explode)
		sourcetest.Do(t, sourcetest.Tool(t, b, fmt.Sprintf(specs[c.place], encoding)), `{"color":`+c.value+`}`)
		r := d.Last(t)
		path, query, _ := strings.Cut(r.URI, "?")
		got := map[string]string{
			"path": strings.TrimPrefix(path, "/"), "query": query, "header": r.Header.Get("X-Color"), "cookie": r.Header.Get("Cookie"), "form": r.Body,
		}[c.place]
		if c.place == "multipart" {
			got = strings.Join(fields(t, r), "|")
		}
		if got != c.want {
			t.Errorf("%s %s %v %s: %s, want %s", c.place, c.style, c.explode, c.value, got, c.want)
		}
	}
}

// Without an encoding, a list is a pair for each item, or joined by commas, and an object is JSON.
// Explode alone means the default style of the place.
func TestDefaultStyles(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL"}`)
	for _, c := range []struct{ spec, arguments, want string }{
		{`{"method":"POST","path":"/{a}?b={a}","body":"none"}`, `{"a":{"x":1}}`, "/%7B%22x%22%3A1%7D?b=%7B%22x%22%3A1%7D "},
		{`{"method":"POST","path":"/{a}?b={a}","body":"none"}`, `{"a":[1,2]}`, "/1,2?b=1&b=2 "},
		{`{"method":"POST","path":"/","body":"form"}`, `{"a":[1,2],"b":{"x":1}}`, "/ a=1&a=2&b=%7B%22x%22%3A1%7D"},
		{`{"method":"POST","path":"/{a}","body":"none","encoding":{"a":{"explode":true}}}`, `{"a":{"x":1}}`, "/x=1 "},
		{`{"method":"POST","path":"/?a={a}","body":"none","encoding":{"a":{"explode":false}}}`, `{"a":{"x":1}}`, "/?a=x,1 "},
		{`{"method":"POST","path":"/?a={a}","body":"none","encoding":{"a":{"explode":true}}}`, `{"a":{"x":1}}`, "/?x=1 "},
		{`{"method":"POST","path":"/?a=b{a}","body":"none","encoding":{"a":{"explode":false}}}`, `{"a":[1,2]}`, "/?a=b1,2 "},
		{`{"method":"POST","path":"/{id}","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":"{b}","encoding":{"id":{"style":"deepObject"}}}`, `{"id":7,"b":{"id":{"x":1}}}`, ""},
		{`{"method":"POST","path":"/{n}","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":"{b}","encoding":{"id":{"style":"deepObject"}}}`, `{"n":7,"b":{"id":{"x":1}}}`, "/7 id%5Bx%5D=1"},
	} {
		tool, _, err := b.Tool(toolformat.Tool{Name: "tool"}, json.RawMessage(c.spec))
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "the style deepObject is not for a path") {
				t.Errorf("%s: %v", c.spec, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		sourcetest.Do(t, tool, c.arguments)
		if r := d.Last(t); r.URI+" "+r.Body != c.want {
			t.Errorf("%s: %s %s, want %s", c.spec, r.URI, r.Body, c.want)
		}
	}
}

func TestEncodingErrors(t *testing.T) {
	b := openAPI(t, "", `{"url":"http://localhost"}`)
	for spec, want := range map[string]string{
		`"path":"/{a}","encoding":{"a":{"style":"form"}}`:                                                 "encoding: a: the style form is not for a path: expected simple, label, matrix or json",
		`"path":"/","headers":{"X":"{a}"},"encoding":{"a":{"style":"label"}}`:                             "the style label is not for a header",
		`"path":"/?a={a}","encoding":{"a":{"style":"matrix"}}`:                                            "the style matrix is not for a query",
		`"path":"/","body":"form","encoding":{"a":{"style":"file"}}`:                                      "the style file is not for a form",
		`"path":"/?a=b{a}","encoding":{"a":{"style":"deepObject"}}`:                                       "the style deepObject is for a pair such as a={a}",
		`"path":"/?a={a}{b}","encoding":{"a":{"explode":true}}`:                                           "the style form is for a pair such as a={a}",
		`"path":"/","headers":{"Cookie":"a=b{a}"},"encoding":{"a":{"explode":true}}`:                      "is for a pair",
		`"path":"/","encoding":{"a":{"style":"form"}}`:                                                    "it has no effect",
		`"path":"/","body":"{a}","encoding":{"b":{"style":"form"}}`:                                       "it has no effect",
		`"path":"/","body":"{a}","headers":{"Content-Type":"multipart/mixed"}`:                            "headers: a body of the type multipart/mixed is not supported",
		`"path":"/?a={a}","encoding":{"a":{"style":"Form"}}`:                                              `unknown style "Form"`,
		`"path":"/?a={a}","encoding":{"a":{"stile":"form"}}`:                                              `unknown property "stile"`,
		`"path":"/?a={a}","encoding":{"a":{"style":"form"}},"join":{"a":","}`:                             "a is in join as well",
		`"path":"/","body":"multipart","encoding":{"a":{"contentType":"a/b\r\nX: y"}}`:                    "control character",
		`"path":"/","body":"{a}","headers":{"Content-Type":"text/csv"},"encoding":{"a":{"style":"form"}}`: "the style form is not for a body",
	} {
		_, _, err := b.Tool(toolformat.Tool{Name: "tool"}, json.RawMessage(`{"method":"POST",`+spec+`}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
	sourcetest.Tool(t, b, `{"method":"GET","path":"/{a}?b={a}","join":{"a":"|"}}`)
}

// A member of an exploded object cannot be a parameter that the definition, the config or another
// argument sets.
func TestMembersOfOthers(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL?api%20key=k","headers":{"Cookie":"session=s; other=o"}}`)
	query := `{"method":"GET","path":"/?id={id}&fixed=1&f%5Bowner%5D={owner}&o={o}&f={f}","encoding":{"o":{"style":"form"},"f":{"style":"deepObject"}}}`
	form := `{"method":"POST","path":"/","body":"form","encoding":{"o":{"style":"form"}}}`
	cookie := `{"method":"GET","path":"/","headers":{"Cookie":"session={session}; a={a}; o={o}; {n}=1"},"encoding":{"o":{"style":"form"}}}`
	for _, c := range []struct{ spec, arguments, want string }{ // want is "" for an error
		{query, `{"o":{"id":9}}`, ""},
		{query, `{"o":{"ID":9}}`, ""},
		{query, `{"o":{"id[]":9}}`, ""},
		{query, `{"o":{"API KEY":9}}`, ""},
		{query, `{"o":{"fixed":9}}`, ""},
		{query, `{"f":{"owner":9}}`, ""},
		{query, `{"o":{"f[owner]":9}}`, ""},
		{query, `{"o":{"o":9},"f":{"f":1,"id":2}}`, "/?api%20key=k&fixed=1&o=9&f%5Bf%5D=1&f%5Bid%5D=2"},
		{form, `{"o":{"x":1,"Customer":9},"customer":1}`, ""},
		{form, `{"o":{"x":1},"customer":1}`, "x=1&customer=1"},
		{cookie, `{"o":{"x":1,"session":9}}`, ""},
		{cookie, `{"o":{"x":"1; session=2"}}`, ""},
		{cookie, `{"session":"9","a":1,"o":{"x":1},"n":"Session"}`, "session=s; other=o; a=1; x=1"},
		{cookie, `{"a":1,"n":"y"}`, "session=s; other=o; a=1; y=1"},
		{cookie, `{"n":"api_key"}`, "session=s; other=o; api_key=1"},
		{cookie, `{}`, "session=s; other=o"},
	} {
		_, err := sourcetest.Tool(t, b, c.spec).Call(t.Context(), json.RawMessage(c.arguments))
		came := d.Requests()
		if c.want == "" {
			if err == nil || len(came) > 0 || !strings.HasPrefix(err.Error(), "argument ") {
				t.Errorf("%s: %v, %v", c.arguments, err, came)
			}
			continue
		}
		if err != nil || len(came) != 1 {
			t.Errorf("%s: %v, %v", c.arguments, err, came)
			continue
		}
		if r := came[0]; r.URI != c.want && r.Body != c.want && r.Header.Get("Cookie") != c.want {
			t.Errorf("%s: %s %s %s", c.arguments, r.URI, r.Header.Get("Cookie"), r.Body)
		}
	}
}

// The keys above the values of a deepObject, which each of its pairs repeats, do not fill the memory.
func TestDeepObjectIsBounded(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	tool := sourcetest.Tool(t, openAPI(t, d.URL, `{"url":"URL"}`), `{"method":"POST","path":"/","body":"form","encoding":{"o":{"style":"deepObject"}}}`)
	wide := `{"` + strings.Repeat("k", 100_000) + `":{` + strings.Repeat(`"":null,`, 99_999) + `"":1}}`
	comb := strings.Repeat(`{"a":1,"kkkkkkkkkkkkkkkkkkkk":`, 900) + "1" + strings.Repeat("}", 900)
	for _, o := range []string{wide, `[` + strings.Repeat(comb+",", 10) + `1]`} {
		_, err := tool.Call(t.Context(), json.RawMessage(`{"o":`+o+`}`))
		if err == nil || !strings.Contains(err.Error(), "the names of its members have more than") {
			t.Errorf("%.200v", err)
		}
	}
	flat := `{` + strings.Repeat(`"k":"`+strings.Repeat("v", 1000)+`",`, 1000) + `"k":1}`
	sourcetest.Do(t, tool, `{"o":`+flat+`}`)
	if r := d.Last(t); !bytes.HasPrefix([]byte(r.Body), []byte("o%5Bk%5D=vvv")) || len(r.Body) < 1_000_000 {
		t.Errorf("%d bytes: %.100s", len(r.Body), r.Body)
	}
}

// FuzzEncoding: whatever an argument is, its style keeps it in its place.
func FuzzEncoding(f *testing.F) {
	for i, c := range styles {
		f.Add(c.style, c.explode, c.value, i%2 == 0)
	}
	for _, text := range hostile {
		f.Add("form", true, `{`+string(wire.AppendString(nil, text))+`:1}`, false)
		f.Add("matrix", true, `[`+string(wire.AppendString(nil, text))+`]`, true)
	}
	b := openAPI(f, "https://api.example.com/v1?k=v", `{"url":"URL"}`).(*backend)
	f.Fuzz(func(t *testing.T, style string, explode bool, value string, inPath bool) {
		if wire.Valid([]byte(value)) != nil {
			return
		}
		s := Spec{Method: "POST", Path: "/a/b?p=1&x={x}&q=2", Body: "none", Encoding: map[string]Encoding{"x": {Style: style, Explode: &explode}}}
		if inPath {
			s.Path = "/a/{x}?p=1&q=2"
		}
		tool, err := s.compile()
		if err != nil {
			return
		}
		tool.backend = b
		req, err := tool.request(t.Context(), readArguments(fmt.Appendf(nil, `{"x":%s}`, strings.TrimSpace(value))))
		if err != nil {
			return
		}
		uri := req.URL.RequestURI()
		again, err := url.ParseRequestURI(uri)
		if err != nil || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }) || strings.Count(again.EscapedPath(), "/") != 3 {
			t.Fatalf("%s %s: %q, %v", style, value, uri, err)
		}
		query, err := url.ParseQuery(again.RawQuery)
		if err != nil || len(query["k"]) != 1 || len(query["p"]) != 1 || len(query["q"]) != 1 || inPath && len(query) != 3 {
			t.Fatalf("%s %s: %q, %v", style, value, uri, err)
		}
	})
}
