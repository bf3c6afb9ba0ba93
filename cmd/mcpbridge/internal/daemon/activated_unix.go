//go:build unix

package daemon

import (
	"net"
	"os"
	"strconv"
)

// Activated reports whether a service manager listens for this process. It is so until
// Listen has its socket.
func Activated() bool {
	return os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) && os.Getenv("LISTEN_FDS") == "1"
}

// activated returns the socket that a service manager listens on for this process (sd_listen_fds(3)), nil
// without one. It stays when the process ends.
func activated() (net.Listener, error) {
	if !Activated() {
		return nil, nil
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name) // servers are not meant
	}
	f := os.NewFile(3, "socket")
	defer f.Close()
	return net.FileListener(f)
}
