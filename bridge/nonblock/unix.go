//go:build linux || darwin

package nonblock

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported reports whether a Stream does more than its connection, on this system.
const Supported = true

// Of these system calls the scheduler is told.

func plainRead(fd uintptr, p []byte) (int, syscall.Errno) {
	return again(func() (int, error) { return syscall.Read(int(fd), p) })
}

func plainWrite(fd uintptr, p []byte) (int, syscall.Errno) {
	return again(func() (int, error) { return syscall.Write(int(fd), p) })
}

func plainWriteParts(fd uintptr, parts [][]byte) (int, syscall.Errno) {
	return again(func() (int, error) { return unix.Writev(int(fd), parts) })
}

// again makes a system call until no signal interrupts it.
func again(call func() (int, error)) (int, syscall.Errno) {
	for {
		n, err := call()
		if errno, _ := err.(syscall.Errno); errno != syscall.EINTR {
			return max(n, 0), errno
		}
	}
}
