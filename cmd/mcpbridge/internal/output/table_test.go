package output

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	rows := [][]string{{"a\x1b", "does a\nand more of it than fits"}, {"much_longer", ""}, {"漢字", "is wide"}}
	for columns, want := range map[int]string{
		0:  "a�           does a and more of it than fits\nmuch_longer\n漢字         is wide\n",
		35: "a�           does a and more of it…\nmuch_longer\n漢字         is wide\n",
		24: "a�\n    does a and more of …\nmuch_longer\n漢字\n    is wide\n",
	} {
		var got strings.Builder
		if err := Table(&got, columns, rows); err != nil || got.String() != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", columns, got.String(), want)
		}
	}
}

// A name that is far longer than others is on a line as wide as it needs, and no other one is.
func TestTableWithLongName(t *testing.T) {
	long := "data:" + strings.Repeat("x", 95)
	rows := [][]string{{"file:///a", "is short"}, {long, "is long"}, {"file:///of_45_columns/" + strings.Repeat("b", 23), "is in between"}}
	for columns, want := range map[int]string{
		0:  "file:///a                                      is short\n" + long + "  is long\nfile:///of_45_columns/bbbbbbbbbbbbbbbbbbbbbbb  is in between\n",
		80: "file:///a  is short\n" + long + "\n    is long\nfile:///of_45_columns/bbbbbbbbbbbbbbbbbbbbbbb  is in between\n",
		40: "file:///a  is short\n" + long + "\n    is long\nfile:///of_45_columns/bbbbbbbbbbbbbbbbbbbbbbb\n    is in between\n",
	} {
		var got strings.Builder
		if err := Table(&got, columns, rows); err != nil || got.String() != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", columns, got.String(), want)
		}
	}
}

func TestTableOfManyCells(t *testing.T) {
	rows := [][]string{{"NAME", "STATE", "CALLS", "LAST LINE"}, {"one", "ready", "12", "it says much in this line"}, {"a_long_name", "down", "0", ""}}
	for columns, want := range map[int]string{
		0:  "NAME         STATE  CALLS  LAST LINE\none          ready  12     it says much in this line\na_long_name  down   0\n",
		48: "NAME         STATE  CALLS  LAST LINE\none          ready  12     it says much in this…\na_long_name  down   0\n",
		24: "NAME         STATE  CAL…\n    LAST LINE\none          ready  12\n    it says much in thi…\na_long_name  down   0\n",
		9:  "NAME    …\n    LAST…\none     …\n    it s…\na_long_name…\n",
	} {
		var got strings.Builder
		if err := Table(&got, columns, rows); err != nil || got.String() != want {
			t.Errorf("%d columns: got\n%q\nwant\n%q", columns, got.String(), want)
		}
	}
}

func TestNarrow(t *testing.T) {
	rows := [][]string{{"NAME", "PID", "CALLS", "LAST LINE"}, {"one", "12345", "12", "x"}}
	for columns, want := range map[int]int{0: 4, 20: 4, 19: 3, 13: 3, 12: 2, 1: 2} {
		if got := Narrow(columns, rows, "PID", "CALLS"); len(got[0]) != want || len(got[1]) != want || len(rows[1]) != 4 {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
}
