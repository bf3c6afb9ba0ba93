package daemon

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// runtimeFolder returns the folder for the locks of this user.
func runtimeFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "mcpbridge")
	return folder, ownFolder(folder)
}

// owned trusts the user's profile, which other users cannot write to.
func owned(fs.FileInfo) bool { return true }

// userID returns the user's SID.
func userID() (string, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", err
	}
	return user.User.Sid.String(), nil
}

func (p Place) pipe(user string) string { return `\\.\pipe\mcpbridge-` + user + "-" + p.key }

// keysIn returns the keys of the places that have a pipe.
func keysIn(string) (keys []string, err error) {
	user, err := userID()
	if err != nil {
		return nil, err
	}
	pipes, err := os.ReadDir(`\\.\pipe\`)
	for _, pipe := range pipes {
		if key, ours := strings.CutPrefix(pipe.Name(), "mcpbridge-"+user+"-"); ours {
			keys = append(keys, key)
		}
	}
	return keys, err
}

// Clear reports whether nothing runs at the place, which is never known: a pipe goes with its process.
func (p Place) Clear() bool { return false }

// Activated is false: no service manager listens for a daemon here.
func Activated() bool { return false }

// listen makes a named pipe that this user owns, also as an administrator, and alone may open.
func (p Place) listen() (net.Listener, error) {
	user, err := userID()
	if err != nil {
		return nil, err
	}
	return winio.ListenPipe(p.pipe(user), &winio.PipeConfig{SecurityDescriptor: "O:" + user + "D:P(A;;GA;;;" + user + ")"})
}

// dial opens the pipe if its owner is this user.
func (p Place) dial(ctx context.Context) (net.Conn, error) {
	user, err := userID()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := winio.DialPipeContext(ctx, p.pipe(user))
	if err != nil {
		return nil, err
	}
	if err := p.checkOwner(conn, user); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (p Place) checkOwner(conn net.Conn, user string) error {
	file, ok := conn.(interface{ Fd() uintptr })
	if !ok {
		return errors.New("the pipe has no handle")
	}
	about, err := windows.GetSecurityInfo(windows.Handle(file.Fd()), windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	owner, _, err := about.Owner()
	if err == nil && owner.String() != user {
		err = errors.New("the pipe belongs to another user")
	}
	return err
}

// direct returns the connection as it is.
func direct(conn net.Conn) (io.ReadWriteCloser, error) { return conn, nil }

// gone reports whether an error of dial means that there is no daemon.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// detached starts a process without the console of this one.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
