package bridge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// All keys and scalars of a value are found in one pass.
func TestScalars(t *testing.T) {
	raw := []byte(" {\"a\" :[1,{ \"b\\u0062\"\n: \"x:\\\"y\\\\\"}, true , -1.5e3],\"\":{},\"c\":null} ")
	if err := wire.Valid(raw); err != nil {
		t.Fatal(err)
	}
	before := string(raw)
	var keys, all []string
	for key := range keysIn(raw) {
		text, _ := wire.Text(key)
		keys = append(keys, text)
	}
	for start, end := range scalars(raw) {
		all = append(all, string(raw[start:end]))
	}
	if got := fmt.Sprintf("%q", keys); got != `["a" "bb" "" "c"]` {
		t.Error(got)
	}
	if got := strings.Join(all, " "); got != `"a" 1 "b\u0062" "x:\"y\\" true -1.5e3 "" "c" null` {
		t.Error(got)
	}
	if string(raw) != before {
		t.Errorf("the value has become %s", raw)
	}
	for _, broken := range []string{"", `"`, `{"a`, `{"a"`, `{"a":`, `:`, `"\`, "x"} {
		for range keysIn([]byte(broken)) {
		}
	}
}
