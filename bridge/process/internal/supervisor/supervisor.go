// Package supervisor is the process that outlives a program and ends its children. A program that
// imports this package becomes one when it is started as one, before its main.
//
// Files: supervisor.go (how it is started), supervise_unix.go (what it does), mark_*.go (the search
// for processes by their environment), pages_*.go (the memory that a start leaves).
package supervisor

const (
	// Name is the first argument of a supervisor, which ps shows.
	Name = "mcpbridge-supervisor"
	// Variable is set, to "1", in the environment of a supervisor.
	Variable = "MCPBRIDGE_SUPERVISOR"
	// MarksVariable is set, in the environment of a supervisor, to what the marks of its program's
	// children begin with.
	MarksVariable = "MCPBRIDGE_CHILDREN"
	// MarkVariable is set in the environment of a child, to a mark of its own, which its descendants
	// inherit.
	MarkVariable = "MCPBRIDGE_CHILD"
)
