package main

import "syscall"

// hasEnded reports whether a process has ended.
func hasEnded(pid int) bool {
	process, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return true
	}
	defer syscall.CloseHandle(process)
	event, err := syscall.WaitForSingleObject(process, 0)
	return err != nil || event == syscall.WAIT_OBJECT_0
}
