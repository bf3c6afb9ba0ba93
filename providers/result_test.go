package providers

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ name, result, want string }{
		{"text and image", `{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"eA=="}]}`, "a|image/png eA=="},
		{"structured beside a text", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}`, "a"},
		{"structured beside an image", `{"content":[{"type":"image","mimeType":"image/png","data":"eA=="}],"structuredContent":{"b": 1}}`, `image/png eA==|{"b": 1}`},
		{"structured alone", `{"structuredContent":{"b":1}}`, `{"b":1}`},
		{"resources", `{"content":[{"type":"resource","resource":{"uri":"u","text":"t"}},{"type":"resource","resource":{"uri":"u","mimeType":"application/pdf","blob":"eA=="}}]}`, "t|application/pdf eA=="},
		{"a new type", `{"content":[{"type":"smell","of":"rain"}]}`, `{"type":"smell","of":"rain"}`},
		{"a failure without a word", `{"content":[],"isError":true}`, "the tool failed without an error message"},
		{"malformed", `{"content":[7]}`, `{"content":[7]}`},
		{"nothing", `{}`, ""},
	} {
		r := Result{Content: &toolformat.Result{JSON: []byte(c.result)}}
		var got []string
		for _, b := range r.Blocks() {
			if b.Data != "" {
				got = append(got, b.MimeType+" "+b.Data)
			} else {
				got = append(got, b.Text)
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := (&Result{}).Blocks(); got != nil {
		t.Errorf("no content: %v", got)
	}
}
