package toolformat

import (
	"encoding/json"
	"errors"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
)

// A Binder makes of the arguments that a caller sends for a tool those that the tool is
// carried out with. It reads them once and checks them once. It is immutable and may be
// used from many goroutines.
type Binder struct{ binder *check.Binder }

// NewBinder makes a Binder of the schema of a tool's arguments. hidden are the properties
// that no caller sees or sets, in any letter case. The notes are those of NewChecker.
func NewBinder(schema json.RawMessage, hidden []string) (*Binder, []Note, error) {
	binder, notes, err := check.NewBinder(schema, hidden)
	if err != nil {
		return nil, nil, err
	}
	return &Binder{binder}, notes, nil
}

// Visible is the schema without what is hidden: what a caller gets to see.
func (b *Binder) Visible() json.RawMessage { return b.binder.Visible() }

// Bind makes the arguments of one call. What (*Checker).Arguments puts right is right;
// properties that are not there, and have a default, have it. What stands for a hidden
// property is what value says, whatever was sent; with a nil value nothing stands there, and
// the rest is checked as a caller sees it. Arguments that need nothing keep their bytes.
//
// What the caller can put right is a *CheckError, which knows nothing of what is hidden.
// A hidden value that is missing or does not fit is a *ContextError.
func (b *Binder) Bind(tool string, raw json.RawMessage, value func(name string) (json.RawMessage, bool)) (json.RawMessage, error) {
	bound, err := b.binder.Bind(tool, raw, value)
	var unusable *check.SchemaError
	if errors.As(err, &unusable) {
		err = uncheckable(tool, unusable)
	}
	return bound, err
}

// uncheckable is the error for a schema of arguments that does not compile.
func uncheckable(tool string, err error) *Error {
	return Errorf(Internal, "tool %s: its arguments cannot be checked: %v", tool, err)
}

// A ContextError says which hidden properties keep a tool from being called. It never
// holds a value.
type ContextError = check.ContextError
