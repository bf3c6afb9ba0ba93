package toolformat_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// weather are the arguments of the example tool of seeds 000 and 004.
type weather struct {
	Location string `json:"location" jsonschema:"The city and state/country, e.g., 'San Francisco, CA' or 'London, UK'."`
	Unit     string `json:"unit" jsonschema:"The temperature unit to use." enum:"celsius,fahrenheit" default:"celsius"`
}

type conditions struct {
	Temperature float64 `json:"temperature" jsonschema:"The current temperature in the requested unit."`
	Conditions  string  `json:"conditions" jsonschema:"Text description of the current weather conditions."`
	Humidity    float64 `json:"humidity,omitempty" jsonschema:"The current humidity percentage."`
}

type (
	level int8
	page  struct {
		Limit int `json:"limit,omitempty" default:"20"`
		From  int `json:"from,omitempty"`
	}
	base struct {
		ID   string
		Name string `json:"name"`
	}
	named struct {
		base
		*Extra
		page `json:"page"`
		Name string `json:"name" jsonschema:"hides that of base"`
		Also string `json:"-"`
	}
	Extra struct {
		Note string `json:"note"`
	}
	tree struct {
		Kids []tree `json:"kids"`
	}
	knot struct {
		Next *knot
		Tie  struct{ Knots map[string]knot }
	}
	stringy     struct{ netip.Addr }
	two[T any]  struct{ A, B T }
	four[T any] = two[two[T]]
	wide        = two[four[four[four[four[four[four[four[four[int]]]]]]]]]
	list[T any] struct {
		Items []T `json:"items"`
	}
)

// schemaCases are Go types with their schemas as arguments and as results.
var schemaCases = []struct {
	name         string
	of           reflect.Type
	want, result string // result "": the same
}{
	{"the weather tool of the seeds", reflect.TypeFor[weather](),
		`{"type":"object","properties":{` +
			`"location":{"type":"string","description":"The city and state/country, e.g., 'San Francisco, CA' or 'London, UK'."},` +
			`"unit":{"type":"string","description":"The temperature unit to use.","enum":["celsius","fahrenheit"],"default":"celsius"}},` +
			`"required":["location"],"additionalProperties":false}`,
		`{"type":"object","properties":{` +
			`"location":{"type":"string","description":"The city and state/country, e.g., 'San Francisco, CA' or 'London, UK'."},` +
			`"unit":{"type":"string","description":"The temperature unit to use.","enum":["celsius","fahrenheit"]}},` +
			`"required":["location","unit"]}`},
	{"its result", reflect.TypeFor[*conditions](),
		`{"type":"object","properties":{` +
			`"temperature":{"type":"number","description":"The current temperature in the requested unit."},` +
			`"conditions":{"type":"string","description":"Text description of the current weather conditions."},` +
			`"humidity":{"type":"number","description":"The current humidity percentage."}},` +
			`"required":["temperature","conditions"],"additionalProperties":false}`,
		`{"type":"object","properties":{` +
			`"temperature":{"type":"number","description":"The current temperature in the requested unit."},` +
			`"conditions":{"type":"string","description":"Text description of the current weather conditions."},` +
			`"humidity":{"type":"number","description":"The current humidity percentage."}},` +
			`"required":["temperature","conditions"]}`},
	{"scalars", reflect.TypeFor[struct {
		B  bool    `json:"b"`
		I  level   `json:"i"`
		U  uint16  `json:"u"`
		F  float32 `json:"f"`
		Go string
		P  **int     `json:"p"`
		O  *string   `json:"o,omitempty"`
		Z  time.Time `json:"z,omitzero"`
	}](),
		`{"type":"object","properties":{"b":{"type":"boolean"},"i":{"type":"integer","minimum":-128,"maximum":127},"u":{"type":"integer","minimum":0,"maximum":65535},"f":{"type":"number"},` +
			`"Go":{"type":"string"},"p":{"type":"integer"},"o":{"type":"string"},"z":{"type":"string","format":"date-time"}},` +
			`"required":["b","i","u","f","Go"],"additionalProperties":false}`,
		`{"type":"object","properties":{"b":{"type":"boolean"},"i":{"type":"integer"},"u":{"type":"integer","minimum":0},"f":{"type":"number"},` +
			`"Go":{"type":"string"},"p":{"type":["integer","null"]},"o":{"type":"string"},"z":{"type":"string","format":"date-time"}},` +
			`"required":["b","i","u","f","Go","p"]}`},
	{"lists and dictionaries", reflect.TypeFor[struct {
		L []string         `json:"l" enum:"a,b" default:"[\"a\"]"`
		A [2]uint8         `json:"a"`
		M map[string]*page `json:"m"`
		X map[string]any   `json:"x"`
		N [][]float64      `json:"n"`
		B []byte           `json:"b"`
	}](),
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["a"]},` +
			`"a":{"type":"array","items":{"type":"integer","minimum":0,"maximum":255},"minItems":2,"maxItems":2},` +
			`"m":{"type":"object","additionalProperties":{"type":"object","properties":{"limit":{"type":"integer","default":20},"from":{"type":"integer"}},"additionalProperties":false}},` +
			`"x":{"type":"object"},"n":{"type":"array","items":{"type":"array","items":{"type":"number"}}},"b":{"type":"string","contentEncoding":"base64"}},` +
			`"required":["a","m","x","n","b"],"additionalProperties":false}`,
		`{"type":"object","properties":{"l":{"type":["array","null"],"items":{"type":"string","enum":["a","b"]}},` +
			`"a":{"type":"array","items":{"type":"integer","minimum":0},"minItems":2,"maxItems":2},` +
			`"m":{"type":["object","null"],"additionalProperties":{"type":["object","null"],"properties":{"limit":{"type":"integer"},"from":{"type":"integer"}}}},` +
			`"x":{"type":["object","null"]},"n":{"type":["array","null"],"items":{"type":["array","null"],"items":{"type":"number"}}},"b":{"type":["string","null"],"contentEncoding":"base64"}},` +
			`"required":["l","a","m","x","n","b"]}`},
	{"types with a JSON of their own", reflect.TypeFor[struct {
		T time.Time       `json:"t"`
		R json.RawMessage `json:"r"`
		V any             `json:"v"`
		N json.Number     `json:"n"`
		A netip.Addr      `json:"a" default:"::1"`
		B big.Int         `json:"b"`
		Q int64           `json:"q,string"`
		D time.Duration   `json:"d"`
		E time.Duration   `json:"e" jsonschema:"how long"`
		W time.Duration   `json:"w" jsonschema:"a wait in nanoseconds"`
	}](),
		`{"type":"object","properties":{"t":{"type":"string","format":"date-time"},"r":{},"v":{},"n":{"type":"number"},"a":{"type":"string","default":"::1"},"b":{"type":"integer"},"q":{"type":"string"},"d":{"type":"integer","description":"nanoseconds"},"e":{"type":"integer","description":"how long (nanoseconds)"},"w":{"type":"integer","description":"a wait in nanoseconds"}},` +
			`"required":["t","r","v","n","b","q","d","e","w"],"additionalProperties":false}`,
		`{"type":"object","properties":{"t":{"type":"string","format":"date-time"},"r":{},"v":{},"n":{"type":"number"},"a":{"type":"string"},"b":{"type":"integer"},"q":{"type":"string"},"d":{"type":"integer","description":"nanoseconds"},"e":{"type":"integer","description":"how long (nanoseconds)"},"w":{"type":"integer","description":"a wait in nanoseconds"}},` +
			`"required":["t","r","v","n","a","b","q","d","e","w"]}`},
	{"embedded structs", reflect.TypeFor[named](),
		`{"type":"object","properties":{"ID":{"type":"string"},"note":{"type":"string"},"page":{"type":"object","properties":{"limit":{"type":"integer","default":20},"from":{"type":"integer"}},"additionalProperties":false},` +
			`"name":{"type":"string","description":"hides that of base"}},"required":["ID","page","name"],"additionalProperties":false}`,
		`{"type":"object","properties":{"ID":{"type":"string"},"note":{"type":"string"},"page":{"type":"object","properties":{"limit":{"type":"integer"},"from":{"type":"integer"}}},` +
			`"name":{"type":"string","description":"hides that of base"}},"required":["ID","page","name"]}`},
	{"enums", reflect.TypeFor[struct {
		I *level  `json:"i" enum:"1, 2,3"`
		B bool    `json:"b" enum:"true"`
		F float64 `json:"f" enum:"0.5,1e2" default:"100"`
		A any     `json:"a" enum:"1,\"x\"" default:"\"x\""`
		E string  `json:"e" enum:",x" default:""`
	}](),
		`{"type":"object","properties":{"i":{"type":"integer","enum":[1,2,3],"minimum":-128,"maximum":127},"b":{"type":"boolean","enum":[true]},"f":{"type":"number","enum":[0.5,1e2],"default":100},"a":{"enum":[1,"x"],"default":"x"},"e":{"type":"string","enum":["","x"],"default":""}},` +
			`"required":["b"],"additionalProperties":false}`,
		`{"type":"object","properties":{"i":{"type":["integer","null"],"enum":[1,2,3,null]},"b":{"type":"boolean","enum":[true]},"f":{"type":"number","enum":[0.5,1e2]},"a":{"enum":[1,"x"]},"e":{"type":"string","enum":["","x"]}},` +
			`"required":["i","b","f","a","e"]}`},
	{"a property called -", reflect.StructOf([]reflect.StructField{{Name: "Dash", Type: reflect.TypeFor[bool](), Tag: `json:"-,omitempty"`}}),
		`{"type":"object","properties":{"-":{"type":"boolean"}},"additionalProperties":false}`, `{"type":"object","properties":{"-":{"type":"boolean"}}}`},
	{"a generic type", reflect.TypeFor[list[Extra]](),
		`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"note":{"type":"string"}},"required":["note"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`,
		`{"type":"object","properties":{"items":{"type":["array","null"],"items":{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}}},"required":["items"]}`},
	{"a struct that reads itself", reflect.TypeFor[stringy](), `{"type":"string"}`, ""},
	{"nothing", reflect.TypeFor[struct{}](), `{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object","properties":{}}`},
	{"a type that contains itself", reflect.TypeFor[tree](),
		`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"required":["kids"],"additionalProperties":false}`,
		`{"type":"object","properties":{"kids":{"type":["array","null"],"items":{"$ref":"#"}}},"required":["kids"]}`},
	{"types that contain themselves and each other", reflect.TypeFor[struct {
		One tree       `json:"one" jsonschema:"a tree"`
		Two *tree      `json:"two"`
		Odd list[knot] `json:"odd"`
	}](),
		`{"type":"object","properties":{"one":{"description":"a tree","$ref":"#/$defs/tree"},"two":{"$ref":"#/$defs/tree"},"odd":{"type":"object","properties":{"items":{"type":"array","items":{"$ref":"#/$defs/knot"}}},"required":["items"],"additionalProperties":false}},"required":["one","odd"],"additionalProperties":false,` +
			`"$defs":{"tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["kids"],"additionalProperties":false},"knot":{"type":"object","properties":{"Next":{"$ref":"#/$defs/knot"},"Tie":{"type":"object","properties":{"Knots":{"type":"object","additionalProperties":{"$ref":"#/$defs/knot"}}},"required":["Knots"],"additionalProperties":false}},"required":["Tie"],"additionalProperties":false}}}`,
		`{"type":"object","properties":{"one":{"description":"a tree","$ref":"#/$defs/tree"},"two":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},"odd":{"type":"object","properties":{"items":{"type":["array","null"],"items":{"$ref":"#/$defs/knot"}}},"required":["items"]}},"required":["one","two","odd"],` +
			`"$defs":{"tree":{"type":"object","properties":{"kids":{"type":["array","null"],"items":{"$ref":"#/$defs/tree"}}},"required":["kids"]},"knot":{"type":"object","properties":{"Next":{"anyOf":[{"$ref":"#/$defs/knot"},{"type":"null"}]},"Tie":{"type":"object","properties":{"Knots":{"type":["object","null"],"additionalProperties":{"$ref":"#/$defs/knot"}}},"required":["Knots"]}},"required":["Next","Tie"]}}}`},
	{"no struct", reflect.TypeFor[[]int](), `{"type":"array","items":{"type":"integer"}}`, ""},
}

func TestSchemaFor(t *testing.T) {
	for _, c := range schemaCases {
		t.Run(c.name, func(t *testing.T) {
			if c.result == "" {
				c.result = c.want
			}
			for _, way := range []struct {
				of   func(reflect.Type) (json.RawMessage, error)
				want string
			}{{toolformat.ArgumentsSchema, c.want}, {toolformat.ResultSchema, c.result}} {
				got, err := way.of(c.of)
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != way.want {
					t.Errorf("got\n%s\nwant\n%s", got, way.want)
				}
			}
		})
	}
}

func TestSchemaForRefusals(t *testing.T) {
	type callback struct{ Callback func() }
	for _, c := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[callback](), `toolformat: toolformat_test.callback.Callback: a func cannot be expressed in JSON Schema; use json:"-" to leave it out`},
		{reflect.TypeFor[struct{ In []callback }](), `toolformat: In[].Callback: a func cannot`},
		{reflect.TypeFor[map[string]chan int](), `toolformat: map[string]chan int[]: a channel cannot`},
		{reflect.TypeFor[struct{ C complex64 }](), `toolformat: C: a complex64 cannot`},
		{reflect.TypeFor[struct{ M map[int]bool }](), `toolformat: M: a map with keys of int cannot be expressed in JSON Schema; use a map[string]bool or a list`},
		{reflect.TypeFor[struct{ E error }](), `toolformat: E: nothing can be decoded into the interface error; use a type that implements it`},
		{reflect.TypeFor[sync.Mutex](), `toolformat: sync.Mutex: the struct has no exported field`},
		{reflect.StructOf([]reflect.StructField{{Name: "unit", PkgPath: "weather", Type: reflect.TypeFor[string](), Tag: `json:"unit"`}}), `toolformat: unit: has a json tag but is not exported`},
		{reflect.TypeFor[struct{ *page }](), `toolformat: page: encoding/json cannot set an embedded pointer`},
		{reflect.TypeFor[struct {
			N int `default:"five"`
		}](), `toolformat: N: the default "five" is not of type int`},
		{reflect.TypeFor[struct {
			N int8 `default:"300"`
		}](), `toolformat: N: the default "300" is not of type int8`},
		{reflect.TypeFor[struct {
			P page `default:"{\"limt\":1}"`
		}](), `toolformat: P: the default "{\"limt\":1}" is not of type toolformat_test.page`},
		{reflect.TypeFor[struct {
			U string `enum:"a,b" default:"c"`
		}](), `toolformat: U: the default "c" is not valid: `},
		{reflect.TypeFor[struct {
			U []string `enum:"a,b" default:"[\"c\"]"`
		}](), `toolformat: U: the default "[\"c\"]" is not valid: `},
		{reflect.TypeFor[struct {
			U uint `default:"-1"`
		}](), `toolformat: U: the default "-1" is not of type uint`},
		{reflect.TypeFor[struct {
			N int `enum:"1,x"`
		}](), `toolformat: N: the enum value "x" is not of type int`},
		{reflect.TypeFor[struct {
			N int `enum:""`
		}](), `toolformat: N: the enum value "" is not of type int`},
		{reflect.TypeFor[struct {
			S string `enum:"a,b,a"`
		}](), `toolformat: S: duplicate enum value "a"`},
		{reflect.TypeFor[struct {
			S string `jsonschema:"required,description=x"`
		}](), `toolformat: S: the tag jsonschema:"required,description=x" is not a description`},
	} {
		got, err := toolformat.ArgumentsSchema(c.of)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v (schema %s), want the error %s", c.of, err, got, c.want)
		}
	}
	if _, err := toolformat.SchemaFor[wide](); err == nil || !strings.Contains(err.Error(), "the type has more than 10000 parts") {
		t.Errorf("a type of 2^17 parts: %v", err)
	}
}

// What a type encodes to is valid by its schema, its zero value too.
func TestResultSchemaHoldsForZeroValues(t *testing.T) {
	for _, v := range []any{new(conditions), new(named), new(list[Extra]), new(tree), &list[*knot]{Items: []*knot{nil, {Next: new(knot)}}}, new(struct {
		P *page
		M map[string]int
		A any
		T time.Time
		B []byte
		R json.RawMessage
		Q int `json:",string"`
		I big.Int
	})} {
		schema, err := toolformat.ResultSchema(reflect.TypeOf(v))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		check, _, err := toolformat.NewChecker(schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Check(raw); err != nil {
			t.Errorf("%T is %s: %v\nby %s", v, raw, err, schema)
		}
	}
}
