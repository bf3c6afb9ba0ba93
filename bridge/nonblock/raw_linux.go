//go:build !race

package nonblock

import (
	"syscall"
	"unsafe"
)

// long is how many bytes the scheduler is told of, in case that copying them takes long.
const long = 64 << 10

func read(fd uintptr, p []byte) (int, syscall.Errno) {
	if len(p) > long {
		return plainRead(fd, p)
	}
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		if errno != syscall.EINTR {
			return result(n, errno)
		}
	}
}

func write(fd uintptr, p []byte) (int, syscall.Errno) {
	if len(p) > long {
		return plainWrite(fd, p)
	}
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		if errno != syscall.EINTR {
			return result(n, errno)
		}
	}
}

func writeParts(fd uintptr, parts [][]byte) (int, syscall.Errno) {
	var vector [4]syscall.Iovec
	size := 0
	for i, p := range parts[:min(len(parts), len(vector))] {
		vector[i].Base = unsafe.SliceData(p)
		vector[i].SetLen(len(p))
		size += len(p)
	}
	if size > long || len(parts) > len(vector) {
		return plainWriteParts(fd, parts)
	}
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&vector)), uintptr(len(parts)))
		if errno != syscall.EINTR {
			return result(n, errno)
		}
	}
}

func result(n uintptr, errno syscall.Errno) (int, syscall.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
