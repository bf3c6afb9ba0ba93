// Package diagnosis finds out why a server does not work on this machine, and says what to do about it
// in plain words.
//
// Files: machine.go (what this machine has: the PATH of its desktop, Node.js, ports), next.go (what to
// do about a failure).
package diagnosis
