//go:build !unix

package terminal

import "os"

// typedAhead returns nothing: the console of Windows keeps keys, not lines.
func typedAhead(*os.File) []byte { return nil }
