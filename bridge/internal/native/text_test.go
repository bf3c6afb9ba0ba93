package native

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestCut(t *testing.T) {
	table, err := os.ReadFile("../../../testdata/rules/cut.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var text, want string
		var most int
		if _, err := fmt.Sscanf(line, "%q %d %q", &text, &most, &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := Cut(text, most); got != want {
			t.Errorf("Cut(%q, %d) = %q, want %q", text, most, got, want)
		}
	}
	if got := Shorten(strings.Repeat("ü", 30)); got != strings.Repeat("ü", 20)+"…" {
		t.Error(got)
	}
}

func TestWhole(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "a", "aü": "aü", "a\xc3": "a", "\xf0\x9f\x98": "", "a\xf0": "a", "\x80\x80": "\x80\x80", "caf\xe9": "caf"} {
		if got := Whole(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for value, want := range map[string]string{`"a\n\u00e9"`: "a\né", `1.50`: "1.50", `["a"]`: `["a"]`, `null`: "null", ``: ""} {
		if got := Text([]byte(value)); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}

func TestIsNumber(t *testing.T) {
	for text, wanted := range map[string]bool{
		"0": true, "-0": true, "10": true, "1.50": true, "-1.5e+10": true, "1E5": true, "0.0": true, "12345678901234567890": true,
		"": false, "-": false, "+1": false, "01": false, "-01": false, ".5": false, "1.": false, "1e": false, "1e+": false, "NaN": false, "Infinity": false, "1 ": false, "0x1": false, "1.5.2": false, "1e5e": false, "$1": false,
	} {
		if IsNumber(text) != wanted {
			t.Errorf("%q: %t", text, !wanted)
		}
	}
}

func TestDecimal(t *testing.T) {
	for number, want := range map[string]struct {
		digits   string
		exponent int
	}{
		"0": {"0", 0}, "-0.0e9": {"0", 0}, "120": {"12", 1}, "-1.50": {"15", -1}, "0.001": {"1", -3}, "12E+3": {"12", 3}, "1.2e-3": {"12", -4},
		"1e99999999999999999999": {"1", maxExponent}, "1e-99999999999999999999": {"1", -maxExponent},
	} {
		if digits, exponent := Decimal(number); digits != want.digits || exponent != want.exponent {
			t.Errorf("%s: %s, %d", number, digits, exponent)
		}
	}
}

// PartResult makes the result that Result makes of the part, and keeps no room for what is around it.
func TestPartResult(t *testing.T) {
	around := strings.Repeat(`{"x":"y"},`, 1000)
	for _, part := range []string{`{}`, `{"a":"b \"é\" \n","c":[1,{ }]}`, `["a",{"b":null}]`} {
		for _, hasOutput := range []bool{false, true} {
			value := `{"p":[` + around + `0],"q":{"r" : ` + part + ` }}`
			got, begin, end, ok := PartResult([]byte(value), []string{"q", "r"}, hasOutput)
			want := Result([]byte(part), hasOutput, true)
			if !ok || value[begin:end] != part || string(got.JSON) != string(want.JSON) || cap(got.JSON) > 1<<10 {
				t.Errorf("%s of %d bytes at %d to %d, want %s", got.JSON, cap(got.JSON), begin, end, want.JSON)
			}
		}
	}
	for _, value := range []string{``, `{}`, `{"q":{"r":"s"}}`, `{"q":{"r":[]}`, `{"q":{"r":[]},"q":1}`} {
		if got, _, _, ok := PartResult([]byte(value), []string{"q", "r"}, false); ok {
			t.Errorf("%s: %s", value, got.JSON)
		}
	}
}

// Long results lie in pooled memory, short ones in no more than they need.
func TestResultMemory(t *testing.T) {
	for _, n := range []int{10, 10_000, 100_000} {
		text := `{"a":"` + strings.Repeat("x", n) + `"}`
		r := Result([]byte(text), false, false)
		part, _, _, ok := PartResult([]byte(`{"p":`+text+`}`), []string{"p"}, false)
		if !ok || string(part.JSON) != string(r.JSON) {
			t.Errorf("%d: %.100s, want %.100s", n, part.JSON, r.JSON)
		}
		for _, r := range []*toolformat.Result{r, part} {
			if pooled := n == 100_000; (r.Memory != nil) != pooled || cap(r.JSON) > len(r.JSON)*5/4+100 {
				t.Errorf("%d: memory %v, %d of %d bytes", n, r.Memory != nil, len(r.JSON), cap(r.JSON))
			}
		}
	}
}
