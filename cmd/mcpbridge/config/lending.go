package config

import "time"

// lending is whether clients may lend tools to those of their own principal, and what they lend at most. A
// limit of 0 means the default.
type lending struct {
	Enabled     bool
	Clients     int           // of a principal that lend tools; default 1,000
	Tools       int           // of all clients of a principal; default 256
	ClientTools int           // of a client; default 64
	ClientBytes int           // of the definitions of a client; default 256 KiB
	ToolBytes   int           // of a definition; default 32 KiB
	Calls       int           // that a client carries out at once; default 16
	Queue       int           // calls that wait for a client; default 1,000
	Timeout     time.Duration // of a call without progress, and of the wait for its turn; default 30 s
}

func (l *lending) keys() keySet {
	return keySet{
		"clients":     {take: into(&l.Clients, readCount)},
		"tools":       {take: into(&l.Tools, readCount)},
		"clientTools": {take: into(&l.ClientTools, readCount)},
		"clientBytes": {take: into(&l.ClientBytes, readSize)},
		"toolBytes":   {take: into(&l.ToolBytes, readSize)},
		"calls":       {take: into(&l.Calls, readCount)},
		"queue":       {take: into(&l.Queue, readCount)},
		"timeout":     {take: into(&l.Timeout, readDuration)},
	}
}

// readLending reads "lending": true, or an object with limits.
func readLending(d *decoder, n node) (l lending, ok bool) {
	l.Enabled, ok = d.enabled(n, "limits", l.keys())
	return l, ok
}

// enabled reads whether something is on: a boolean, or an object with more about it, which also means that it is.
func (d *decoder) enabled(n node, what string, keys keySet) (on, ok bool) {
	if on, ok = n.boolean(); ok {
		return on, true
	}
	if n.value.Kind() != '{' {
		d.expected(n, "true, false, or an object with "+what)
		return false, false
	}
	d.object(n, keys)
	return true, true
}
