package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A program that does not know yet whether calls may run is not said to be stopped, which only --lift would end.
func TestTitleOfStopped(t *testing.T) {
	for want, st := range map[string]processState{
		"\nall calls are stopped (mcpbridge stop --lift ends that): why\n": {Stopped: "why"},
		"\nno call runs yet: why\n":                                        {Stopped: "why", Held: true},
		" calls)\n":                                                        {},
	} {
		var b strings.Builder
		if st.printTitle(&b, "", time.Now()); !strings.HasSuffix(b.String(), want) {
			t.Errorf("got %q, want %q at the end", b.String(), want)
		}
	}
}

func TestHasEnded(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if hasEnded(os.Getpid()) {
		t.Error("this process has ended")
	}
	other := exec.Command(executable, "-test.run=^$")
	if err := other.Run(); err != nil {
		t.Fatal(err)
	}
	if !hasEnded(other.Process.Pid) {
		t.Error("another process has not ended")
	}
}
