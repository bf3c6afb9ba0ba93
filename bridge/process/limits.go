package process

import "time"

// Limits bound what each process of a child's group may take; a zero field bounds
// nothing. They are the resource limits of the kernel (setrlimit(2)), never above those of
// this program, and set when the child has just started, before anything can be written to
// its standard input. Only Linux has them: see CanLimit.
type Limits struct {
	Memory   uint64        // bytes of address space, of which some runtimes reserve far more than they use
	CPU      time.Duration // processor time, rounded up to seconds; what needs more is ended by SIGXCPU
	Files    uint64        // open at once
	FileSize uint64        // bytes of a file that it writes; what writes more is ended by SIGXFSZ
}
