package ledger

import (
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// at is a time as errors tell it.
func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// unknown is the error for a call that is the same as one before it. A model reads it.
func unknown(c *Call) *toolformat.Error {
	return toolformat.Errorf(toolformat.Denied, "tool %s was called with the same arguments at %s, and whether it ran is not known: look before you call it again; the next such call is carried out", c.Tool, at(c.Begun))
}

// unknownKey is the error for a call with the idempotency key of one before it. A model reads it.
func unknownKey(c *Call) *toolformat.Error {
	return toolformat.Errorf(toolformat.Denied, "tool %s was called with this idempotency key at %s, and whether it ran is not known: look before you call again with a new key", c.Tool, at(c.Begun))
}

// ranBefore is the error for a call that has run, and whose result is not kept.
func ranBefore(c *Call) *toolformat.Error {
	return toolformat.Errorf(toolformat.Denied, "tool %s has run with this idempotency key at %s and is not called again; its result is no longer known", c.Tool, at(c.Begun))
}

// otherArguments is the error for a key that was used with other arguments.
func otherArguments(c *Call) *toolformat.Error {
	return toolformat.Errorf(toolformat.Invalid, "tool %s was called with this idempotency key and other arguments at %s: a new call needs a new key", c.Tool, at(c.Begun))
}

// unwritten is the error for a call that cannot be written down.
func (b *Book) unwritten(c *Call, cause error) *toolformat.Error {
	e := toolformat.Errorf(toolformat.Unavailable, "tool %s is not called, as that cannot be written to the ledger %s: whoever runs the bridge must make it writable", c.Tool, b.file.Path).Because(cause)
	e.NotRun = true
	return e
}
