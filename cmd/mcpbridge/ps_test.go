package main

import (
	"os"
	"os/exec"
	"testing"
)

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
