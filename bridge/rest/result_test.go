package rest

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestResults(t *testing.T) {
	text := func(s string) string {
		b, _ := json.Marshal(s)
		return `{"content":[{"type":"text","text":` + string(b) + `}]`
	}
	for _, c := range []struct {
		name        string
		status      int
		contentType string
		body, spec  string
		want        string
	}{
		{"object", 200, "application/json", `{"n":12345678901234567890,"a":1.0}`, "", text(`{"n":12345678901234567890,"a":1.0}`) + `,"structuredContent":{"n":12345678901234567890,"a":1.0}}`},
		{"line breaks", 201, "application/problem+json", "{\n\"a\":1}", "", text("{\n\"a\":1}") + `,"structuredContent":{ "a":1}}`},
		{"line break at the end", 200, "application/json", "{\"a\":1}\r\n", "", text("{\"a\":1}\r\n") + `,"structuredContent":{"a":1}}`},
		{"array", 200, "application/json", `[1,2]`, "", text(`[1,2]`) + "}"},
		{"JSON of another name", 200, "text/html; charset=UTF-8", `{"slip":{}}`, "", text(`{"slip":{}}`) + `,"structuredContent":{"slip":{}}}`},
		{"not the JSON that it says", 200, "application/json", `{"a":`, "", text(`{"a":`) + "}"},
		{"byte order mark", 200, "application/json", "\ufeff{}", "", text("{}") + `,"structuredContent":{}}`},
		{"text", 200, "text/plain", "a\nb", "", text("a\nb") + "}"},
		{"Latin 1", 200, "text/plain; charset=ISO-8859-1", "caf\xe9", "", text("café") + "}"},
		{"Windows", 200, "text/plain; charset=windows-1252", "\x93caf\xe9\x94 5\x80", "", text("“café” 5€") + "}"},
		{"Cyrillic", 200, "application/json; charset=\"KOI8-R\"", "{\"a\":\"\xf0\xd2\xc9\"}", "", text(`{"a":"При"}`) + `,"structuredContent":{"a":"При"}}`},
		{"Greek that is UTF-8", 200, "text/plain; charset=greek", "αβ", "", text("αβ") + "}"},
		{"UTF-16", 200, "text/plain; charset=utf-16le", "a\x00\x3d\xd8\x00\xde\xac\x20", "", text("a\U0001f600€") + "}"},
		{"UTF-16 with a mark", 200, "application/json; charset=UTF-16", "\xfe\xff\x00{\x00}", "", text("{}") + `,"structuredContent":{}}`},
		{"a mark of UTF-16 alone", 200, "application/json", "\xff\xfe{\x00}\x00", "", text("{}") + `,"structuredContent":{}}`},
		{"UTF-16 that is UTF-8", 200, "text/plain; charset=utf-16", "plain", "", text("plain") + "}"},
		{"half a pair of UTF-16", 200, "text/plain; charset=utf-16be", "\x00a\xd8\x3d\x00", "", text("a\ufffd") + "}"},
		{"unknown charset", 200, "text/plain; charset=Shift_JIS", "\x83e", "", "{\"content\":[{\"type\":\"text\",\"text\":\"\ufffde\"}," + `{"type":"text","text":"the character set of the answer, shift_jis, is not supported: � stands for what cannot be read, and other characters may be wrong"}]}`},
		{"not UTF-8", 200, "application/json", "{\"a\":\"\xe9\"}", "", `{"content":[{"type":"text","text":"{\"a\":\"�\"}"},{"type":"text","text":"the answer is not UTF-8: � stands for what cannot be read"}]}`},
		{"Latin 1 failure", 404, "text/plain; charset=latin1", "caf\xe9", "", text("HTTP 404 Not Found\ncafé") + `,"isError":true}`},
		{"select from Latin 2", 200, "application/json; charset=iso-8859-2", "{\"a\":\"\xb1\"}", `{"method":"GET","path":"/","select":"/a"}`, text("ą") + "}"},
		{"no type, readable", 200, "", "plain", "", text("plain") + "}"},
		{"no type, bytes", 200, "", "\x00\x01", "", `{"content":[{"type":"resource","resource":{"uri":"mcpbridge://rest/tool","mimeType":"application/octet-stream","blob":"AAE="}}]}`},
		{"image", 200, "image/png", "\x89PNG", "", `{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw=="}]}`},
		{"audio", 200, "audio/mpeg; x=y", "ID3", "", `{"content":[{"type":"audio","mimeType":"audio/mpeg","data":"SUQz"}]}`},
		{"binary", 200, "application/pdf", "%PDF", "", `{"content":[{"type":"resource","resource":{"uri":"mcpbridge://rest/tool","mimeType":"application/pdf","blob":"JVBERg=="}}]}`},
		{"empty", 204, "", "", "", text("HTTP 204 No Content (the answer is empty)") + "}"},
		{"failure", 404, "application/json", `{"error":"no such user"}`, "", text("HTTP 404 Not Found\n{\"error\":\"no such user\"}") + `,"isError":true}`},
		{"long failure", 500, "text/plain", strings.Repeat("é", 1500), "", text("HTTP 500 Internal Server Error\n"+strings.Repeat("é", 1000)+"…") + `,"isError":true}`},
		{"binary failure", 418, "image/png", "x", "", text("HTTP 418 I'm a teapot") + `,"isError":true}`},
		{"unknown status", 599, "text/plain", "", "", text("HTTP 599") + `,"isError":true}`},
		{"HEAD", 200, "text/plain", "", `{"method":"HEAD","path":"/"}`, text("HTTP 200 OK\nContent-Type: text/plain") + "}"},
		{"select object", 200, "application/json", `{"data":{"items":[{"a~/b":{"x":1.0}}]}}`, `{"method":"GET","path":"/","select":"/data/items/0/a~0~1b"}`, text(`{"x":1.0}`) + `,"structuredContent":{"x":1.0}}`},
		{"select string", 200, "application/json", ` {"a":"x\ny"}`, `{"method":"GET","path":"/","select":"/a"}`, text("x\ny") + "}"},
		{"select number", 200, "application/json", `[1,12345678901234567890]`, `{"method":"GET","path":"/","select":"/1"}`, text("12345678901234567890") + "}"},
		{"select null", 200, "application/json", `{"":null}`, `{"method":"GET","path":"/","select":"/"}`, text("null") + "}"},
		{"select nothing", 200, "application/json", `{"a":{"b":1}}`, `{"method":"GET","path":"/","select":"/a/c/d"}`, text(`the answer has no "c" at "/a", which is to be selected`) + `,"isError":true}`},
		{"select index", 200, "application/json", `{"a":[1]}`, `{"method":"GET","path":"/","select":"/a/01"}`, text(`the answer has no "01" at "/a", which is to be selected`) + `,"isError":true}`},
		{"select from text", 200, "text/plain", `hello`, `{"method":"GET","path":"/","select":"/a"}`, text(`the answer is not JSON: nothing can be selected from it`) + `,"isError":true}`},
		{"select from another charset", 200, "application/json; charset=Shift_JIS", "{\"a\":\"\x83e\"}", `{"method":"GET","path":"/","select":"/a"}`, text(`the answer is not UTF-8: nothing can be selected from it`) + `,"isError":true}`},
		{"select from bytes", 200, "image/png", `x`, `{"method":"GET","path":"/","select":"/a"}`, text(`the answer is image/png, not JSON: nothing can be selected from it`) + `,"isError":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sourcetest.NewAPI(t, sourcetest.Answer(c.status, c.contentType, c.body))
			if c.spec == "" {
				c.spec = `{"method":"GET","path":"/"}`
			}
			if r := sourcetest.Do(t, sourcetest.Tool(t, openAPI(t, d.URL, `{"url":"URL"}`), c.spec), `{}`); string(r.JSON) != c.want {
				t.Errorf("%s\nwant\n%s", r.JSON, c.want)
			}
		})
	}
}

// With an output schema, any JSON is structured content.
func TestStructured(t *testing.T) {
	for body, want := range map[string]string{`[1]`: `[1]`, `5`: `5`, `"x"`: `"x"`, `x`: ``} {
		d := sourcetest.NewAPI(t, sourcetest.Answer(200, "application/json", body))
		tool, _, err := openAPI(t, d.URL, `{"url":"URL"}`).Tool(toolformat.Tool{Name: "tool", OutputSchema: json.RawMessage(`{}`)}, json.RawMessage(`{"method":"GET","path":"/"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := sourcetest.Do(t, tool, `{}`).Structured(); string(got) != want {
			t.Errorf("%s: %s", body, got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		contentType, body, spec, want string
		failed                        bool
	}{
		{"text/plain", "0123456789", "", "0123456789", false},
		{"text/plain", "012345678é", "", "012345678\n... [output truncated: the answer is longer than 10 bytes]", false},
		{"text/plain; charset=latin1", "01234567\xe9\xe9", "", "01234567é\n... [output truncated: the answer is longer than 10 bytes]", false},
		{"text/plain; charset=latin1", "\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9", "", "ééééé\n... [output truncated: the answer is longer than 10 bytes]", false},
		{"text/plain; charset=latin1", "0ééééé", "", "0éééé\n... [output truncated: the answer is longer than 10 bytes]", false},
		{"application/json", `{"a":"bcdefg"}`, "", `{"a":"bcde` + "\n... [output truncated: the answer is longer than 10 bytes]", false},
		{"image/png", "0123456789a", "", "the answer (image/png) is longer than the limit of 10 bytes", true},
		{"application/json", `{"a":"bcdefg"}`, `,"select":"/a"`, "the answer is longer than the limit of 10 bytes: nothing can be selected from it", true},
	} {
		d := sourcetest.NewAPI(t, sourcetest.Answer(200, c.contentType, c.body))
		b := openAPI(t, d.URL, `{"url":"URL","maxBytes":10}`)
		wantText(t, sourcetest.Do(t, sourcetest.Tool(t, b, `{"method":"GET","path":"/"`+c.spec+`}`), `{}`), c.want, c.failed)
	}
}

// The limit of an answer applies to its decompressed bytes.
func TestCutInflated(t *testing.T) {
	d := sourcetest.NewAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, strings.Repeat("x", 1<<20))
		z.Close()
	})
	b := openAPI(t, d.URL, `{"url":"URL","maxBytes":5000}`)
	wantText(t, sourcetest.Do(t, sourcetest.Tool(t, b, `{"method":"GET","path":"/"}`), `{}`), strings.Repeat("x", 5000)+"\n... [output truncated: the answer is longer than 5000 bytes]", false)
}
