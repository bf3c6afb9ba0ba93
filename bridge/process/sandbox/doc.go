// Package sandbox bounds what a child process may do: which files it may read and change, whether it
// has a network, how many processes and how much memory. Only Linux can do this.
//
// The program is started by a launcher, which is this program, run again: it gives up all rights but
// those of a [Policy] and then becomes the program, under the same process id. What it has given up
// cannot be had again, by no process that it starts. Three parts of the kernel do this, and a program
// is not started where one that the Policy depends on is missing:
//
//   - Landlock decides over files, keeps signals and abstract sockets in, and hides other processes.
//   - seccomp refuses sockets, other processes' memory, sessions, namespaces, and what the first two
//     could be circumvented with, such as io_uring.
//   - no_new_privs makes setuid programs ordinary, and root's capabilities go but for those over the
//     owners of files.
//
// A cgroup bounds processes and memory where this process can have one, and limits of resources elsewhere.
//
// docs/sandbox.md says what is stopped by which, and what is not.
//
// Files: policy.go (a Policy and the presets), enter_linux.go (how a command is changed, and what the
// kernel can do), cgroup_linux.go (the cgroup of a sandbox), runtime_linux.go (the files that a program
// needs to start), enter_other.go (the error of other systems).
package sandbox
