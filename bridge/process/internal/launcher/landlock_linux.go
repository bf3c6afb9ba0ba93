package launcher

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock: to read and execute what is there, to change files, to change folders.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	treeRights  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

	// neverRights are granted nowhere.
	neverRights = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	fileRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | writeRights
)

// The versions of Landlock's interface in which what a sandbox needs was added.
const (
	abiTruncate = 3 // Linux 6.2: files cannot be emptied; the least
	abiNetwork  = 4 // Linux 6.7: TCP
	abiDevices  = 5 // Linux 6.10: ioctl of devices
	abiScopes   = 6 // Linux 6.12: signals, abstract Unix sockets
)

// MinimalABI is the version of Landlock's interface without which there is no sandbox, Linux 6.2, and
// ScopeABI the one that also keeps signals in, Linux 6.12.
const (
	MinimalABI = abiTruncate
	ScopeABI   = abiScopes
)

// ABI returns the version of Landlock's interface that the kernel has. The error is ENOSYS if it was
// built without Landlock, EOPNOTSUPP if that is off.
func ABI() (int, error) {
	version, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(version), nil
}

// restrict leaves the thread only what the order grants of files, and keeps its signals and abstract
// sockets in.
func (o *Order) restrict() error {
	abi, err := ABI()
	if err != nil {
		return named("Landlock", err)
	}
	if abi < MinimalABI {
		return errors.New("the kernel's Landlock is older than that of Linux 6.2")
	}
	rules := unix.LandlockRulesetAttr{Handled_access_fs: readRights | writeRights | treeRights | neverRights}
	size := unsafe.Sizeof(rules.Handled_access_fs)
	if abi >= abiNetwork {
		size += unsafe.Sizeof(rules.Handled_access_net)
		if !o.Network {
			rules.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= abiDevices {
		rules.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= abiScopes {
		size += unsafe.Sizeof(rules.Scoped)
		rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if errno != 0 {
		return named("Landlock", errno)
	}
	ruleset := int(fd)
	for _, grant := range []struct {
		paths  []string
		rights uint64
	}{
		{o.Read, readRights},
		{o.Write, readRights | writeRights | treeRights},
		{o.Device, unix.LANDLOCK_ACCESS_FS_READ_FILE | writeRights},
	} {
		for _, path := range grant.paths {
			if err := allow(ruleset, path, grant.rights); err != nil {
				return named(path, err)
			}
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return named("Landlock", errno)
	}
	return nil
}

// allow adds a rule for a file, or a folder and all below it. One that does not exist cannot be used
// either way.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.EACCES:
		return nil
	default:
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
