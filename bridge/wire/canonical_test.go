package wire_test

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

func TestAppendCanonical(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for raw, want := range map[string]string{
		`{ "b":1, "a":[ true, null ] }`: `{"a":[true,null,],"b":1,}`,
		`{"\u0061":"\u002f\/é"}`:        `{"a":"//é",}`,
		`{"a":1,"a":2}`:                 `{"a":1,"a":2,}`,
		`[1,1.0,1e0,-0]`:                `[1,1.0,1e0,-0,]`, // as they are written
		deep:                            deep,
	} {
		if got := string(wire.AppendCanonical([]byte("x"), []byte(raw))); got != "x"+want {
			t.Errorf("%.100s: %.100s, want %.100s", raw, got, want)
		}
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	raw := []byte(`{"to":"ann","sum":5,"note":"for the books of last month, as agreed"}`)
	b.ReportAllocs()
	for b.Loop() {
		wire.AppendCanonical(nil, raw)
	}
}
