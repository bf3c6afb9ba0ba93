//go:build unix && !linux && !darwin && !freebsd

package daemon

import (
	"net"
	"os"
)

// peer trusts the folder of the socket, which no other user can enter: these systems do not all tell who
// is at the other end.
func peer(*net.UnixConn) (uid int, err error) { return os.Geteuid(), nil }
