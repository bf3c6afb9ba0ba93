package rewrite

import (
	"strings"
	"testing"
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
