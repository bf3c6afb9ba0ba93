package config

import "slices"

// Log is the level and the format of the log on standard error, and where calls are recorded.
type Log struct {
	Level  string // "debug", "info" (default), "warn" or "error"
	Format string // "text" (default) or "json"
	Calls  CallLog
}

// A CallLog is a file with a line for each call.
type CallLog struct {
	File      string // absolute; "" means that calls are not written to a file
	MaxBytes  int    // of the file, before it becomes an old one; default 16 MiB
	Files     int    // old files that are kept; default 4
	Arguments bool   // whether lines have the arguments of calls
}

func (l *Log) keys() keySet {
	return keySet{
		"level":  {take: into(&l.Level, oneOf(words("debug", "info", "warn", "error")))},
		"format": {take: into(&l.Format, oneOf(words("text", "json")))},
		"calls":  {take: into(&l.Calls, readCallLog)},
	}
}

func (c *CallLog) keys() keySet {
	return keySet{
		"file":      {take: into(&c.File, readPath)},
		"maxBytes":  {take: into(&c.MaxBytes, readSize)},
		"files":     {take: into(&c.Files, readCount)},
		"arguments": {take: into(&c.Arguments, readBool)},
	}
}

// readCallLog reads the settings of a file of calls, or its path alone.
func readCallLog(d *decoder, n node) (c CallLog, ok bool) {
	return c, d.fileOf(n, &c.File, c.keys())
}

// fileOf reads settings that have a "file", or the path of that alone.
func (d *decoder) fileOf(n node, file *string, keys keySet) (ok bool) {
	switch n.value.Kind() {
	case '"':
		*file, ok = readPath(d, n)
		return ok
	case '{':
		d.object(n, keys)
		if *file == "" && !slices.ContainsFunc(membersIn(n), func(m node) bool { return m.name == "file" && !m.null() }) {
			d.errorf(n, `needs "file" (the path of the file that calls are written to)`)
		}
		return true
	}
	d.expected(n, "the path of a file, or an object with it")
	return false
}
