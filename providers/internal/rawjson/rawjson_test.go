package rawjson

import (
	"encoding/json"
	"testing"
)

func TestAppend(t *testing.T) {
	b := Text([]byte("{"), "a", "x\"y")
	b = Number(b, "b", 1.5)
	b = Raw(b, "c", Array([][]byte{Quote([]byte(`\u00e9`)), []byte("1")}))
	b = append(Element(append(Element(Raw(b, "d", "[")), "null"...)), "{}"...)
	b = append(b, "]}"...)
	if want := `{"a":"x\"y","b":1.5,"c":["\u00e9",1],"d":[null,{}]}`; string(b) != want || !json.Valid(b) {
		t.Errorf("%s, want %s", b, want)
	}
}

func TestRead(t *testing.T) {
	object := []byte(`{"n":7,"minus":-1,"half":0.5,"s":"t","null":null,"o":{"s":"u"}}`)
	for _, c := range []struct {
		key    string
		number int
		text   string
	}{{"n", 7, ""}, {"minus", 0, ""}, {"half", 0, ""}, {"s", 0, "t"}, {"null", 0, ""}, {"none", 0, ""}} {
		if n, s := NumberAt(object, c.key), TextAt(object, c.key); n != c.number || s != c.text {
			t.Errorf("%s: %d and %q", c.key, n, s)
		}
	}
	if s := TextAt(object, "o", "s"); s != "u" {
		t.Errorf("o.s: %q", s)
	}
	if Index([]byte("-5")) != -1 || Index([]byte("x")) != -1 || Index([]byte("0")) != 0 {
		t.Error("Index")
	}
	if !IsNull(nil) || !IsNull([]byte("null")) || IsNull([]byte("0")) || !IsObject([]byte(" {}")) || IsObject([]byte("[]")) {
		t.Error("IsNull or IsObject")
	}
}
