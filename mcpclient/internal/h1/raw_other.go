//go:build !linux && !darwin

package h1

import (
	"net"
	"syscall"
)

// Supported reports whether the system can look at a connection without waiting, as a Pool must.
const Supported = false

func rawConn(net.Conn) syscall.RawConn { return nil }

func quiet(syscall.RawConn) bool { return false }

func writeNow(syscall.RawConn, [][]byte) (int, error) { return 0, nil }
