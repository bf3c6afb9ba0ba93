package toolformat

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestContent(t *testing.T) {
	blocks := []string{
		`{"type":"text","text":"hi","annotations":{"audience":["user"]},"_meta":{"a":1},"Text":"no"}`,
		`{"type":"image","data":"aGk=","mimeType":"image/png"}`,
		`{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`,
		`{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"x"}}`,
		`{"type":"resource","resource":{"uri":"file:///b","blob":"aGk="}}`,
		`{"type":"resource_link","uri":"file:///c","name":"c","title":"C","description":"See.","mimeType":"text/plain","size":3}`,
		`{"type":"hologram","light":[1, 2]}`,
	}
	want := []Content{
		{Type: TextContent, Text: "hi", Annotations: json.RawMessage(`{"audience":["user"]}`), Meta: json.RawMessage(`{"a":1}`)},
		{Type: ImageContent, Data: "aGk=", MimeType: "image/png"},
		{Type: AudioContent, Data: "aGk=", MimeType: "audio/wav"},
		{Type: ResourceContent, URI: "file:///a", MimeType: "text/plain", Text: "x"},
		{Type: ResourceContent, URI: "file:///b", Data: "aGk="},
		{Type: LinkContent, URI: "file:///c", Name: "c", Title: "C", Description: "See.", MimeType: "text/plain"},
		{Type: "hologram"},
	}
	all := "["
	for i, b := range blocks {
		want[i].Raw = json.RawMessage(b)
		if i > 0 {
			all += ","
		}
		all += b
	}
	r := Result{JSON: json.RawMessage(`{"content":` + all + `],"structuredContent":{"a": 1},"isError":true}`)}
	got, err := r.Content()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if string(r.Structured()) != `{"a": 1}` || !r.IsError() {
		t.Errorf("%s %v", r.Structured(), r.IsError())
	}
	spelled := Result{JSON: json.RawMessage(`{"\u0063ontent":[{"type":"text","text":""}],"structured\u0043ontent":1,"is\u0045rror":true}`)}
	if got, _ := spelled.Content(); len(got) != 1 || string(spelled.Structured()) != "1" || !spelled.IsError() {
		t.Errorf("keys with escapes: %v, %s, %v", got, spelled.Structured(), spelled.IsError())
	}
	for _, c := range []struct{ result, want string }{
		{`{"content":{}}`, "content: expected an array"},
		{`{"content":[1]}`, "content/0: expected an object"},
		{`{"content":[{"type":"text","text":""},{}]}`, "content/1/type: expected the type of the block"},
		{`{"content":[{"type":"text","text":1}]}`, "content/0/text: expected a string"},
		{`{"content":[{"type":"resource"}]}`, "content/0/resource: expected an object"},
		{`{"content":[{"type":"resource","resource":{"uri":1}}]}`, "content/0/resource/uri: expected a string"},
	} {
		if _, err := (&Result{JSON: json.RawMessage(c.result)}).Content(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", c.result, err)
		}
	}
	for _, odd := range []string{``, `[]`, `{}`, `{"content":null,"structuredContent":null,"isError":"true"}`} {
		r := Result{JSON: json.RawMessage(odd)}
		if got, err := r.Content(); err != nil || len(got) != 0 || r.Structured() != nil || r.IsError() {
			t.Errorf("%q: %v %v", odd, got, err)
		}
	}
	if got, err := TextResult("a < b", true).Content(); err != nil || len(got) != 1 || got[0].Text != "a < b" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCheckResult(t *testing.T) {
	checker, _, err := NewChecker(json.RawMessage(`{"type":"object","properties":{"t":{"type":"number"}},"required":["t"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ result, want string }{
		{`{"content":[],"structuredContent":{"t":21}}`, ""},
		{`{"content":[{"type":"text","text":"no such city"}],"isError":true}`, ""},
		{`{"content":[]}`, "invalid structured content: missing, and the tool has an output schema"},
		{`{"content":[],"structuredContent":{"t":"21"}}`, `invalid structured content: /t: expected number, got string "21"`},
		{`{"structuredContent":{"t":1,"t":2}}`, `invalid structured content: not JSON: duplicate key "t" in an object`},
	} {
		got := ""
		if err := checker.CheckResult(&Result{JSON: json.RawMessage(c.result)}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %s", c.result, got)
		}
	}
}
