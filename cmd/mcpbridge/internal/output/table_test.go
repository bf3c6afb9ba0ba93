package output

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	rows := [][2]string{{"a\x1b", "does a\nand more of it than fits"}, {"much_longer", ""}, {"漢字", "is wide"}}
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
