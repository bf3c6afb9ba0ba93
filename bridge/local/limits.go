package local

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
)

// Limits bound what each process of a command may take: process.Limits in a spec. What is
// left out is not bounded.
type Limits struct {
	Memory   bridge.Size     `json:"memory,omitempty"`   // bytes of address space; Go, Java and Node reserve far more than they use
	CPU      bridge.Duration `json:"cpu,omitempty"`      // processor time, rounded up to seconds
	Files    int             `json:"files,omitempty"`    // open at once
	FileSize bridge.Size     `json:"fileSize,omitempty"` // bytes of a file that it writes
}

func (l *Limits) check() error {
	if l == nil {
		return nil
	}
	if !process.CanLimit {
		return errors.New("this system has none: leave them out, or run on Linux")
	}
	if l.Files < 0 {
		return fmt.Errorf("files: expected a number above 0, got %d", l.Files)
	}
	return nil
}

// ofProcess are the limits as they are set.
func (l *Limits) ofProcess() process.Limits {
	if l == nil {
		return process.Limits{}
	}
	return process.Limits{Memory: uint64(l.Memory), CPU: time.Duration(l.CPU), Files: uint64(l.Files), FileSize: uint64(l.FileSize)}
}
