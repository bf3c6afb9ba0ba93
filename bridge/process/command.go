package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// prepare checks what it can before the start, because the errors of fork and exec name neither the
// directory nor the reason.
func (c Command) prepare() (*exec.Cmd, error) {
	if c.Path == "" {
		return nil, errors.New("no command given")
	}
	if !CanLimit && c.Limits != (Limits{}) {
		return nil, fmt.Errorf("command %q: its limits cannot be set: only Linux has them", c.Path)
	}
	if c.Dir != "" {
		info, err := os.Stat(c.Dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("working directory %s does not exist", c.Dir)
		case err != nil:
			return nil, fmt.Errorf("working directory %s: %w", c.Dir, cause(err))
		case !info.IsDir():
			return nil, fmt.Errorf("working directory %s is not a directory", c.Dir)
		}
	}
	path, err := c.Lookup()
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{
		Path: path,
		Args: append([]string{c.Path}, c.Args...),
		Dir:  c.Dir,
		Env:  append([]string{}, c.Env...), // a nil Env would inherit everything
	}, nil
}

// Lookup returns the absolute path of the program. The error says why it cannot be run.
func (c Command) Lookup() (string, error) {
	if filepath.Base(c.Path) != c.Path {
		return c.lookupPath()
	}
	path := getenv(c.Env, "PATH") // exec.LookPath would search that of this program
	if path == "" {
		return "", fmt.Errorf("command %q not found: its environment has no PATH", c.Path)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, c.Path)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("command %q not found in PATH (is it installed?)", c.Path)
}

func (c Command) lookupPath() (string, error) {
	path := c.Path
	if !filepath.IsAbs(path) {
		abs, err := filepath.Abs(filepath.Join(c.Dir, path))
		if err != nil {
			return "", fmt.Errorf("command %q: %w", c.Path, cause(err))
		}
		path = abs
	}
	found, err := exec.LookPath(path)
	switch {
	case err == nil:
		return found, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("command %q does not exist", c.Path)
	case errors.Is(err, syscall.EISDIR):
		return "", fmt.Errorf("command %q is a directory", c.Path)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("command %q is not executable (chmod +x?)", c.Path)
	default:
		return "", fmt.Errorf("command %q: %w", c.Path, cause(err))
	}
}

// startError says why a program that exists could not be started.
func startError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("command %q cannot be started: the interpreter named in its first line does not exist", path)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("command %q cannot be started: it is not a program of this system (is the #! line of a script missing?)", path)
	default:
		return fmt.Errorf("command %q cannot be started: %w", path, cause(err))
	}
}

// exitStatus is an exec.ExitError with a text that says more.
type exitStatus struct {
	*exec.ExitError
	text string
}

func (e *exitStatus) Error() string { return e.text }

// Unwrap gives errors.As the exec.ExitError.
func (e *exitStatus) Unwrap() error { return e.ExitError }

// exitError says how a child ended.
func exitError(state *os.ProcessState) error {
	if state == nil {
		return errors.New("its exit status is unknown: another part of the program reaped it")
	}
	if state.Success() {
		return nil
	}
	text := fmt.Sprintf("exit status %d", state.ExitCode())
	if name := signalName(state); name != "" {
		text = "killed by signal " + name
	}
	return &exitStatus{&exec.ExitError{ProcessState: state}, text}
}

// cause strips the operation and the path from an error, where the text around it names both.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		return lookup.Err
	}
	return err
}

// getenv returns the value of name in env, of which the last counts, as for os/exec.
func getenv(env []string, name string) (value string) {
	for _, entry := range env {
		key, v, _ := strings.Cut(entry, "=")
		if key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			value = v
		}
	}
	return value
}
