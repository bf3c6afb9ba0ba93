// Package process runs a child process with care: in a group of its own that ends as a whole,
// with an environment that holds no secrets, with standard error that never blocks it, and always
// reaped.
//
// The caller that starts a [Process] calls [Process.Stop] in the end, also when the child has
// ended by itself, as one closes a file. The groups of a program that gives its commands a
// [Supervisor] end even when the program is killed.
//
// A descendant that leaves its group (setsid, a daemon) ends with it too: on Linux it is found by a
// variable in its environment, MCPBRIDGE_CHILD, and on Windows a job object holds every descendant.
// On other systems, and if it has cleared its environment, it is out of reach.
//
// # Files
//
// process.go has Command and Process, process_*.go what differs between systems (groups, signals,
// pipes, limits), strays_linux.go the search for processes that have left their group, command.go
// the checks before the start and errors for the user, batch.go the command line of a Windows batch
// file, environ.go the environment, stderr.go standard error with its allowance, tail.go its last
// lines for errors, memory.go what returns memory, memory_*.go the memory of processes and groups,
// supervisor.go the Supervisor, internal/supervisor what its process does, sandbox what a child may do,
// internal/launcher how it gives up the rest.
//
// # Concurrency
//
// All methods may be called from many goroutines. A Process has four goroutines: run, which
// waits for the child, signals its group and closes Done in the end; one that waits for the
// leader to exit; and two of stderrLog, which read standard error and pass its lines on. All end
// with Done, but for one that a Stderr function holds up. A Supervisor has a goroutine for each
// run of its process, which reaps it. No mutex is held while another one is taken.
package process
