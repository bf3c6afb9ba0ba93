package main

import (
	"sync"
	"testing"
	"testing/synctest"
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
		{binary{"dev", "/a", now}, binary{"v1.2.0", "/b", then}, false},
		{binary{"v1.2.0", "/a", then}, binary{"dev", "/b", now}, true},
		{binary{"dev", "/a", now}, binary{"dev", "/b", then}, true},
		{binary{"dev", "/a", then}, binary{"dev", "/b", then}, false},
		{binary{"dev", "", now}, binary{"dev", "/b", then}, false},
		{binary{"v1.2.0", "", now}, binary{"v1.1.9", "/b", then}, false},
		{binary{}, binary{"dev", "/b", then}, false},
	} {
		if got := c.a.newer(c.old); got != c.want {
			t.Errorf("%v replaces %v: %t", c.a, c.old, got)
		}
	}
}

// TestReplaceKept holds that a daemon which a service manager starts again from its file only gives way to
// a newer one in that file.
func TestReplaceKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		r := &replacement{own: binary{"v1.0.0", "/a", time.Time{}}, kept: true, end: func() { ended++ }}
		for path, want := range map[string]int{"/b": 0, "/a": 1} {
			ended, r.once = 0, sync.Once{}
			r.offer(t.Context(), binary{"v1.1.0", path, time.Time{}})
			if synctest.Wait(); ended != want {
				t.Errorf("with a newer %s it ended %d times", path, ended)
			}
		}
	})
}
