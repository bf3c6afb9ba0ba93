//go:build !linux && !darwin

package nonblock

import "syscall"

// Supported reports whether a Stream does more than its connection, on this system.
const Supported = false

func read(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }

func write(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }

func writeParts(uintptr, [][]byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }
