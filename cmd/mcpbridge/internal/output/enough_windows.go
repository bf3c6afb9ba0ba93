package output

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Enough reports whether an error of a write means that the reader, such as more, has read enough and is gone.
func Enough(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_PIPE_NOT_CONNECTED)
}
