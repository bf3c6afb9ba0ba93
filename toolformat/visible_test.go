package toolformat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\r\n, é 日本":      "",
		"\U0001f468\u200d\U0001f469": "", // a family
		"می\u200cخواهم":              "",
		"a\u200bb":                   `a\u200bb zero-width`,
		"\u202ea\x00\u202cb\u200b":   `\u202ea\u0000\u202cb\u200b bidi control zero-width`,
		"x\U000e0041":                `x\u{e0041} tag`,
		"a\u200d":                    `a\u200d zero-width`,
	} {
		visible, hidden := Visible(text)
		if want == "" {
			want = text
		}
		if got := strings.Join(append([]string{visible}, hidden...), " "); got != want {
			t.Errorf("%+q: %s, want %s", text, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { Visible("A text as there are many, é.") }); n > 0 {
		t.Errorf("a plain text takes %v allocations", n)
	}
}

// Lint finds hidden characters wherever a model or a person reads a definition, in any format.
func TestLintHiddenCharacters(t *testing.T) {
	for definition, want := range map[string][]string{
		`{"name":"a","description":"An a.","inputSchema":{"type":"object","properties":{"x":{"pattern":"^[^\u0000-\u001f]*$"}}}}`: nil,
		`{"name":"a\u200b","title":"\u202e","annotations":{"title":"\u001b[2J"},"description":"An a.\udb40\udc41","inputSchema":{"type":"object"}}`: {
			`/name: hidden characters (zero-width), which a model reads and a person does not see: a\u200b`,
			`/description: hidden characters (tag), which a model reads and a person does not see: An a.\u{e0041}`,
			`/title: hidden characters (bidi), which a model reads and a person does not see: \u202e`,
			`/annotations/title: hidden characters (control), which a model reads and a person does not see: \u001b[2J`,
		},
		`{"type":"function","function":{"name":"a","description":"An a.","parameters":{"type":"object","properties":{"x\u200b":{"description":"\u200b","enum":["\u202e"]}}}}}`: {
			`/input_schema/properties/x\u200b: hidden characters (zero-width), which a model reads and a person does not see: x\u200b`,
			`/input_schema/properties/x\u200b/description: hidden characters (zero-width), which a model reads and a person does not see: \u200b`,
			`/input_schema/properties/x\u200b/enum/0: hidden characters (bidi), which a model reads and a person does not see: \u202e`,
		},
		`{"name":"a","description":"An a.","inputSchema":{"type":"object"},"outputSchema":{"title":"\u200b"}}`: {
			`/output_schema/title: hidden characters (zero-width), which a model reads and a person does not see: \u200b`,
		},
	} {
		reading, err := Read(json.RawMessage(definition), "")
		if err != nil {
			t.Fatal(err)
		}
		report, err := Lint(reading.Tools, nil)
		if err != nil || len(report.Tools) != 1 {
			t.Fatalf("%s: %v, %+v", definition, err, reading)
		}
		var got []string
		for _, n := range report.Tools[0].Notes {
			n.Tool = ""
			got = append(got, n.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", definition, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
