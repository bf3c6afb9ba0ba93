package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const toolsCallAbout = `Calls one tool and prints the text of its result. The tool's arguments are flags
behind its NAME, as in: tools call search --query tea --limit 5. A list is a flag
that is repeated, an object is JSON, and an argument that is called as a flag of
this command is --arg.ARGUMENT. tools call NAME --help shows the flags of a tool.`

// A toolCall is the command line of tools call.
type toolCall struct {
	*argFlags
	json bool   // --json
	out  string // --out
}

func runToolsCall(ctx context.Context, args []string, std streams) error {
	c := toolCall{argFlags: newArgFlags(newFlags("tools call", "tools call NAME [--ARGUMENT VALUE]… [flags] [-- COMMAND [ARG…]]", toolsCallAbout, std))}
	c.BoolVar(&c.json, "json", false, "print the whole MCP result")
	c.addContext()
	c.addProfile()
	c.StringVar(&c.out, "out", "", "save images, audio and other binary content of the result in this `DIR`")
	var object json.RawMessage
	c.check = func(words []string) (err error) {
		switch len(words) {
		case 0:
			return usagef("tools call: expected the name of a tool (mcpbridge tools list shows the names)")
		case 1:
			object, err = c.object(ctx, std.in)
			return err
		}
		return usagef("tools call: unexpected argument %s: the arguments of the tool are flags, as in --city Rome, or one JSON object, as in --args '{\"city\": \"Rome\"}'", hint.Quote(words[1]))
	}
	cfg, words, err := c.parse(args)
	if err != nil {
		return err
	}
	p, list, err := openWaiting(ctx, c.sourceFlags, cfg, std.err)
	defer p.close()
	if err != nil {
		return err
	}
	if e := p.misspelled(words[0], list); e != nil {
		return e
	}
	item, known := list.Find(words[0])
	switch {
	case c.help && known:
		tool := item.Tool()
		c.describe(std.out, item.Key, tool.Description, tool.InputSchema)
		return nil
	case len(c.given) > 0 && known:
		if object, err = c.arguments(item.Key, item.Tool().InputSchema, object); err != nil {
			return err
		}
	case len(c.given) > 0 || c.help: // an unlisted tool can be called with --args only
		return p.explain(toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", words[0]), c.sourceFlags, std.err)
	}
	return c.call(ctx, p, words[0], object, std)
}

// call calls a tool and prints the result.
func (c *toolCall) call(ctx context.Context, p *program, name string, arguments json.RawMessage, std streams) error {
	params, err := callParams(name, arguments)
	if err != nil {
		return err
	}
	reply := p.own.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: params, Target: name})
	if reply.Err != nil {
		return p.explain(reply.Err, c.sourceFlags, std.err)
	}
	result := &toolformat.Result{JSON: reply.Result}
	if c.json {
		fmt.Fprintf(std.out, "%s\n", result.JSON)
	} else if err := printResult(std.out, result, c.out); err != nil {
		return err
	}
	if result.IsError() {
		return &exitError{code: exitFailed}
	}
	return nil
}

// misspelled returns an error for a name that an only server does not list, but almost, or that has the
// prefix which its tools have beside those of another server. The server would be asked to call any other one.
func (p *program) misspelled(name string, list *bridge.List) error {
	servers := p.Servers()
	if _, ok := list.Find(name); ok || len(servers) != 1 {
		return nil
	}
	var names []string
	for _, it := range list.Items {
		names = append(names, it.Key)
	}
	if near := toolformat.Closest(strings.TrimPrefix(name, toolformat.Prefix(servers[0].Name)), names); near != "" {
		return toolformat.Errorf(toolformat.NotFound, "unknown tool: %s (did you mean %s?)", name, near)
	}
	return nil
}

// explain adds the cause to a call's error, or the reason why there is no such tool.
func (p *program) explain(e *toolformat.Error, f *sourceFlags, w io.Writer) error {
	if (e.Code == toolformat.Unavailable || e.Code == toolformat.Internal) && e.Cause != nil {
		return &exitError{callExit(e), fmt.Sprintf("%s (%v)", e.Message, e.Cause)}
	}
	if e.Code != toolformat.NotFound || e.Raw != nil {
		return e
	}
	_ = p.report(w)
	if strings.Contains(e.Message, "did you mean") {
		return e
	}
	return usagef("%s (mcpbridge tools list%s shows the names)", e.Message, f.sameView())
}

// callParams returns the params of a call.
func callParams(name string, arguments json.RawMessage) (*wire.Params, error) {
	b := wire.AppendString([]byte(`{"name":`), name)
	b = append(append(append(b, `,"arguments":`...), arguments...), '}')
	params, err := wire.SplitParams(b)
	if err != nil {
		return nil, usagef("tools call: --args: %v", err)
	}
	return &params, nil
}
