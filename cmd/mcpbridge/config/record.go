package config

import (
	"strconv"
	"strings"
	"time"
)

// ledger is the book of the calls that may change something. A limit of 0 means the default.
type ledger struct {
	Enabled  bool
	File     string        // absolute; "" means one in the folder of the program's state
	Sync     bool          // a call waits until its line is on the disk
	Keep     time.Duration // for which a call is remembered; default 30 days
	MaxBytes int           // of the file, before it becomes an old one; default 16 MiB
	Files    int           // old files that are kept; default 4
	Result   int           // bytes of a result that are kept for a call with an idempotency key; default 64 KiB
}

func (l *ledger) keys() keySet {
	return keySet{
		"file":     {take: into(&l.File, readPath)},
		"sync":     {take: into(&l.Sync, readBool)},
		"keep":     {take: into(&l.Keep, readDays)},
		"maxBytes": {take: into(&l.MaxBytes, readSize)},
		"files":    {take: into(&l.Files, readCount)},
		"result":   {take: into(&l.Result, readSize)},
	}
}

// readLedger reads "ledger": true, or an object with settings.
func readLedger(d *decoder, n node) (l ledger, ok bool) {
	l.Enabled, ok = d.enabled(n, "settings", l.keys())
	return l, ok
}

// audit is the file with a line for each call, in a chain of hashes. A limit of 0 means the default.
type audit struct {
	File     string // absolute; "" means that there is none
	MaxBytes int    // of the file, before it becomes an old one; default 16 MiB
	Files    int    // old files that are kept; default 4
	Values   bool   // "arguments" is "values": lines have the arguments of calls, and not their names alone
}

func (a *audit) keys() keySet {
	return keySet{
		"file":      {take: into(&a.File, readPath)},
		"maxBytes":  {take: into(&a.MaxBytes, readSize)},
		"files":     {take: into(&a.Files, readCount)},
		"arguments": {take: into(&a.Values, readNamesOrValues)},
	}
}

// readAudit reads the settings of an audit, or the path of its file alone.
func readAudit(d *decoder, n node) (a audit, ok bool) {
	return a, d.fileOf(n, &a.File, a.keys())
}

// readNamesOrValues reads what of the arguments of calls is written down.
func readNamesOrValues(d *decoder, n node) (bool, bool) {
	word, ok := oneOf(words("names", "values"))(d, n)
	return word == "values", ok
}

// readDays reads a number of days, as in "30d", or a duration.
func readDays(d *decoder, n node) (dur time.Duration, ok bool) {
	if n.value.Kind() != '"' {
		return readDuration(d, n)
	}
	text, ok := readText(d, n)
	if !ok {
		return 0, false
	}
	if days, is := strings.CutSuffix(text, "d"); is {
		count, _ := strconv.ParseUint(days, 10, 15)
		dur = time.Duration(count) * 24 * time.Hour
	} else {
		dur, _ = time.ParseDuration(text)
	}
	return dur, d.fits(n, dur > 0, `0"`, `a positive duration: "30d", "12h", or a number of seconds`)
}
