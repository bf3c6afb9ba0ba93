//go:build linux && (amd64 || arm64)

package launcher

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter is a program of seccomp, a table of system calls that fail; see seccomp(2). All others are
// allowed: what they may do to files and processes is Landlock's to decide, and the user's rights'.
type filter []unix.SockFilter

// The offsets in what seccomp shows to a filter.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16 // of 8 bytes each, of which a filter reads the lower 4: little-endian
)

// never fail in each sandbox.
var never = []uint32{
	// Other processes, and their memory.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	// The session and the group by which all of its processes are ended.
	unix.SYS_SETSID, unix.SYS_SETPGID,
	// Namespaces and mounts, in which paths mean something else.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOUNT_SETATTR,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK,
	unix.SYS_OPEN_BY_HANDLE_AT,
	// Memory that neither a file nor a limit accounts for, and that other users' processes share.
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	// Keys, and what the kernel is attacked by.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_FANOTIFY_INIT, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT,
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON,
	unix.SYS_SWAPOFF, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_PERSONALITY,
}

// missing are answered as by a kernel without them, since libraries then use another call that the filter
// can look at: io_uring and clone3 have their arguments in memory.
var missing = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3}

// metadata changes modes, owners, times and attributes of files, which Landlock does not look at.
var metadata = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// network is what a sandbox without a network has no use for.
var network = []uint32{unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4}

// namespaces are the flags of clone that make one.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// whoProcess is IOPRIO_WHO_PROCESS of ioprio_set.
const whoProcess = 1

// schedules are the calls whose first argument is the process to be scheduled.
var schedules = []uint32{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER}

// ioctls that put words into a terminal's input.
var ioctls = []uint32{unix.TIOCSTI, 0x541C /* TIOCLINUX */, unix.TIOCSETD}

// filter returns the filter of the order.
func (o *Order) filter() (filter, error) {
	f := start(arch)
	for _, number := range never {
		f = f.deny(number, unix.EPERM)
	}
	for _, number := range missing {
		f = f.deny(number, unix.ENOSYS)
	}
	for _, number := range archNever {
		f = f.deny(number, unix.EPERM)
	}
	if !o.Metadata {
		for _, number := range slices.Concat(metadata, archMetadata) {
			f = f.deny(number, unix.EPERM)
		}
	}
	if o.Network {
		f = f.allowOnly(unix.SYS_SOCKET, unix.EACCES, 0, ^uint32(0), unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	} else {
		for _, number := range network {
			f = f.deny(number, unix.EACCES)
		}
	}
	// A pair of these kinds cannot be connected to anything else.
	const kind = 0xf
	f = f.allowOnly(unix.SYS_SOCKETPAIR, unix.EACCES, 0, ^uint32(0), unix.AF_UNIX)
	f = f.allowOnly(unix.SYS_SOCKETPAIR, unix.EACCES, 1, kind, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)
	f = f.allowOnly(unix.SYS_CLONE, unix.EPERM, 0, namespaces, 0)
	f = f.allowOnly(unix.SYS_PRLIMIT64, unix.EPERM, 0, ^uint32(0), 0) // of the caller: a limit on CPU time ends any process of the user
	// How the caller is scheduled, not others of its user. A filter does not know its other threads.
	f = f.allowOnly(unix.SYS_SETPRIORITY, unix.EPERM, 0, ^uint32(0), unix.PRIO_PROCESS)
	f = f.allowOnly(unix.SYS_SETPRIORITY, unix.EPERM, 1, ^uint32(0), 0)
	f = f.allowOnly(unix.SYS_IOPRIO_SET, unix.EPERM, 0, ^uint32(0), whoProcess)
	f = f.allowOnly(unix.SYS_IOPRIO_SET, unix.EPERM, 1, ^uint32(0), 0)
	for _, number := range schedules {
		f = f.allowOnly(number, unix.EPERM, 0, ^uint32(0), 0)
	}
	f = f.denyValues(unix.SYS_IOCTL, 1, ^uint32(0), ioctls...)
	if o.Memory > 0 { // which RLIMIT_DATA does not account for
		const shared = unix.MAP_SHARED | unix.MAP_ANONYMOUS
		f = f.denyValues(unix.SYS_MMAP, 3, shared, shared)
	}
	return append(f, give(unix.SECCOMP_RET_ALLOW)), nil
}

func statement(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func load(offset uint32) unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func give(result uint32) unix.SockFilter { return statement(unix.BPF_RET|unix.BPF_K, result) }

func fail(errno unix.Errno) unix.SockFilter { return give(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

// unless skips the next n statements unless the loaded value is k.
func unless(k uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: n, K: k}
}

// start returns the beginning of a filter: calls in the manner of another architecture end the process,
// since their numbers mean something else. Those of x32 are not known to a kernel of today.
func start(arch uint32) filter {
	return filter{
		load(offsetArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: arch},
		give(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: x32},
		fail(unix.ENOSYS),
	}
}

// x32 is the bit of the numbers of amd64's other convention.
const x32 = 0x40000000

// deny makes a system call fail. Each part of a filter begins and ends with the number loaded.
func (f filter) deny(number uint32, errno unix.Errno) filter {
	return append(f, unless(number, 1), fail(errno))
}

// allowOnly makes a call fail unless its argument, masked, is one of the values. The error is one that programs know the
// call to have: Chromium dies if a clone into a user namespace fails with EACCES.
func (f filter) allowOnly(number uint32, errno unix.Errno, arg, mask uint32, values ...uint32) filter {
	n := uint8(len(values))
	f = append(f, unless(number, n+4), load(offsetArgs+8*arg), statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask))
	for i, value := range values {
		f = append(f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: n - uint8(i), K: value})
	}
	return append(f, fail(errno), load(offsetNumber))
}

// denyValues makes a call fail if its argument, masked, is one of the values.
func (f filter) denyValues(number uint32, arg, mask uint32, values ...uint32) filter {
	n := uint8(len(values))
	f = append(f, unless(number, 2*n+3), load(offsetArgs+8*arg), statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask))
	for _, value := range values {
		f = append(f, unless(value, 1), fail(unix.EPERM))
	}
	return append(f, load(offsetNumber))
}

// install puts the thread under a filter.
func install(f filter) error {
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return named("seccomp", errno)
	}
	return nil
}
