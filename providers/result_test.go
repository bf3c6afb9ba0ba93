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

// Whatever a result consists of, a model reads not much more than it may.
func TestBounded(t *testing.T) {
	const image = `{"type":"image","mimeType":"image/png","data":"eA=="}`
	long := strings.Repeat("abc ", 1000)
	link := `{"type":"resource_link","name":"n","uri":"file:///` + strings.Repeat("x", 3000) + `"}`
	for name, content := range map[string]string{
		"an unknown type":    `{"type":"smell","of":"` + long + `"},` + image,
		"a long link":        link + `,` + image,
		"a malformed result": `{"type":"text","text":7},{"type":"text","text":"` + long + `"}`,
	} {
		got := bounded(&toolformat.Result{JSON: []byte(`{"content":[` + content + `],"isError":true}`)}, 100)
		text, media := (&Result{Content: got}).TextAndMedia(false)
		if len(text) > 200 || !strings.HasSuffix(text, "... [output truncated]") || !got.IsError() || len(media) != strings.Count(content, image) {
			t.Errorf("%s: %s", name, got.JSON)
		}
	}
	for _, content := range []string{`{"type":"text","text":"` + strings.Repeat("a", 120) + `"}`, `{"type":"smell","of":"` + strings.Repeat("a", 120) + `"}`, image + `,` + image + `,` + image} {
		if r := (&toolformat.Result{JSON: []byte(`{"content":[` + content + `]}`)}); bounded(r, 100) != r {
			t.Errorf("%s was changed", content)
		}
	}
}
