//go:build !linux

package supervisor

// ReleasePages does nothing: only Linux counts the pages of its file as a process's own.
func ReleasePages() {}
