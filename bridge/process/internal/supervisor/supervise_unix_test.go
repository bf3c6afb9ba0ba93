//go:build unix

package supervisor

import (
	"strings"
	"syscall"
	"testing"
)

func TestGroups(t *testing.T) {
	groups := map[int]bool{syscall.Getpgrp(): true, 1 << 30: true}
	signalAll(groups, 0)
	if len(groups) != 1 {
		t.Errorf("groups %v", groups)
	}
	for _, text := range []string{"", "\n", "+\n", "+1\n", "+0\n", "+-1\n", "5\n", "*7\n", "+x\n-3\n"} {
		if got := readGroups(strings.NewReader(text)); len(got) != 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got := readGroups(strings.NewReader("+70\n+71\n-70\n")); len(got) != 1 || !got[71] {
		t.Errorf("got %v", got)
	}
}
