package rewrite

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// TestTranslate verifies that renamed keys of a path are translated for the model.
func TestTranslate(t *testing.T) {
	rest := &KeyMap{Original: map[string]string{"r_": "r!"}}
	recursive := &KeyMap{Original: map[string]string{"n_": "n!"}}
	recursive.Properties = map[string]*KeyMap{"n_": recursive}
	k := &KeyMap{
		Original:   map[string]string{"a_": "a!"},
		Properties: map[string]*KeyMap{"a_": {Items: recursive}, "plain": nil},
		Additional: rest,
	}
	for path, want := range map[string]string{
		"":           "",
		"a!":         "a_",
		"b":          "b",
		"a!/0/n!/n!": "a_/0/n_/n_",
		"a!/0/x/n!":  "a_/0/x/n!",
		"other/r!":   "other/r_",
		"plain/r!":   "plain/r!",
		"a_":         "a_",
	} {
		keys := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
		if got, _ := k.Translate(keys); strings.Join(got, "/") != want {
			t.Errorf("%s became %q", path, got)
		}
		if got, below := (*KeyMap)(nil).Translate(keys); strings.Join(got, "/") != path || below != nil {
			t.Errorf("without a map %s became %q", path, got)
		}
	}
	if _, below := k.Translate([]string{"x"}); below != rest {
		t.Error("below an additional property")
	}
}

func TestHideProperties(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object","properties":{"a":{},"ID":{},"b":{}},"required":["a","id","ID"]}`, `{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`},
		{`{"properties":{"id":{}},"required":["id"]}`, `{"properties":{}}`},
		{`{"properties":{"id":{"properties":{"id":{}}},"x":{"properties":{"id":{}}}}}`, `{"properties":{"x":{"properties":{"id":{}}}}}`},
		{`{"required":[],"x":1.0}`, `{"required":[],"x":1.0}`},
		{`true`, `true`},
	} {
		got, err := HideProperties([]byte(c.schema), []string{"Id"})
		if err != nil || string(got) != c.want {
			t.Errorf("%s became %s, %v", c.schema, got, err)
		}
	}
	for schema, want := range map[string]string{
		`{`: "unexpected end of input in an object, expected a key in quotes",
		strings.Repeat(`{"not":`, 101) + "{}" + strings.Repeat("}", 101): "nested deeper than 100 levels",
	} {
		if _, err := HideProperties([]byte(schema), nil); err == nil || err.Error() != want {
			t.Errorf("%.20s: %v", schema, err)
		}
	}
}

func TestSpelling(t *testing.T) {
	properties, err := tree.Parse([]byte(`{"userId":{},"USERID2":{},"id":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"userid": "userId", "userId": "userId", "userid2": "USERID2", "id": "id", "other": "other"} {
		if got := Spelling(properties, name); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if got := Spelling(nil, name); got != name {
			t.Errorf("%s without properties: %s", name, got)
		}
	}
}
