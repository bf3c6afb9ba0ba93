package bridge

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestVisible(t *testing.T) {
	const family, persian, tag = "\U0001f468\u200d\U0001f469", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U000e0041"
	for _, c := range []struct{ kind, raw, want, hidden string }{
		{"plain", `{"name":"a","description":"tab\tand\nline, é 日本語 ` + family + persian + `"}`, "", ""},
		{"zero-width", `{"name":"a","description":"a\u200bb"}`, `{"name":"a","description":"a\\u200bb"}`, "zero-width"},
		{"as it is", "{\"name\":\"a\",\"description\":\"a\u200bb\"}", `{"name":"a","description":"a\\u200bb"}`, "zero-width"},
		{"joiner between Latin letters", "{\"name\":\"a\",\"description\":\"a\u200db\"}", `{"name":"a","description":"a\\u200db"}`, "zero-width"},
		{"joiners in a row", "{\"name\":\"a\",\"description\":\"日\u200d\u200d本\"}", `{"name":"a","description":"日\\u200d\\u200d本"}`, "zero-width"},
		{"escape and bidi", `{"name":"a","title":"\u001b[31m","description":"\u202eb"}`, `{"name":"a","title":"\\u001b[31m","description":"\\u202eb"}`, "bidi, control"},
		{"tag", `{"name":"a","description":"x` + tag + `"}`, `{"name":"a","description":"x\\u{e0041}"}`, "tag"},
		{"tag as a surrogate pair", `{"name":"a","description":"x\udb40\udc41"}`, `{"name":"a","description":"x\\u{e0041}"}`, "tag"},
		{"in a schema", `{"name":"a","inputSchema":{"properties":{"description":{"description":"\u2066"}},"items":[{"title":"\u00ad"}]}}`,
			`{"name":"a","inputSchema":{"properties":{"description":{"description":"\\u2066"}},"items":[{"title":"\\u00ad"}]}}`, "bidi, zero-width"},
		{"in properties named like keywords", `{"name":"a","inputSchema":{"properties":{"default":{"description":"\u200b"},"enum":{"properties":{"const":{"title":"\u200b"}}}}}}`,
			`{"name":"a","inputSchema":{"properties":{"default":{"description":"\\u200b"},"enum":{"properties":{"const":{"title":"\\u200b"}}}}}}`, "zero-width"},
		{"values of a property named like names", `{"name":"a","inputSchema":{"properties":{"properties":{"default":{"title":"\u200b"}}}}}`, "", "zero-width"},
		{"names of properties stay", `{"name":"a","inputSchema":{"properties":{"x\u202e":{}}}}`, "", "bidi"},
		{"patterns are no text", `{"name":"a","inputSchema":{"properties":{"x":{"pattern":"^[^\u0000-\u001f]*$"}}}}`, "", ""},
		{"comments", `{"name":"a","inputSchema":{"$comment":"\u200b"}}`, `{"name":"a","inputSchema":{"$comment":"\\u200b"}}`, "zero-width"},
		{"values stay", `{"name":"a","inputSchema":{"properties":{"x":{"pattern":"\u200b","enum":["\u200b"],"default":{"title":"\u200b"}}}}}`, "", "zero-width"},
	} {
		it, err := NewItem(Tools, []byte(c.raw))
		if err != nil {
			t.Fatal(err)
		}
		own, hidden, err := Visible(Tools, it)
		if c.want == "" {
			c.want = c.raw
		}
		if err != nil || string(own.Raw) != c.want || hidden != c.hidden {
			t.Errorf("%s: %s, %q, %v; want %s, %q", c.kind, own.Raw, hidden, err, c.want, c.hidden)
		}
		if err := wire.Valid(own.Raw); err != nil {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
}

// A definition cannot make the search for such characters take minutes.
func TestVisibleDeep(t *testing.T) {
	deep := `{"name":"a","x":"\u0041","inputSchema":` + strings.Repeat(`{"not":`, 480) + `"` + strings.Repeat("x", 100<<10) + `"` + strings.Repeat("}", 481)
	it, err := NewItem(Tools, []byte(deep))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Visible(Tools, it); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
		t.Errorf("%v", err)
	}
}

// A name cannot be changed, so that a tool with such a name is refused.
func TestVisibleNames(t *testing.T) {
	for name, refused := range map[string]bool{
		"echo": false, "héllo wörld": false, "a/b.c": false, "日本": false,
		`ec\u200bho`: true, `ec\u0000ho`: true, `ec\r\nho`: true, `\u001b]0;x`: true, `\ufeffecho`: true, `echo\udb40\udc41`: true, `a\u202eb`: true,
	} {
		it, err := NewItem(Tools, []byte(`{"name":"`+name+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Visible(Tools, it)
		if (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			if visible, _ := toolformat.Visible(err.Error()); visible != err.Error() {
				t.Errorf("the error has such characters too: %+q", err)
			}
		}
	}
	it, _ := NewItem(Resources, []byte(`{"uri":"a://b","name":"x\u200b"}`))
	if own, hidden, err := Visible(Resources, it); err != nil || hidden == "" || string(own.Raw) != `{"uri":"a://b","name":"x\\u200b"}` {
		t.Errorf("a resource: %s, %q, %v", own.Raw, hidden, err)
	}
}

// A definition that readers understand differently is refused.
func TestKeysOfDefinitions(t *testing.T) {
	for raw, want := range map[string]string{
		`{"name":"a","Name":"b__c"}`:                   `tool a: its key "Name" is a variant of "name"`,
		`{"name":"a","DE\u017fCRIPTION":"x"}`:          `is a variant of "description"`,
		`{"name":"a","inputschema":{}}`:                `is a variant of "inputSchema"`,
		`{"name":"b__c","name":"a"}`:                   `"name" occurs twice`,
		`{"name":"a","names":1,"Custom":2,"Custom":3}`: "",
	} {
		it, err := NewItem(Tools, []byte(raw))
		if it.Key != "a" || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", raw, it, err)
		}
	}
}
