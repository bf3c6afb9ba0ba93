package launcher

import (
	"reflect"
	"testing"
)

func TestArguments(t *testing.T) {
	want := Order{
		Path: "/bin/x", Args: []string{"x", "rnot a path", "", "x/y"},
		Read: []string{"/a b", "/c"}, Write: []string{"/d"}, Device: []string{"/dev/null"},
		Network: true, Metadata: true, Group: "/g", Processes: 7, Memory: 8,
	}
	if got, err := parse(want.Arguments()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, args := range [][]string{{Name}, {Name, "r/a"}, {Name, ""}, {Name, "x/bin/x"}, {Name, "xrelative", "x"}, {Name, "pmany", "x/bin/x", "x"}} {
		if got, err := parse(args); err == nil {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
