package bridge

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// reply returns the caller's reply for an outcome.
func (c *nativeCall) reply(o outcome) Reply {
	var e *toolformat.Error
	switch {
	case errors.As(o.err, &e):
		return Failed(e)
	case o.err != nil:
		o.result = toolformat.TextResult(o.err.Error(), true)
	case o.result == nil || len(o.result.JSON) == 0:
		o.result = &toolformat.Result{JSON: json.RawMessage(`{"content":[]}`)}
	}
	return Result(c.checkResult(o.result).JSON, nil)
}

// checkResult returns a result that fits the tool's output schema and the limit on results.
func (c *nativeCall) checkResult(r *toolformat.Result) *toolformat.Result {
	name, output, most := c.tool.Name, c.tool.output, c.session.native.opts.MaxResult
	if output != nil {
		if err := output.CheckResult(r); err != nil {
			return c.invalidResult(err)
		}
	}
	cut := r.Truncate(most)
	switch {
	case len(cut.JSON) > 8*most:
		return toolformat.TextResult(fmt.Sprintf("the result of tool %s has %d bytes, and %d is the most: ask for less", name, len(cut.JSON), 8*most), true)
	case cut != r && output != nil && !r.IsError():
		return toolformat.TextResult(fmt.Sprintf("the result of tool %s has more than %d characters of text, and cannot be cut as it has an output schema: ask for less", name, most), true)
	}
	return cut
}

// invalidResult returns the result that reports one that does not fit its tool's output schema. The
// log gets no value of it.
func (c *nativeCall) invalidResult(err error) *toolformat.Result {
	subject := "the result of tool " + c.tool.Name + " does not fit its output schema"
	var check *toolformat.CheckError
	if !errors.As(err, &check) || len(check.Faults) == 0 {
		return toolformat.TextResult(subject, true)
	}
	c.session.native.opts.Log.Warn("a result does not fit the tool's output schema", "tool", c.tool.Name, "path", check.Faults[0].Path, "rule", check.Faults[0].Rule)
	check.Subject = subject
	return toolformat.TextResult(check.Error(), true)
}
