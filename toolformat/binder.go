package toolformat

import (
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
)

// A Binder turns the arguments that a caller sends for a tool into those that the tool is called
// with: repaired, with defaults and hidden values, and valid. It is immutable and may be used from
// many goroutines.
type Binder struct{ binder *check.Binder }

// NewBinder compiles the schema of a tool's arguments. hidden names the properties that no caller
// sees or sets, in any letter case. The notes are those of [NewChecker].
func NewBinder(schema json.RawMessage, hidden []string) (*Binder, []Note, error) {
	binder, notes, err := check.NewBinder(schema, hidden)
	if err != nil {
		return nil, nil, err
	}
	return &Binder{binder}, notes, nil
}

// Visible returns the schema without the hidden properties: what a caller gets to see.
func (b *Binder) Visible() json.RawMessage { return b.binder.Visible() }

// Bind returns the arguments of one call, repaired as by [Checker.Arguments]. Missing properties get
// their defaults. Hidden properties get the values that value returns, whatever was sent; with a nil
// value they get none, and the rest is checked as the caller sees it. Arguments that need no change
// keep their bytes.
//
// The error is a [*CheckError] for what the caller can correct, which tells nothing about hidden
// properties, or a [*ContextError] for a hidden value that is missing or invalid.
func (b *Binder) Bind(tool string, raw json.RawMessage, value func(name string) (json.RawMessage, bool)) (json.RawMessage, error) {
	bound, err := b.binder.Bind(tool, raw, value)
	if unusable, ok := err.(*check.SchemaError); ok { // not errors.As, which costs each call an allocation
		err = unusableSchema(tool, unusable)
	}
	return bound, err
}

// unusableSchema returns the error for a schema of arguments that does not compile.
func unusableSchema(tool string, err error) *Error {
	return Errorf(Internal, "tool %s: its arguments cannot be checked: %v", tool, err)
}

// A ContextError names the hidden properties that keep a tool from being called. It never holds a
// value. Its fields are Names, and Missing: true if they have no value, false if their values are
// invalid.
type ContextError = check.ContextError
