package process

import "time"

// Limits bound the resources of each process of a child's group; a zero field sets no bound. They
// are the kernel's (setrlimit(2)), never above those of this program, and set right after the
// start, before the standard input can be written to. Only Linux has them: see CanLimit.
type Limits struct {
	Memory   uint64        // bytes of address space; some runtimes reserve far more than they use
	CPU      time.Duration // rounded up to seconds; SIGXCPU ends a process beyond it
	Files    uint64        // open files
	FileSize uint64        // bytes of a file that it writes; SIGXFSZ ends a process beyond it
}
