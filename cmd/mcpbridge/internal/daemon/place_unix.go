//go:build unix

package daemon

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// runtimeFolder returns the folder for sockets of this user. It does not depend on variables that a
// terminal has and a desktop lacks, as then there would be two daemons for a config.
func runtimeFolder() (string, error) {
	user := strconv.Itoa(os.Geteuid())
	parents := []string{os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + user}
	if runtime.GOOS == "darwin" {
		if cache, err := os.UserCacheDir(); err == nil {
			parents = append(parents, cache)
		}
	}
	for _, parent := range parents {
		info, err := os.Stat(parent)
		if !filepath.IsAbs(parent) || err != nil || !owned(info) {
			continue
		}
		folder := filepath.Join(parent, "mcpbridge")
		if len(folder)+len("/0123456789abcdef.sock") <= maxSocket && ownFolder(folder) == nil {
			return folder, nil
		}
	}
	folder := "/tmp/mcpbridge-" + user
	return folder, ownFolder(folder)
}

// maxSocket is how long the path of a socket may be on every system, in bytes.
const maxSocket = 103

func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// Socket returns the path of the socket.
func (p Place) Socket() string { return p.file(".sock") }

// keysIn returns the keys of the places that have a socket.
func keysIn(folder string) (keys []string, err error) {
	sockets, err := filepath.Glob(filepath.Join(folder, "*.sock"))
	for _, socket := range sockets {
		keys = append(keys, strings.TrimSuffix(filepath.Base(socket), ".sock"))
	}
	return keys, err
}

// Clear reports whether nothing runs at the place, and removes what a process other than a daemon has left
// there. It does not connect: systemd would start a daemon for that.
func (p Place) Clear() bool {
	l := flock.New(p.file(".lock"), flock.SetPermissions(0o600))
	free, err := l.TryLock()
	if err != nil || !free {
		return false
	}
	defer l.Close()
	if strings.HasPrefix(p.key, "process-") {
		os.Remove(p.Socket())
		os.Remove(l.Path()) // no other process will have it
	}
	return true
}

// listen listens in place of a daemon that has ended: the lock is held.
func (p Place) listen() (net.Listener, error) {
	if ln, err := activated(); ln != nil || err != nil {
		return &listener{ln}, err
	}
	if err := os.Remove(p.Socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ln, err := net.Listen("unix", p.Socket())
	if err != nil {
		return nil, err
	}
	return &listener{ln}, os.Chmod(p.Socket(), 0o600)
}

func (p Place) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", p.Socket())
	if err != nil {
		return nil, err
	}
	return checked(conn)
}

// checked returns a connection whose other end is a process of this user.
func checked(conn net.Conn) (net.Conn, error) {
	err := onSocket(conn.(syscall.Conn), func(fd int) error {
		uid, err := peer(fd)
		if err == nil && uid != os.Geteuid() {
			err = errors.New("the other end belongs to user " + strconv.Itoa(uid))
		}
		return err
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// onSocket does something with the descriptor of a socket.
func onSocket(socket syscall.Conn, do func(fd int) error) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = do(int(fd)) })
	return errors.Join(err, failed)
}

// listener accepts connections of this user alone.
type listener struct{ net.Listener }

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn, err = checked(conn); err == nil {
			return conn, nil
		}
	}
}

// direct returns the connection with reads and writes that block their threads: for one that is always
// read from, that costs less CPU time than the poller does.
func direct(conn net.Conn) (io.ReadWriteCloser, error) {
	var own int
	err := onSocket(conn.(syscall.Conn), func(fd int) (err error) {
		if own, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			err = unix.SetNonblock(own, false)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	conn.Close()
	return &socket{os.NewFile(uintptr(own), "daemon")}, nil
}

type socket struct{ *os.File }

// Close also ends a Read.
func (s *socket) Close() error {
	s.shutdown(syscall.SHUT_RDWR)
	return s.File.Close()
}

// CloseWrite ends what the other end reads.
func (s *socket) CloseWrite() error { return s.shutdown(syscall.SHUT_WR) }

func (s *socket) shutdown(how int) error {
	return onSocket(s.File, func(fd int) error { return syscall.Shutdown(fd, how) })
}

// gone reports whether an error of dial means that there is no daemon.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
}

// detached starts a process in a session of its own, so that no signal of the terminal reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
