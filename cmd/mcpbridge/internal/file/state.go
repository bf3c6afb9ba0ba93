package file

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// State returns the path of a file of mcpbridge in the user's folder for the state of programs (XDG Base
// Directory Specification 0.8).
func State(name string) (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = systemState(); err != nil {
			return "", fmt.Errorf("no folder for what is kept: %w", err)
		}
	}
	return filepath.Join(dir, "mcpbridge", name), nil
}

// Real returns the path that a file has however it is named, by which what belongs to it is kept. The file need not
// exist yet.
func Real(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		path = real
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if folder := filepath.Dir(path); err != nil && folder != path {
		return filepath.Join(Real(folder), filepath.Base(path))
	}
	return path
}

func systemState() (string, error) {
	if runtime.GOOS == "windows" {
		return os.UserCacheDir() // %LocalAppData%
	}
	home, err := os.UserHomeDir()
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support"), err
	}
	return filepath.Join(home, ".local", "state"), err
}
