package process

import (
	"runtime"
	"runtime/debug"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

// ReturnMemory returns to the system what this process does not need: garbage, what pools keep, and on Linux
// the pages of its own program that it does not use. It takes two passes of the garbage collector.
func ReturnMemory() {
	runtime.GC() // empties the pools, together with the next one
	debug.FreeOSMemory()
	supervisor.ReleasePages()
}
