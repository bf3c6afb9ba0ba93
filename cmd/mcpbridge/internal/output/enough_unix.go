//go:build unix

package output

import (
	"errors"
	"syscall"
)

// Enough reports whether an error of a write means that the reader, such as head, has read enough and is gone.
func Enough(err error) bool { return errors.Is(err, syscall.EPIPE) }
