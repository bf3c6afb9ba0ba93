package config

import (
	"strconv"
	"strings"
	"time"
)

// Ledger is the book of the calls that may change something. A limit of 0 means the default.
type Ledger struct {
	Enabled  bool
	File     string        // absolute; "" means one in the folder of the program's state
	Sync     bool          // a call waits until its line is on the disk
	Keep     time.Duration // for which a call is remembered; default 30 days
	MaxBytes int           // of the file, before it becomes an old one; default 16 MiB
	Files    int           // old files that are kept; default 4
	Result   int           // bytes of a result that are kept for a call with an idempotency key; default 64 KiB
}

func (l *Ledger) keys() keySet {
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
func readLedger(d *decoder, n node) (l Ledger, ok bool) {
	if l.Enabled, ok = n.boolean(); ok {
		return l, true
	}
	if n.value.Kind() != '{' {
		d.expected(n, "true, false, or an object with settings")
		return l, false
	}
	l.Enabled = true
	d.object(n, l.keys())
	return l, true
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
