package edit

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		f          Format
		text, want string
	}{
		{JSON, "\ufeff{ // c\n\"a\": [1, {\"b\": null,},], \"c\\u0041\": 1e400}", `{"a":[1,{"b":null}],"cA":1e400}`},
		{JSON, "// nothing", `{}`},
		{TOML, "a.b = 1_000\nc = 1979-05-27\nd = [0x1F, +1.5, inf]\n[e]\nf = 'x'\n[[g]]\nh = true\n[[g]]\n[g.i]\nj = '''\nk'''", `{"a":{"b":1000},"c":"1979-05-27","d":[31,1.5,"inf"],"e":{"f":"x"},"g":[{"h":true},{"i":{"j":"k"}}]}`},
		{YAML, "a: &x {b: yes, c: 0o17, d: .inf}\ne: *x\nf:\n  <<: *x\n  b: 'it''s'\n? g\n: |\n  h\n  i\n", `{"a":{"b":"yes","c":15,"d":".inf"},"e":{"b":"yes","c":15,"d":".inf"},"f":{"<<":{"b":"yes","c":15,"d":".inf"},"b":"it's","c":15,"d":".inf"},"g":"h\ni\n"}`},
		{YAML, "---\n# nothing\n", `{}`},
	} {
		n, err := Read(c.f, []byte(c.text))
		if err != nil || string(n.JSON()) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.text, n.JSON(), err, c.want)
		}
	}
}

func TestReadMistakes(t *testing.T) {
	deep := strings.Repeat("[", 200_000)
	for _, c := range []struct {
		f          Format
		text, want string
	}{
		{JSON, "[1]", "line 1: the file is a list: expected an object"},
		{JSON, "{\n\"a\": secret}", "line 2: not JSON with comments from column 6 on"},
		{JSON, "{\n\"a\": {", "line 2: not JSON with comments: the file ends too early"},
		{JSON, "{\"a\": {}\n\n", "line 1: not JSON with comments: the file ends too early"},
		{JSON, "{\"a\": \"\xff\"}", "not UTF-8"},
		{JSON, `{"a": ` + deep, "line 1: nested deeper than 100 levels"},
		{TOML, "a = 1\na = 2", "line 2: not TOML: "},
		{TOML, "a = " + deep, "line 1: nested deeper than 100 levels"},
		{YAML, "a: 1\nb: 1\na: 2", `line 3: duplicate key "a" (the first is in line 1)`},
		{YAML, "- a", "line 1: the file is a list: expected a mapping"},
		{YAML, "a: b: c", "line 1: not YAML: "},
		{YAML, "a: " + deep, "line 1: nested deeper than 100 levels"},
		{YAML, "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]", "more than 100000 values"},
		{YAML, "a: &a\n  b: *a", "line "},
	} {
		n, err := Read(c.f, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.50s: got %s, %v, want %s", c.text, n.JSON(), err, c.want)
		}
	}
}

func TestAt(t *testing.T) {
	n, err := Read(YAML, []byte("a:\n- name: b\n  c: 1\n- name: d\n  c: 2"))
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := n.At("a", "[name=d]", "c"); !ok || string(m.Value) != "2" || m.Line != 5 {
		t.Errorf("got %+v", m)
	}
	for _, path := range [][]string{{"b"}, {"a", "b"}, {"a", "[name=x]"}, {"a", "[c=1]"}, {"a", "[name=d]", "c", "e"}} {
		if m, ok := n.At(path...); ok {
			t.Errorf("%q: got %+v", path, m)
		}
	}
}

func TestSetMistakes(t *testing.T) {
	for _, c := range []struct {
		f           Format
		text, value string
		path        []string
		want        string
	}{
		{JSON, "{}", "1", nil, "the path is empty"},
		{JSON, "{}", "1", []string{"\xff"}, "not UTF-8"},
		{JSON, "{}", "1 2", []string{"a"}, "the value is not JSON"},
		{JSON, "{}", `{"a":1,"a":2}`, []string{"a"}, "duplicate key"},
		{JSON, "{\n\"a\": \"x\"}", "1", []string{"a", "b"}, `line 2: "a" is a string: expected an object`},
		{JSON, "{\"a\": [1]}", "1", []string{"a", "b"}, `"a" is a list: expected an object`},
		{TOML, "a = [{ b = 1 }]", "1", []string{"a", "[b=1]", "c"}, "cannot be edited"},
		{TOML, "[[a]]\nname = 'x'", `{}`, []string{"a", "[name=y]"}, "cannot be edited"},
		{TOML, "", "null", []string{"a"}, "cannot edit"},
		{YAML, "a: &x {}\nb: *x", "1", []string{"b", "c"}, "cannot be edited"},
		{Format(9), "", "1", []string{"a"}, "unknown format"},
	} {
		got, err := Set(c.f, []byte(c.text), c.path, json.RawMessage(c.value))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v, want %s", c.text, got, err, c.want)
		}
	}
	for f := range []Format{JSON, TOML, YAML} { // nothing to remove
		for _, text := range []string{"", "# c\n", "// c\n"} {
			if got, err := Remove(Format(f), []byte(text), []string{"a", "b"}); err == nil && string(got) != text {
				t.Errorf("got %q of %q", got, text)
			}
		}
	}
}
