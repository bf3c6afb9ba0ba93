package toolformat

import (
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
)

// A Checker checks values against a JSON Schema: a tool's arguments, or its structured
// result. It is immutable and may be used from many goroutines.
//
// A "format" is an annotation and refuses nothing, in every draft: it is in 2020-12
// (validation, 7.2.1), and what a server takes for a date is for the server to say.
type Checker struct{ schema *check.Checker }

// NewChecker compiles a schema: of the draft that its $schema names, or else of 2020-12.
// One that is not valid in its draft is repaired first, as it is for providers.
//
// The notes name what the checker does not look at: references to what is not in the
// schema, as nothing is ever loaded, patterns that Go's regular expressions do not have,
// and what is no valid use of a keyword. All the rest is checked.
func NewChecker(schema json.RawMessage) (c *Checker, notes []Note, err error) {
	compiled, notes, err := check.NewChecker(schema)
	if err != nil {
		return nil, nil, err
	}
	return &Checker{compiled}, notes, nil
}

// Check says what is wrong with a value: nil, or a *CheckError.
func (c *Checker) Check(instance json.RawMessage) error { return c.schema.Check(instance) }

// CheckResult says what is wrong with a result of a tool whose output schema the checker
// is of: nil, or a *CheckError. A tool with an output schema has to give structured content
// that conforms to it (MCP 2025-06-18, tools, "Output Schema"), unless it failed.
func (c *Checker) CheckResult(r *Result) error {
	members := r.members()
	if string(members["isError"]) == "true" {
		return nil
	}
	return c.schema.Structured(members["structuredContent"])
}

// Arguments makes of a model's arguments for a tool those that the schema asks for, and
// checks them; an error is a *CheckError. Arguments that need nothing keep their bytes.
//
// What is not there or null becomes {}, and a string that holds an object that object.
// The rest is only put right where the schema does not accept it as it is:
//   - JSON in a string, where an object or an array is wanted;
//   - a number, true, false or null in a string, where that is wanted;
//   - null for a property, which is left out: OpenAI's strict mode makes models send it for
//     what is optional.
//
// A whole number written as 12.0 or 1e1, as Gemini sends all of them, is an integer to
// JSON Schema (2020-12 validation, 6.1.1) and to few others: it becomes 12 where an integer is
// wanted.
func (c *Checker) Arguments(tool string, raw json.RawMessage) (json.RawMessage, error) {
	return c.schema.Arguments(tool, raw, nil)
}

// A CheckError is all that is wrong with a value, in words that a model can act on. What
// a model sent is answered with a Result that has failed, not with an Error: see TextResult.
type CheckError = check.Error
