//go:build linux || darwin

package h1

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported reports whether the system can look at a connection without waiting, as a Pool must.
const Supported = true

// rawConn returns the socket of a connection; nil if it has none.
func rawConn(c net.Conn) syscall.RawConn {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// quiet reports whether there is nothing to read, not even the end.
func quiet(raw syscall.RawConn) (quiet bool) {
	raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, err := unix.Read(int(fd), b[:])
		quiet = n < 0 && err == unix.EAGAIN
		return true
	})
	return quiet
}

// writeNow writes what the system takes without waiting, and returns how much that is: nothing if
// raw is nil.
func writeNow(raw syscall.RawConn, parts [][]byte) (n int, err error) {
	if raw == nil {
		return 0, nil
	}
	failed := raw.Write(func(fd uintptr) bool {
		if len(parts) == 1 {
			n, err = unix.Write(int(fd), parts[0])
		} else {
			n, err = unix.Writev(int(fd), parts)
		}
		return true
	})
	switch {
	case failed != nil:
		return 0, failed
	case err == unix.EAGAIN || err == unix.EINTR:
		return 0, nil
	}
	return max(n, 0), err
}
