//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// typedAhead returns what was typed before the program read its terminal, which is in raw mode.
func typedAhead(in *os.File) []byte {
	ready := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(ready, 0); n == 0 || err != nil || ready[0].Revents&unix.POLLIN == 0 {
		return nil
	}
	typed := make([]byte, 4096) // the most that a terminal keeps
	n, _ := in.Read(typed)      // an error comes again with the next read
	return typed[:max(n, 0)]
}
