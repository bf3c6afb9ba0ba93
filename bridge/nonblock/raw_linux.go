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
	return raw(syscall.SYS_READ, fd, unsafe.Pointer(unsafe.SliceData(p)), len(p))
}

func write(fd uintptr, p []byte) (int, syscall.Errno) {
	if len(p) > long {
		return plainWrite(fd, p)
	}
	return raw(syscall.SYS_WRITE, fd, unsafe.Pointer(unsafe.SliceData(p)), len(p))
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
	return raw(syscall.SYS_WRITEV, fd, unsafe.Pointer(&vector), len(parts))
}

// raw makes a system call with n bytes or parts at p until no signal interrupts it.
func raw(number, fd uintptr, p unsafe.Pointer, n int) (int, syscall.Errno) {
	for {
		done, _, errno := syscall.RawSyscall(number, fd, uintptr(p), uintptr(n))
		switch errno {
		case 0:
			return int(done), 0
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
