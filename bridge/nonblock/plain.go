//go:build darwin || (linux && race)

package nonblock

import "syscall"

// The race detector does not see other system calls, nor has Darwin any.

func read(fd uintptr, p []byte) (int, syscall.Errno) { return plainRead(fd, p) }

func write(fd uintptr, p []byte) (int, syscall.Errno) { return plainWrite(fd, p) }

func writeParts(fd uintptr, parts [][]byte) (int, syscall.Errno) { return plainWriteParts(fd, parts) }
