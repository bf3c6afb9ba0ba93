package gen

import (
	"go/token"
	"maps"
	"testing"
)

func TestSplitDoc(t *testing.T) {
	for _, c := range []struct {
		doc, want  string
		parameters map[string]string
	}{
		{"", "", nil},
		{"GetWeather gets\nthe weather.\n", "Gets the weather.", nil},
		{"GetWeather: gets it.", "GetWeather: gets it.", nil},
		{"GetWeather Inc. says.", "GetWeather Inc. says.", nil},
		{"The weather.", "The weather.", nil},
		{"Gets it.\n\nArgs:\n    city: the city\n        of old\n    unit : C or F\n\nMore.\n", "Gets it.\n\nMore.", map[string]string{"city": "the city of old", "unit": "C or F"}},
		{"Gets it.\n\n# Parameters\n\n  * `city`: the city\n  + unit:\n    C\n\n    or F\n", "Gets it.\n\n\tor F", map[string]string{"city": "the city", "unit": "C"}},
		{"Gets it.\ncity: the city\nof old.\nNote: all is fine.\n", "Gets it. of old. Note: all is fine.", map[string]string{"city": "the city"}},
		{"The parameters are:\n", "The parameters are:", nil},
		{"Gets it.\n\n  - other: thing\n  - city: the city\n", "Gets it.\n\n  - other: thing", map[string]string{"city": "the city"}},
		{"city:80 is no item", "city:80 is no item", nil},
		{"\r\n\tcity: a\r\n", "", map[string]string{"city": "a"}},
	} {
		got, parameters := splitDoc(c.doc, "GetWeather", func(name string) bool { return name == "city" || name == "unit" })
		if got != c.want || !maps.Equal(parameters, c.parameters) {
			t.Errorf("%q: %q, %q; want %q, %q", c.doc, got, parameters, c.want, c.parameters)
		}
	}
}

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"GetWeather": "get_weather", "HTTPGet": "http_get", "GetURL": "get_url", "A": "a", "AB": "ab", "ABc": "a_bc",
		"Get_It": "get_it", "Get2Days": "get2_days", "V2": "v2", "ÄÖü": "ä_öü",
	} {
		if got := snakeCase(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Problems are printed in the order of the source, each once.
func TestProblems(t *testing.T) {
	at := func(file string, offset int) token.Position {
		return token.Position{Filename: file, Offset: offset, Line: offset, Column: 1}
	}
	p := Problems{{Pos: at("b.go", 1), Msg: "x"}, {Pos: at("a.go", 9), Msg: "y"}, {Pos: at("a.go", 2), Msg: "z"}, {Pos: at("b.go", 1), Msg: "x"}}
	if got, want := p.Error(), "a.go:2:1: z\na.go:9:1: y\nb.go:1:1: x"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A literal is raw where that reads better and is possible.
func TestLiteral(t *testing.T) {
	for in, want := range map[string]string{
		"plain": `"plain"`, `with "quotes"`: "`with \"quotes\"`", "two\nlines": "`two\nlines`",
		"a `tick` and \"quotes\"": "\"a `tick` and \\\"quotes\\\"\"", "tab\t": `"tab\t"`,
	} {
		if got := literal(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
