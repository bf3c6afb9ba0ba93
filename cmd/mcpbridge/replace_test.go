package main

import (
	"testing"
	"time"
)

func TestNewerBinary(t *testing.T) {
	then, now := time.Unix(1, 0), time.Unix(2, 0)
	for _, c := range []struct {
		a, old binary
		want   bool
	}{
		{binary{"v1.2.0", "/a", then}, binary{"v1.1.9", "/b", now}, true},
		{binary{"v1.1.9", "/a", now}, binary{"v1.2.0", "/b", then}, false},
		{binary{"v1.2.0", "/a", now}, binary{"v1.2.0", "/b", then}, false},
		{binary{"v1.2.0-rc.1", "/a", now}, binary{"v1.2.0", "/b", then}, false},
		{binary{"dev", "/a", now}, binary{"v1.2.0", "/b", then}, true},
		{binary{"dev", "/a", then}, binary{"dev", "/b", then}, false},
		{binary{"dev", "", now}, binary{"dev", "/b", then}, false},
		{binary{}, binary{"dev", "/b", then}, false},
	} {
		if got := c.a.newer(c.old); got != c.want {
			t.Errorf("%v replaces %v: %t", c.a, c.old, got)
		}
	}
}
