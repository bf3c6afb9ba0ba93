package daemon

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer returns the user of the process at the other end.
func peer(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); failed == nil {
			uid = int(cred.Uid)
		}
	})
	if err == nil {
		err = failed
	}
	return uid, err
}
