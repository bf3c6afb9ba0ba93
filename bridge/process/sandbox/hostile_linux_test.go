package sandbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An attempt returns nil when it has done what a sandbox has to stop.
type attempt func(h *hostile) error

// hostile is a program that tries all that a sandbox has to stop.
type hostile struct {
	home   string // with .ssh/id_rsa, and a folder for the program in work
	work   string
	parent int    // the bridge
	tcp    string // addresses where the bridge listens
	udp    string
	unix   string
	pipe   string // "@…", abstract
	gram   string
}

func (h *hostile) secret() string { return filepath.Join(h.home, ".ssh", "id_rsa") }

func read(path string) error { _, err := os.ReadFile(path); return err }

func write(path string) error { return os.WriteFile(path, []byte("x"), 0o666) }

func raw(number uintptr, args ...uintptr) error {
	args = append(args, 0, 0, 0, 0, 0, 0)
	if _, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5]); errno != 0 {
		return errno
	}
	return nil
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return err
}

func proc(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// attempts are those against files, processes, sockets and the kernel. Those whose names end in "!"
// are refused without a sandbox, too, where a system is strict.
var attempts = map[string]attempt{
	"read ~/.ssh":             func(h *hostile) error { return read(h.secret()) },
	"list ~":                  func(h *hostile) error { _, err := os.ReadDir(h.home); return err },
	"read by /proc/self/root": func(h *hostile) error { return read("/proc/self/root" + h.secret()) },
	"read by /proc/self/cwd":  func(h *hostile) error { return read("/proc/self/cwd/../.ssh/id_rsa") },
	"read by a link":          func(h *hostile) error { return linked(h, os.Symlink, "to-read") },
	"read by a hard link":     func(h *hostile) error { return linked(h, os.Link, "hard") },
	"write outside":           func(h *hostile) error { return write(filepath.Join(h.home, "new")) },
	"write by a link":         func(h *hostile) error { return writeByLink(h) },
	"empty a file outside":    func(h *hostile) error { return os.Truncate(filepath.Join(h.home, "notes"), 0) },
	"remove outside":          func(h *hostile) error { return os.Remove(filepath.Join(h.home, "remove")) },
	"rename out":              func(h *hostile) error { return moved(h, filepath.Join(h.work, "mine"), filepath.Join(h.home, "mine")) },
	"rename in": func(h *hostile) error {
		return moved(h, filepath.Join(h.home, "move"), filepath.Join(h.work, "theirs"))
	},
	"write to /dev/shm":             func(h *hostile) error { return writeAndRemove("/dev/shm/mcpbridge-hostile") },
	"write to /tmp":                 func(h *hostile) error { return writeAndRemove("/tmp/mcpbridge-hostile") },
	"open a device!":                func(h *hostile) error { return openFor("/dev/kmsg", os.O_RDONLY) },
	"open the terminal!":            func(h *hostile) error { return openFor("/dev/tty", os.O_RDWR) },
	"use inherited files":           func(h *hostile) error { return inherited() },
	"read the parent's environment": func(h *hostile) error { return read(proc(h.parent, "environ")) },
	"read the parent's memory!":     func(h *hostile) error { return openFor(proc(h.parent, "mem"), os.O_RDONLY) },
	"read the parent's arguments":   func(h *hostile) error { return read(proc(h.parent, "cmdline")) },
	"read the parent's files":       func(h *hostile) error { _, err := os.ReadDir(proc(h.parent, "fd")); return err },
	"ptrace the parent!":            func(h *hostile) error { return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(h.parent)) },
	"process_vm_readv!":             func(h *hostile) error { return readMemory(h.parent) },
	"pidfd_getfd!":                  func(h *hostile) error { return takeFile(h.parent) },
	"signal the parent":             func(h *hostile) error { return syscall.Kill(h.parent, syscall.SIGURG) },
	"signal the parent by pidfd":    func(h *hostile) error { return signalByFile(h.parent) },
	"limit the parent":              func(h *hostile) error { return limit(h.parent) },
	"slow down the parent":          func(h *hostile) error { return slowDown(h.parent) },
	"slow down the parent's files":  func(h *hostile) error { return slowFiles(h.parent) },
	"choose the parent's CPU":       func(h *hostile) error { return moveTo(h.parent) },
	"schedule the parent":           func(h *hostile) error { return schedule(h.parent) },
	"TCP":                           func(h *hostile) error { return dial("tcp", h.tcp) },
	"TCP listen":                    func(h *hostile) error { l, err := net.Listen("tcp", "127.0.0.1:0"); closeIf(l, err); return err },
	"UDP":                           func(h *hostile) error { return dial("udp", h.udp) },
	"Unix socket":                   func(h *hostile) error { return dial("unix", h.unix) },
	"abstract Unix socket":          func(h *hostile) error { return dial("unix", h.pipe) },
	"Unix socket by a pair":         func(h *hostile) error { return sendByPair(h.gram) },
	"netlink":                       func(h *hostile) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW) },
	"packet socket!":                func(h *hostile) error { return socket(unix.AF_PACKET, unix.SOCK_RAW) },
	"VSOCK!":                        func(h *hostile) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM) },
	"leave the session":             func(h *hostile) error { return leave(&syscall.SysProcAttr{Setsid: true}) },
	"leave the group":               func(h *hostile) error { return leave(&syscall.SysProcAttr{Setpgid: true}) },
	"user namespace!":               func(h *hostile) error { return leave(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}) },
	"unshare!":                      func(h *hostile) error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS) },
	"clone3!":                       func(h *hostile) error { return not(unix.EINVAL, raw(unix.SYS_CLONE3, 0, 0)) },
	"io_uring!":                     func(h *hostile) error { return ring() },
	"memfd":                         func(h *hostile) error { _, err := unix.MemfdCreate("x", 0); return err },
	"bpf!":                          func(h *hostile) error { return not(unix.EINVAL, raw(unix.SYS_BPF, 999, 0, 0)) },
	"keyring!": func(h *hostile) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
		return err
	},
	"System V memory!": func(h *hostile) error { return raw(unix.SYS_SHMGET, 0, 4096, 0o600|unix.IPC_CREAT) },
	"TIOCSTI": func(h *hostile) error {
		return not(unix.ENOTTY, raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(new(byte)))))
	},
	"gain privileges":  func(h *hostile) error { return privileges() },
	"undo the sandbox": func(h *hostile) error { return undo(h) },
}

func not(harmless, err error) error {
	if errors.Is(err, harmless) { // the kernel has looked at it
		return nil
	}
	return err
}

func linked(h *hostile, link func(old, new string) error, name string) error {
	path := filepath.Join(h.work, name)
	if err := link(h.secret(), path); err != nil {
		return err
	}
	return read(path)
}

func writeByLink(h *hostile) error {
	path := filepath.Join(h.work, "to-write")
	if err := os.Symlink(filepath.Join(h.home, "notes"), path); err != nil {
		return err
	}
	return write(path)
}

func moved(h *hostile, from, to string) error {
	if strings.HasPrefix(from, h.work) {
		if err := write(from); err != nil {
			return errors.New("DONE, but cannot write where it may: " + err.Error())
		}
	}
	return os.Rename(from, to)
}

func writeAndRemove(path string) error {
	err := write(path)
	if err == nil {
		err = os.Remove(path)
	}
	return err
}

func openFor(path string, mode int) error {
	f, err := os.OpenFile(path, mode, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// inherited looks for files that are open and are not the runtime's own.
func inherited() error {
	for fd := 3; fd < 1000; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			return nil
		}
	}
	return errors.New("there is none")
}

func readMemory(pid int) error {
	local, buffer := unix.Iovec{Len: 1}, new(byte)
	local.Base = buffer
	here := uintptr(unsafe.Pointer(&os.Args)) // the parent runs the same program
	_, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: here, Len: 1}}, 0)
	return not(unix.EFAULT, err)
}

func takeFile(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 1, 0)
	return err
}

// limit sets a limit of a process to what it is.
func limit(pid int) error {
	var own unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &own); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &own, nil)
}

// These set how a process is scheduled to what it is.

func slowDown(pid int) error {
	level, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return err
	}
	return unix.Setpriority(unix.PRIO_PROCESS, pid, 20-level)
}

func slowFiles(pid int) error {
	const whoProcess = 1
	level, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, whoProcess, uintptr(pid), 0)
	if errno != 0 {
		return errno
	}
	return raw(unix.SYS_IOPRIO_SET, whoProcess, uintptr(pid), level)
}

func moveTo(pid int) error {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &own); err != nil {
		return err
	}
	return unix.SchedSetaffinity(pid, &own)
}

func schedule(pid int) error {
	attr, err := unix.SchedGetAttr(pid, 0)
	if err != nil {
		return err
	}
	return unix.SchedSetAttr(pid, attr, 0)
}

func signalByFile(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(fd, unix.SIGURG, nil, 0)
}

func closeIf(l net.Listener, err error) {
	if err == nil {
		l.Close()
	}
}

func socket(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// sendByPair sends from one of a pair of sockets to another one than its peer.
func sendByPair(path string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path})
}

func leave(attr *syscall.SysProcAttr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = attr
	return cmd.Run()
}

func ring() error {
	var params [120]byte
	return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
}

// privileges reports whether a setuid program could become root.
func privileges() error {
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || set == 1 {
		return errors.New("no_new_privs is set")
	}
	return nil
}

// undo puts itself under a ruleset of Landlock that handles nothing but one right.
func undo(h *hostile) error {
	rules := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SOCK}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), 8, 0)
	if errno == 0 {
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	return read(h.secret())
}

// try makes all attempts, and prints a line for each.
func (h *hostile) try() {
	names := make([]string, 0, len(attempts))
	for name := range attempts {
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "undo the sandbox" })
	for _, name := range append(names, "undo the sandbox") { // which sets no_new_privs
		err := attempts[name](h)
		if err == nil {
			fmt.Printf("%s\tDONE\n", name)
		} else {
			fmt.Printf("%s\t%v\n", name, err)
		}
	}
}

// allowed does what a sandbox has to let a program do.
func (h *hostile) allowed() error {
	own := filepath.Join(h.work, "own")
	pair, errPair := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	_, errSend := unix.Write(pair[0], []byte("x"))
	temp, errTemp := os.CreateTemp("", "x")
	if errTemp == nil {
		errTemp = errors.Join(temp.Close(), os.Rename(temp.Name(), filepath.Join(h.work, "from-temp")))
	}
	info, errStat := os.Stat(os.TempDir())
	if errStat == nil && info.Mode().Perm() != 0o700 {
		errStat = fmt.Errorf("the folder for temporary files has mode %v", info.Mode())
	}
	return errors.Join(write(own), read(own), os.Mkdir(own+".d", 0o755), os.Rename(own, own+".d/own"), os.RemoveAll(own+".d"),
		errPair, errSend, errTemp, errStat, read("/etc/passwd"), write("/dev/null"), exec.Command("/bin/sh", "-c", "exit 0").Run(),
		read("/proc/self/status"), syscall.Kill(os.Getpid(), 0), slowDown(0), slowFiles(0), moveTo(0), schedule(0))
}

// bomb forks until that fails, and prints how many processes there were.
func bomb() {
	for n := 0; ; n++ {
		cmd := exec.Command("/bin/sleep", "1000")
		if err := cmd.Start(); err != nil {
			fmt.Printf("%d\t%v\n", n, err)
			break
		}
		if n > 500 {
			fmt.Printf("%d\tDONE\n", n)
			break
		}
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// hog takes memory until it is killed.
func hog() {
	var all [][]byte
	for n := 0; n < 1<<10; n++ {
		block := make([]byte, 1<<20)
		for i := range block {
			block[i] = 1
		}
		all = append(all, block)
	}
	fmt.Println("DONE", len(all))
}
