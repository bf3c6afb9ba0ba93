package rest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// hostile lists arguments that try to leave their place.
var hostile = []string{
	"..", ".", "../", "..\\", "../../etc/passwd", "/../admin", "a/../b", "a/..", "./x", "..;/admin", "..;a=b/x", "a\\..\\b", "/..", "//..//", "...", ". .", ".. ",
	"/", "//evil.example", "//evil.example/x", "\\\\evil.example", "https://evil.example/", "@evil.example", ":80@evil.example", "evil.example:1", ".evil.example",
	"%2e%2e", "%2e%2e%2f", "%2F..%2F", "%252e%252e", "%00", "%0d%0aX: y", "%", "%zz", "%u002e", "..%c0%af", "%5c..",
	"?admin=1", "#frag", "a?b=c", "a#b", "a&admin=1", "a;admin=1", "a=b", "&", "=", "+", "a b", "a+b", "{x}", "{", "}", "{{x}}", "${x}", "$(id)", "`id`",
	"\r\nX-Injected: 1", "a\r\n\r\nGET /admin HTTP/1.1\r\nHost: evil\r\n\r\n", "a\nb", "a\rb", "a\x00b", "\x00", "\x7f", "\x1b[2J", "a\tb", "\v", "\f",
	"\u0085X-Injected: 1", "\u2028X", "\u2029X", "\u200b", "\ufeff", "\u202e", "\ufffd", "é", "\u0430pi", "\uff0e\uff0e\uff0f", "\u2024\u2024/", "\u2215..\u2215", "嘊嘍X-Injected: 1",
	"", " ", "  ", "null", "undefined", "true", "-1", "1e400", "NaN", "[]", "{}", "[1]", `"`, `\"`, `'`, `"}`, `","admin":true,"x":"`, `</script>`, "' OR 1=1 --", "; DROP TABLE x",
	"Bearer x", "Basic dTpw", "chunked", "close", "a: b", "X-Injected: 1", "a,b", "a;b", `a"b`, "=?utf-8?q?x?=", strings.Repeat("../", 200), strings.Repeat("a", 10000), strings.Repeat("%", 100),
	"http:evil", "javascript:alert(1)", "file:///etc/passwd", "data:,x", "[::1]", "127.0.0.1", "localhost", "a@b@c", "user:pass@host", "|", "^", "<>", "~", "*", "!", "$&", ",", "(", ")",
}

// A hostile argument stays in its place, byte for byte, or is refused: the request has the same
// host, segments, pairs and headers as one with a harmless argument.
func TestHostile(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL/base?key=k","auth":"secret","headers":{"X-Static":"s"}}`)
	host := strings.TrimPrefix(d.URL, "http://")
	places := map[string]struct{ spec, arguments string }{
		"path":      {`{"method":"POST","path":"/a/{x}/z?q=1"}`, `{"x":%s}`},
		"affix":     {`{"method":"POST","path":"/a/p{x}s/z?q=1"}`, `{"x":%s}`},
		"query":     {`{"method":"POST","path":"/a/b/z?q={x}&r=1"}`, `{"x":%s}`},
		"embed":     {`{"method":"POST","path":"/a/b/z?q=p{x}s"}`, `{"x":%s}`},
		"item":      {`{"method":"POST","path":"/a/b/z?q={x}"}`, `{"x":["1",%s]}`},
		"join":      {`{"method":"POST","path":"/a/b/z?q={x}","join":{"x":"|"}}`, `{"x":["1",%s]}`},
		"member":    {`{"method":"POST","path":"/a/b/z?q=1&m={x}","join":{"x":"[]"}}`, `{"x":{%s:1}}`},
		"header":    {`{"method":"POST","path":"/a/b/z?q=1","headers":{"X-Arg":"{x}"}}`, `{"x":%s}`},
		"body":      {`{"method":"POST","path":"/a/b/z?q=1"}`, `{"x":%s}`},
		"body name": {`{"method":"POST","path":"/a/b/z?q=1"}`, `{%s:1}`},
		"payload":   {`{"method":"POST","path":"/a/b/z?q=1","body":"{x}"}`, `{"x":%s}`},
		"form":      {`{"method":"POST","path":"/a/b/z?q=1","body":"form"}`, `{"x":%s}`},
		"form name": {`{"method":"POST","path":"/a/b/z?q=1","body":"form"}`, `{%s:1}`},
	}
	refused := map[string]int{}
	for place, c := range places {
		tool := sourcetest.Tool(t, b, c.spec)
		for _, text := range hostile {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tool.Call(t.Context(), json.RawMessage(fmt.Sprintf(c.arguments, quoted)))
			came := d.Requests()
			if err != nil {
				refused[place]++
				if len(came) > 0 || !strings.HasPrefix(err.Error(), "argument x: ") {
					t.Errorf("%s %q: %v after %d requests", place, text, err, len(came))
				}
				continue
			}
			if len(came) != 1 || came[0].Host != host {
				t.Fatalf("%s %q: %d requests: %v", place, text, len(came), came)
			}
			if err := stays(came[0], place, text); err != nil {
				t.Errorf("%s %q: %v", place, text, err)
			}
		}
	}
	if len(hostile) < 130 || len(refused) != 3 || refused["path"] < 20 || refused["affix"] > refused["path"] || refused["header"] > 20 {
		t.Errorf("of %d arguments refused: %v", len(hostile), refused)
	}
}

// stays checks that a request has the argument in its place and is otherwise unchanged.
func stays(r sourcetest.Request, place, text string) error {
	path, query, _ := strings.Cut(r.URI, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i], _ = url.PathUnescape(s)
	}
	wantPath := []string{"", "base", "a", "b", "z"}
	wantQuery := url.Values{"key": {"k"}, "q": {"1"}}
	wantBody := ""
	quoted, _ := json.Marshal(text) // a string
	switch place {
	case "path":
		wantPath[3] = text
	case "affix":
		wantPath[3] = "p" + text + "s"
	case "query":
		wantQuery["q"], wantQuery["r"] = []string{text}, []string{"1"}
	case "embed":
		wantQuery["q"] = []string{"p" + text + "s"}
	case "item":
		wantQuery["q"] = []string{"1", text}
	case "join":
		wantQuery["q"] = []string{"1|" + text}
	case "member":
		wantQuery["m["+text+"]"] = []string{"1"}
	case "body":
		wantBody = `{"x":` + string(quoted) + `}`
	case "body name":
		wantBody = "{" + string(wire.AppendString(nil, text)) + ":1}"
	case "payload":
		wantBody = string(quoted)
	case "form":
		wantBody = "x=" + strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	case "form name":
		wantBody = strings.ReplaceAll(url.QueryEscape(text), "+", "%20") + "=1"
	case "header":
		if got := r.Header.Get("X-Arg"); got != strings.Trim(text, " \t") {
			return fmt.Errorf("the header is %q", got)
		}
	}
	got, err := url.ParseQuery(query)
	switch {
	case !slices.Equal(segments, wantPath):
		return fmt.Errorf("the path is %q", segments)
	case err != nil || got.Encode() != wantQuery.Encode():
		return fmt.Errorf("the query is %q (%v)", query, err)
	case strings.ContainsAny(r.URI, " +\\\"<>^`{|}\r\n\t"):
		return fmt.Errorf("not escaped: %q", r.URI)
	case r.Body != wantBody:
		return fmt.Errorf("the body is %s, not %s", r.Body, wantBody)
	case r.Header.Get("Authorization") != "secret" || r.Header.Get("X-Static") != "s" || r.Header.Get("X-Injected") != "":
		return fmt.Errorf("the headers are %v", r.Header)
	}
	for name := range r.Header {
		if !slices.Contains([]string{"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent", "X-Arg", "X-Static"}, name) {
			return fmt.Errorf("the header %s", name)
		}
	}
	return nil
}

// An argument in a cookie is a single cookie.
func TestHostileCookie(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	tool := sourcetest.Tool(t, openAPI(t, d.URL, `{"url":"URL"}`), `{"method":"GET","path":"/","headers":{"Cookie":"sid={x}"}}`)
	for _, text := range []string{"a; admin=1", "a,b", "a b", `a"`, `a\\`, "a\t"} {
		if _, err := tool.Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"x":%q}`, text))); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	sourcetest.Do(t, tool, `{"x":"a=b+c/d=="}`)
	if got := d.Last(t).Header.Get("Cookie"); got != "sid=a=b+c/d==" {
		t.Errorf("cookie %q", got)
	}
}

// A member of an argument cannot be another parameter, as servers read their names.
func TestHostileMember(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	tool := sourcetest.Tool(t, openAPI(t, d.URL, `{"url":"URL?api.key=k"}`),
		`{"method":"GET","path":"/?user_id={user_id}&filter={filter}","encoding":{"filter":{"explode":true}}}`)
	for _, name := range []string{"user_id", "USER_ID", " user_id", "user.id", "user id", "user_id[]", "user_id[a]", "[user_id]", "user_id]", "user[id", "user_id\x00a", "api_key", "api.key"} {
		key, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"user_id":1,"filter":{%s:2}}`, key))); err == nil {
			t.Errorf("%q is taken: %s", name, d.Last(t).URI)
		}
	}
	sourcetest.Do(t, tool, `{"user_id":1,"filter":{"userid":2,"id":3,"user[id]":4,"[id]":5}}`)
}

// The query and the cookies may have the same names.
func TestMemberOfOtherPlace(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	tool := sourcetest.Tool(t, openAPI(t, d.URL, `{"url":"URL?key=k","headers":{"Cookie":"sid=1"}}`),
		`{"method":"GET","path":"/?page=1&filter={filter}","headers":{"Cookie":"theme={theme}; all={all}"},"encoding":{"filter":{"explode":true},"all":{"style":"form"}}}`)
	sourcetest.Do(t, tool, `{"theme":"dark","filter":{"theme":"x","sid":2,"all":3},"all":{"page":4,"key":5,"filter":6}}`)
	last := d.Last(t)
	if got := last.URI + " " + last.Header.Get("Cookie"); got != "/?key=k&page=1&theme=x&sid=2&all=3 sid=1; theme=dark; page=4; key=5; filter=6" {
		t.Error(got)
	}
	for _, arguments := range []string{`{"filter":{"page":2}}`, `{"filter":{"key":2}}`, `{"all":{"theme":2}}`, `{"all":{"sid":2}}`} {
		if _, err := tool.Call(t.Context(), json.RawMessage(arguments)); err == nil {
			t.Errorf("%s is taken: %s %s", arguments, d.Last(t).URI, d.Last(t).Header)
		}
	}
}

// FuzzTemplate: the request of any template and arguments goes to the API's host below its path,
// has the template's number of segments, and no line break in its head.
func FuzzTemplate(f *testing.F) {
	for _, text := range hostile {
		f.Add("/a/{x}/b?c={x}&d=e{y}", text, "v")
		f.Add(text+"{x}", "a", text)
	}
	f.Add("/path/{param1}?param3={param3}&staticFilter", "a", "b")
	b := openAPI(f, "https://api.example.com/v1?k=v", `{"url":"URL","headers":{"Authorization":"s"}}`).(*backend)
	f.Fuzz(func(t *testing.T, path, x, y string) {
		s := Spec{Method: "PUT", Path: path, Headers: map[string]string{"X-Arg": "a{x}"}}
		tool, err := s.compile()
		if err != nil {
			return
		}
		tool.backend = b
		raw, err := json.Marshal(map[string]any{"x": x, "y": []string{y, x}, "body": y})
		if err != nil {
			t.Fatal(err)
		}
		req, err := tool.request(t.Context(), readArguments(raw))
		if err != nil {
			return
		}
		if req.URL.Scheme != "https" || req.URL.Host != "api.example.com" || req.Host != "api.example.com" || req.URL.User != nil {
			t.Fatalf("%q: the request goes to %s", path, req.URL)
		}
		uri := req.URL.RequestURI()
		if strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }) {
			t.Fatalf("%q: not escaped: %q", path, uri)
		}
		again, err := url.ParseRequestURI(uri)
		if err != nil || !strings.HasPrefix(uri, "/v1") || !strings.HasPrefix(again.RawQuery, "k=v") {
			t.Fatalf("%q: the URI is %q (%v)", path, uri, err)
		}
		if n := strings.Count(again.EscapedPath(), "/"); n != 1+len(tool.path) {
			t.Fatalf("%q: %d segments in %q, %d in the template", path, n, uri, len(tool.path))
		}
		for name, values := range req.Header {
			if strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") {
				t.Fatalf("the header %q: %q", name, values)
			}
		}
	})
}
