package web

import (
	"cmp"
	"time"
)

// Limits bounds what clients lend. 0 means the default.
type Limits struct {
	Clients     int           // of a principal that lend tools; default 1,000
	Tools       int           // of all clients of a principal; default 256
	ClientTools int           // of a client; default 64
	ClientBytes int           // of the definitions of a client; default 256 KiB
	ToolBytes   int           // of a definition; default 32 KiB
	Calls       int           // that a client carries out at once; default 16
	Queue       int           // calls that wait for a client; default 1,000
	CallBytes   int           // of the arguments of a call through another node; default 64 MiB
	Timeout     time.Duration // of a call without progress, and of the wait for its turn; default 30 s
}

func (l Limits) withDefaults() Limits {
	l.Clients = cmp.Or(l.Clients, 1000)
	l.Tools = cmp.Or(l.Tools, 256)
	l.ClientTools = cmp.Or(l.ClientTools, 64)
	l.ClientBytes = cmp.Or(l.ClientBytes, 256<<10)
	l.ToolBytes = cmp.Or(l.ToolBytes, 32<<10)
	l.Calls = cmp.Or(l.Calls, 16)
	l.Queue = cmp.Or(l.Queue, 1000)
	l.CallBytes = cmp.Or(l.CallBytes, 64<<20)
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	return l
}
