//go:build !linux

package process

import "errors"

// CanLimit reports whether this system has Limits.
const CanLimit = false

func (l Limits) set(int) error {
	if l != (Limits{}) {
		return errors.New("only Linux has them")
	}
	return nil
}
