package local

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
)

// Limits are the process.Limits of a spec, which apply to each process of a command. 0 means no
// limit.
type Limits struct {
	Memory   bridge.Size     `json:"memory,omitempty"`   // address space in bytes; Go, Java and Node reserve far more than they use
	CPU      bridge.Duration `json:"cpu,omitempty"`      // CPU time, rounded up to seconds
	Files    int             `json:"files,omitempty"`    // open files at a time
	FileSize bridge.Size     `json:"fileSize,omitempty"` // size of a file that it writes, in bytes
}

func (l *Limits) check() error {
	if l == nil {
		return nil
	}
	if !process.CanLimit {
		return errors.New("not supported on this system: remove them, or run on Linux")
	}
	if l.Files < 0 {
		return fmt.Errorf("files: expected a number above 0, got %d", l.Files)
	}
	return nil
}

// ofProcess returns the limits as package process has them.
func (l *Limits) ofProcess() process.Limits {
	if l == nil {
		return process.Limits{}
	}
	return process.Limits{Memory: uint64(l.Memory), CPU: time.Duration(l.CPU), Files: uint64(l.Files), FileSize: uint64(l.FileSize)}
}
