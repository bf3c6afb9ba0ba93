package outbound_test

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

// A connection whose other end is silently gone, as after the machine has slept, ends within a minute.
func TestProbes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := outbound.Transport(nil).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(name int) (value int) {
		_ = raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, name) })
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	if idle, interval, count := option(unix.TCP_KEEPIDLE), option(unix.TCP_KEEPINTVL), option(unix.TCP_KEEPCNT); idle+interval*count > 60 {
		t.Errorf("a probe after %d s, and %d every %d s", idle, count, interval)
	}
}
