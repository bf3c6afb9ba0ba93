package process

import (
	"io"
	"os/exec"
)

// supervisorCommand returns nil: a job object ends with its last handle.
func supervisorCommand() (*exec.Cmd, error) { return nil, nil }

func supervise(io.Reader) {}
