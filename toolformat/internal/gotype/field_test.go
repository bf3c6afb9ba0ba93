package gotype

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

type (
	a struct {
		X int
		Y int `json:"y"`
		Z int `json:"-"`
	}
	b struct {
		X int
		Q int `json:"q"`
		W int `json:"w,omitempty"`
	}
	c struct {
		a
		V int `json:"X"`
	}
	twice struct { // X of a and b hide each other
		a
		b
	}
	tagged struct {
		a `json:"a"`
		b
		W string `json:"w"`
	}
	deep struct {
		twice
		*C
		Y int `json:"y,string"`
	}
	C struct {
		Name  string `json:"näme"`
		Space int    `json:"a b"`
		p     int
	}
	numbers struct {
		A any
		B bool   `json:",string"`
		S string `json:",omitempty,string"`
		P *int   `json:",string"`
	}
)

// TestFields verifies that the fields are those that encoding/json writes, in its order.
func TestFields(t *testing.T) {
	one := 1
	odd := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"a,b"`},
		{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"a\"b"`},
		{Name: "L", Type: reflect.TypeFor[[]int](), Tag: `json:",string"`},
		{Name: "P", Type: reflect.TypeFor[**int](), Tag: `json:",string"`},
	})).Elem().Interface()
	for _, v := range []any{
		a{}, b{W: 1}, c{}, twice{b: b{W: 1}}, tagged{}, deep{twice: twice{b: b{W: 1}}, C: &C{p: 1}}, numbers{P: &one, S: "s"}, odd, struct{}{},
	} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		written, err := tree.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := jsonFields(reflect.TypeOf(v), "")
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, f := range fields {
			got = append(got, f.name)
			value := written.Get(f.name)
			if isText := f.Type.Kind() == reflect.String; f.quoted != (value.Is(tree.Text) && (!isText || strings.Contains(value.Text(), `"`))) {
				t.Errorf("%T: %s is written as %s, and quoted is %v", v, f.name, value.JSON(), f.quoted)
			}
		}
		for _, m := range written.Members {
			want = append(want, m.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%T: got %q, encoding/json writes %s", v, got, raw)
		}
	}
}

type (
	self struct{ *Self }
	Self struct{ *Self }
)

func TestFieldsRefused(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{Self{}, ": gotype.Self is embedded in itself"},
		{self{}, ": gotype.Self is embedded in itself"},
		{struct{ *a }{}, "a: encoding/json cannot set an embedded pointer to a struct that is not exported"},
	} {
		if _, err := jsonFields(reflect.TypeOf(c.v), ""); err == nil || err.Error() != c.want {
			t.Errorf("%T: %v, want %s", c.v, err, c.want)
		}
	}
}
