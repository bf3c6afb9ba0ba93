package wire

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "1e3": 1000, "10B": 10, "64MiB": 64 << 20, "10 MB": 10_000_000, "0.5kib": 512, "1.5GB": 1_500_000_000, "2gIb": 2 << 30, "9007199254740992": 1 << 53,
		"": 0, "0": 0, "-1": 0, "1.5": 0, "0.3KB": 300, "1.0001kB": 0, "9007199254740993MB": 0, "1TB": 0, "64 M": 0, "MB": 0, "NaN": 0, "inf": 0, "0x10": 0, "true": 0,
	} {
		if got, ok := ParseSize(text); got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}
