package rest

import (
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// fields returns the parts of a multipart body as NAME=DATA, with "; FILE" and "; TYPE" behind the
// name where a part has them.
func fields(t *testing.T, r sourcetest.Request) (all []string) {
	t.Helper()
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != typeMultipart {
		t.Fatalf("%s: %v", r.Header.Get("Content-Type"), err)
	}
	for reader := multipart.NewReader(strings.NewReader(r.Body), params["boundary"]); ; {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		name := part.FormName()
		for _, more := range []string{part.FileName(), part.Header.Get("Content-Type")} {
			if more != "" {
				name += "; " + more
			}
		}
		all = append(all, name+"="+string(data))
	}
}

func TestMultipart(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL"}`)
	tool := sourcetest.Tool(t, b, `{"method":"POST","path":"/{id}","body":"multipart","headers":{"Content-Type":"multipart/form-data"},
		"encoding":{"file":{"style":"file"},"image":{"style":"file","contentType":"image/png"},"meta":{"contentType":"application/vnd.meta+json"}}}`)
	for arguments, want := range map[string]string{
		`{"id":1,"a":"x","n":1.50,"o":{"k":[1]},"l":[1,"b"],"z":null}`:                    `a=x|n=1.50|o; application/json={"k":[1]}|l=1|l=b`,
		`{"id":1,"meta":{"k":1}}`:                                                         `meta; application/vnd.meta+json={"k":1}`,
		`{"id":1,"file":"data"}`:                                                          "file; file; application/octet-stream=data",
		`{"id":1,"file":"data:text/csv;base64,YSxi"}`:                                     "file; file; text/csv=a,b",
		`{"id":1,"file":"data: [1]\nkey: ;base64,x"}`:                                     "file; file; application/octet-stream=data: [1]\nkey: ;base64,x",
		`{"id":1,"image":["data:;base64,AAE=","x"]}`:                                      "image; image; image/png=\x00\x01|image; image; image/png=x",
		`{"id":1,"image":{"uri":"mcp://x/cat.gif","mimeType":"image/gif","blob":"AAE="}}`: "image; cat.gif; image/gif=\x00\x01",
		`{"id":1,"file":{"type":"resource","resource":{"uri":"docs://a.md","text":"t"}}}`: "file; a.md; application/octet-stream=t",
		`{"id":1,"file":{"uri":"a\"b\r\nX: y","text":"t"}}`:                               "file; a\"b%0D%0AX: y; application/octet-stream=t",
		`{"id":1,"a\"b\r\n\r\nc":"x"}`:                                                    "a\"b%0D%0A%0D%0Ac=x",
		`{"id":1}`:                                                                        "",
		`{"id":1,"file":{"text":"` + strings.Repeat("é", 100) + `"},"image":{"text":"","mimeType":"a/b"}}`: "file; file; application/octet-stream=" + strings.Repeat("é", 100) + "|image; image; a/b=",
	} {
		sourcetest.Do(t, tool, arguments)
		if got := strings.Join(fields(t, d.Last(t)), "|"); got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
	for arguments, want := range map[string]string{
		`{"id":1,"file":7}`:           "argument file: expected a file",
		`{"id":1,"file":{"uri":"x"}}`: "expected text or blob",
		`{"id":1,"file":{"type":"resource","resource":{"uri":"docs://x"}}}`:   "read the resource first",
		`{"id":1,"file":{"text":"x","blob":""}}`:                              "not both",
		`{"id":1,"file":{"blob":"?"}}`:                                        "base64",
		`{"id":1,"file":"data:a/b;base64,?"}`:                                 "base64",
		`{"id":1,"file":{"text":"x","mimeType":"a/b\r\nX: y"}}`:               "is not a media type",
		`{"id":1,"file":"file:///etc/passwd"}`:                                "the API's config allows none",
		`{"id":1,"image":["x",{"uri":"file:x"}]}`:                             "the API's config allows none",
		`{"id":1,"file":["x","` + strings.Repeat("x", maxFiles-1) + `","x"]}`: "more than",
	} {
		if _, err := tool.Call(t.Context(), json.RawMessage(arguments)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", arguments, err, want)
		}
	}
	if came := d.Requests(); len(came) > 0 {
		t.Errorf("%d requests came", len(came))
	}
}

// Only files below the folder of the config are read.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "up loads")
	for name, data := range map[string]string{"secret": "s", "up loads/a.txt": "a", "up loads/sub/b.bin": "b"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	linked := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(inside, "link")) == nil
	d := sourcetest.NewAPI(t, nil)
	b := sourcetest.Open(t, Kind, bridge.BackendConfig{Name: "shop", Dir: dir, Config: json.RawMessage(`{"url":"` + d.URL + `","files":"up loads"}`)})
	tool := sourcetest.Tool(t, b, `{"method":"POST","path":"/","headers":{"Content-Type":"application/octet-stream"},"body":"{file}","encoding":{"file":{"style":"file"}}}`)
	for uri, want := range map[string]string{
		"file:a.txt":        "a",
		"file:./sub/b.bin":  "b",
		"file:sub/../a.txt": "a",
		"file:sub%2Fb.bin":  "b",
		"file://localhost/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(inside, "a.txt")), "/"): "a",
		"file:none":               "does not exist",
		"file:sub":                "not a file",
		"file:../secret":          "not a file",
		"file:..%2Fsecret":        "not a file",
		"file:///etc/passwd":      "not a file",
		"file://host/a.txt":       "not the URL of a file",
		"file:" + dir + "/secret": "not a file",
		"file:link":               "not a file",
		"file:":                   "not a file",
		"file:%zz":                "not the URL of a file",
		"file:a.txt%00":           "not a file",
	} {
		if uri == "file:link" && !linked {
			continue
		}
		raw, err := json.Marshal(map[string]string{"file": uri})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tool.Call(t.Context(), raw)
		came := d.Requests()
		switch {
		case err != nil && (!strings.Contains(err.Error(), want) || len(want) == 1 || strings.Contains(err.Error(), dir) && !strings.Contains(uri, dir)):
			t.Errorf("%s: %v, want %s", uri, err, want)
		case err == nil && (len(came) != 1 || came[0].Body != want):
			t.Errorf("%s: %v, want %s", uri, came, want)
		}
	}
}

// What an argument that is the body becomes depends on the Content-Type.
func TestPayload(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL"}`)
	for _, c := range []struct{ contentType, more, body, want string }{
		{"", "", `"a"`, `application/json "a"`},
		{"text/json", "", `{"a":1}`, `text/json {"a":1}`},
		{"application/merge-patch+json; charset=utf-8", "", `"a"`, `application/merge-patch+json; charset=utf-8 "a"`},
		{"{type}", "", `"a"`, `application/json "a"`},
		{"text/plain", "", `"a\n\"b\""`, "text/plain a\n\"b\""},
		{"text/csv", "", `[1,2]`, "text/csv [1,2]"},
		{"application/xml", "", `"<a/>"`, "application/xml <a/>"},
		{"application/x-www-form-urlencoded", `,"encoding":{"o":{"style":"deepObject"}}`, `{"a":[1,2],"o":{"k":"v"}}`, "application/x-www-form-urlencoded a=1&a=2&o%5Bk%5D=v"},
		{"text/plain", "", `null`, " "},
		{"application/x-www-form-urlencoded", "", `null`, " "},
		{"", "", `null`, "application/json null"},
		{"image/png", `,"encoding":{"body":{"style":"file"}}`, `"data:image/gif;base64,QUI="`, "image/png AB"},
	} {
		spec := `{"method":"POST","path":"/","headers":{"Content-Type":"` + c.contentType + `"},"body":"{body}"` + c.more + `}`
		if c.contentType == "" {
			spec = `{"method":"POST","path":"/","body":"{body}"` + c.more + `}`
		}
		sourcetest.Do(t, sourcetest.Tool(t, b, spec), `{"body":`+c.body+`}`)
		if r := d.Last(t); r.Header.Get("Content-Type")+" "+r.Body != c.want && c.want != " "+r.Body {
			t.Errorf("%s: %s %s, want %s", c.contentType, r.Header.Get("Content-Type"), r.Body, c.want)
		}
	}
}
