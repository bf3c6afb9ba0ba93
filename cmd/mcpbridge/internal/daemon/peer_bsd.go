//go:build darwin || freebsd

package daemon

import "golang.org/x/sys/unix"

// peer returns the user of the process at the other end of a socket.
func peer(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
