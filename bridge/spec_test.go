package bridge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		`"30s"`: 30 * time.Second, `"1m30s"`: 90 * time.Second, `30`: 30 * time.Second, `0.5`: 500 * time.Millisecond,
		`0`: 0, `-1`: 0, `"-1s"`: 0, `"0"`: 0, `"soon"`: 0, `""`: 0, `"30"`: 0, `true`: 0, `{}`: 0, `[1]`: 0,
	} {
		var d Duration
		if err := json.Unmarshal([]byte(raw), &d); time.Duration(d) != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", raw, time.Duration(d), err)
		}
	}
}

// An error names the key, also that of a type that decodes itself.
func TestDecodeSpec(t *testing.T) {
	type inner struct {
		Wait Duration `json:"wait,omitempty"`
	}
	type spec struct {
		Name string `json:"name"`
		inner
	}
	for raw, want := range map[string]string{
		`{"name":"a","wait":"1s"}`:   "",
		`{"name":"a","wait":"soon"}`: `it: wait: expected a duration such as "30s" or a number of seconds, got "soon"`,
		`{"name":1}`:                 "name",
		`{"nam":"a"}`:                "name",
		`[]`:                         "it",
	} {
		_, err := DecodeSpec[spec]("it", json.RawMessage(raw))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
	if a, b := (BackendConfig{Name: "shop"}).Subject("rest"), (BackendConfig{}).Subject("rest"); a != "rest: api shop" || b != "rest" {
		t.Errorf("%q, %q", a, b)
	}
}

func TestSize(t *testing.T) {
	for raw, want := range map[string]Size{
		`1`: 1, `"64MiB"`: 64 << 20, `"10 mb"`: 10_000_000, `"1.5kib"`: 1536, `"512"`: 512, `1e3`: 1000,
		`0`: 0, `-1`: 0, `1.5`: 0, `"0.3B"`: 0, `"MiB"`: 0, `"1TiB"`: 0, `"1e400"`: 0, `"nan"`: 0, `"inf"`: 0, `1e300`: 0, `null`: 0, `true`: 0, `{}`: 0,
	} {
		var s Size
		if err := json.Unmarshal([]byte(raw), &s); s != want || (err == nil) != (want > 0) && raw != `null` {
			t.Errorf("%s: %d, %v", raw, s, err)
		}
	}
}
