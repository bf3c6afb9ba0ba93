//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// hasEnded reports whether a process has ended. Its parent need not have been told.
func hasEnded(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil || p.Signal(syscall.Signal(0)) != nil {
		return true
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // of Linux
	return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" Z"))
}
