//go:build linux && (amd64 || arm64)

package launcher

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A syscallOf is what seccomp shows to a filter.
type syscallOf struct {
	number, arch uint32
	args         [6]uint32
}

// decide runs a filter as the kernel does.
func (f filter) decide(t *testing.T, call syscallOf) uint32 {
	t.Helper()
	words := map[uint32]uint32{offsetNumber: call.number, offsetArch: call.arch}
	for i, arg := range call.args {
		words[offsetArgs+8*uint32(i)] = arg
	}
	a := uint32(0)
	for pc := 0; pc < len(f); pc++ {
		in := f[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = words[in.K]
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == in.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= in.K)
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		default:
			t.Fatalf("unknown instruction %+v", in)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

func TestFilter(t *testing.T) {
	const allow, kill = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_KILL_PROCESS
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	alone, online := Order{Memory: 1}, Order{Network: true, Metadata: true}
	for _, c := range []struct {
		order Order
		call  syscallOf
		want  uint32
	}{
		{alone, syscallOf{number: unix.SYS_READ}, allow},
		{alone, syscallOf{number: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}, kill},
		{alone, syscallOf{number: unix.SYS_READ | x32}, errno(unix.ENOSYS)},
		{alone, syscallOf{number: 1<<32 - 1}, errno(unix.ENOSYS)},
		{alone, syscallOf{number: unix.SYS_PTRACE}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_CLONE3}, errno(unix.ENOSYS)},
		{alone, syscallOf{number: unix.SYS_CLONE, args: [6]uint32{unix.CLONE_VM | unix.CLONE_THREAD}}, allow},
		{alone, syscallOf{number: unix.SYS_CLONE, args: [6]uint32{unix.CLONE_VM | unix.CLONE_NEWUSER}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_PRLIMIT64, args: [6]uint32{0, unix.RLIMIT_NOFILE}}, allow},
		{alone, syscallOf{number: unix.SYS_PRLIMIT64, args: [6]uint32{7, unix.RLIMIT_CPU}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_SETPRIORITY, args: [6]uint32{unix.PRIO_PROCESS, 0, 9}}, allow},
		{alone, syscallOf{number: unix.SYS_SETPRIORITY, args: [6]uint32{unix.PRIO_PROCESS, 7, 9}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_SETPRIORITY, args: [6]uint32{unix.PRIO_USER, 0, 9}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_IOPRIO_SET, args: [6]uint32{1, 0}}, allow},
		{alone, syscallOf{number: unix.SYS_IOPRIO_SET, args: [6]uint32{3, 0}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_SCHED_SETAFFINITY, args: [6]uint32{7}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_SCHED_SETSCHEDULER, args: [6]uint32{7}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_SEMTIMEDOP}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_SOCKET, args: [6]uint32{unix.AF_INET}}, errno(unix.EACCES)},
		{alone, syscallOf{number: unix.SYS_SOCKETPAIR, args: [6]uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}}, allow},
		{alone, syscallOf{number: unix.SYS_SOCKETPAIR, args: [6]uint32{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK}}, errno(unix.EACCES)},
		{alone, syscallOf{number: unix.SYS_SOCKETPAIR, args: [6]uint32{unix.AF_TIPC, unix.SOCK_STREAM}}, errno(unix.EACCES)},
		{alone, syscallOf{number: unix.SYS_FCHMOD}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_MMAP, args: [6]uint32{3: unix.MAP_PRIVATE | unix.MAP_ANONYMOUS}}, allow},
		{alone, syscallOf{number: unix.SYS_MMAP, args: [6]uint32{3: unix.MAP_SHARED | unix.MAP_ANONYMOUS}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_IOCTL, args: [6]uint32{1: unix.TIOCSTI}}, errno(unix.EPERM)},
		{alone, syscallOf{number: unix.SYS_IOCTL, args: [6]uint32{1: unix.TCGETS}}, allow},
		{online, syscallOf{number: unix.SYS_FCHMOD}, allow},
		{online, syscallOf{number: unix.SYS_SOCKET, args: [6]uint32{unix.AF_INET6}}, allow},
		{online, syscallOf{number: unix.SYS_SOCKET, args: [6]uint32{unix.AF_UNIX}}, errno(unix.EACCES)},
		{online, syscallOf{number: unix.SYS_SOCKET, args: [6]uint32{unix.AF_VSOCK}}, errno(unix.EACCES)},
		{online, syscallOf{number: unix.SYS_CONNECT}, allow},
	} {
		f, err := c.order.filter()
		if err != nil {
			t.Fatal(err)
		}
		if c.call.arch == 0 {
			c.call.arch = arch
		}
		if got := f.decide(t, c.call); got != c.want {
			t.Errorf("%+v: %#x, want %#x", c.call, got, c.want)
		}
	}
	if f, _ := alone.filter(); len(f) > 4096 {
		t.Errorf("the filter has %d instructions; the kernel takes 4096", len(f))
	}
}
