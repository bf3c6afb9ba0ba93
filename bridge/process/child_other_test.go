//go:build !linux

package process

// childOfSystem has no modes here: they need /proc.
func childOfSystem(mode string) { panic("no such child: " + mode) }
