package wire

// tasksExtension names the tasks extension in the capabilities of a client (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// MaxTasks bounds the tasks that a link, a session or a view of a server remembers.
const MaxTasks = 10_000

// TakesTasks reports whether a client with these capabilities accepts a task where it asked
// for a result.
func TakesTasks(capabilities []byte) bool {
	return Lookup(capabilities, "extensions", tasksExtension) != nil
}

// CreatedTask returns the id of the task that a result announces: the result is the task
// itself (SEP-2663), or has it as its member "task" (2025-11-25).
func CreatedTask(result []byte) (id string, ok bool) {
	if spells(Lookup(result, "resultType"), "task") {
		return Text(Lookup(result, "taskId"))
	}
	return Text(Lookup(result, "task", "taskId"))
}
