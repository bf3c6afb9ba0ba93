//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups returns the hangup signals, which from now on come nowhere else.
func hangups() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Reset(syscall.SIGHUP)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// hasTerminal reports whether the program has a terminal that can end it.
func hasTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	tty.Close()
	return true
}
