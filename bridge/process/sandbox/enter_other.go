//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
)

// Supported reports why this system has no sandboxes, nil if it has.
func Supported() error { return errors.New(`only Linux can do this: remove "sandbox"`) }

// Enter fails: only Linux can do this.
func (p *Policy) Enter(*exec.Cmd) (leave func(), err error) { return nil, Supported() }

// Needs returns nothing.
func Needs(*exec.Cmd) []string { return nil }

// String says nothing.
func (p *Policy) String() string { return "" }
