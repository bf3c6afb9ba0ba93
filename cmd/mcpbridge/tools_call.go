package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/toolargs"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const toolsCallAbout = `Calls one tool and prints the text of its result. The tool's arguments are flags
behind its NAME, as in: tools call search --query tea --limit 5. A list is a flag
that is repeated, an object is JSON, and an argument that is called as a flag of
this command is --arg.ARGUMENT. tools call NAME --help shows the flags of a tool.`

// A toolCall is the command line of tools call.
type toolCall struct {
	*sourceFlags
	args  string   // --args
	json  bool     // --json
	out   string   // --out
	flags []string // those of the tool, with their values
	help  bool     // describe the tool instead
}

func runToolsCall(ctx context.Context, args []string, std streams) error {
	c := &toolCall{sourceFlags: newFlags("tools call", "tools call NAME [--ARGUMENT VALUE]… [flags] [-- COMMAND [ARG…]]", toolsCallAbout, std)}
	c.StringVar(&c.args, "args", "{}", "the arguments, a `JSON` object, whose members the tool's flags override; - reads it from standard input")
	c.BoolVar(&c.json, "json", false, "print the whole MCP result")
	c.addContext()
	c.StringVar(&c.out, "out", "", "save images, audio and other binary content of the result in this `DIR`")
	c.split = c.splitArgs
	var object json.RawMessage
	c.check = func(words []string) (err error) {
		switch len(words) {
		case 0:
			return usagef("tools call: expected the name of a tool (mcpbridge tools list shows the names)")
		case 1:
			object, err = argumentsOf(c.args, std.in)
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
		c.describe(std, &item)
		return nil
	case len(c.flags) > 0 && known:
		if object, err = c.arguments(&item, object); err != nil {
			return err
		}
	case len(c.flags) > 0 || c.help: // an unlisted tool can be called with --args only
		return p.explain(toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", words[0]), std.err)
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
		return p.explain(reply.Err, std.err)
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

// splitArgs returns the arguments without the flags of the tool, which it keeps. Those stand behind the
// tool's name, and are not flags of the command.
func (c *toolCall) splitArgs(args []string) (own []string) {
	named, waiting := false, false // for the value of a tool's flag
	for i := 0; i < len(args); i++ {
		word := args[i]
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, hasValue := strings.Cut(name, "=")
		flag := c.Lookup(name)
		switch {
		case word == "--":
			return append(own, args[i:]...)
		case named && (word == "--help" || word == "-h"):
			c.help = true
		case isFlag && named && flag == nil:
			c.flags, waiting = append(c.flags, word), !hasValue
		case isFlag:
			own, waiting = append(own, word), false
			if flag != nil && !hasValue && takesValue(flag) && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		case waiting && (!strings.HasPrefix(word, "-") || isNumber(word) || word == "-"):
			c.flags, waiting = append(c.flags, word), false
		default:
			own = append(own, word)
			named = named || !strings.HasPrefix(word, "-")
		}
	}
	return own
}

func takesValue(flag *pflag.Flag) bool { return flag.NoOptDefVal == "" }

func isNumber(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// toolFlags returns the flags of a tool.
func (c *toolCall) toolFlags(item *bridge.Item) *toolargs.Flags {
	return toolargs.New(item.Tool().InputSchema, func(name string) bool { return name == "help" || c.Lookup(name) != nil })
}

// arguments returns object with the values of the tool's flags.
func (c *toolCall) arguments(item *bridge.Item, object json.RawMessage) (json.RawMessage, error) {
	var own []string
	c.VisitAll(func(flag *pflag.Flag) { own = append(own, flag.Name) })
	flags := c.toolFlags(item)
	err := flags.Parse(c.flags, own)
	if err == nil {
		object, err = flags.Arguments(object)
	}
	if err != nil {
		return nil, usagef("tools call %s: %v (see mcpbridge tools call %s --help)", item.Key, err, item.Key)
	}
	return object, nil
}

// describe prints the help of a tool.
func (c *toolCall) describe(std streams, item *bridge.Item) {
	columns := min(output.Width(std.out), 100)
	if columns == 0 {
		columns = 80
	}
	for line := range strings.Lines(terminal.Clean(strings.TrimSpace(item.Tool().Description))) {
		output.Item(std.out, "", strings.TrimRight(line, "\n"))
	}
	fmt.Fprintf(std.out, "\nUsage: mcpbridge tools call %s [flags]\n", terminal.Inline(item.Key))
	if usage := c.toolFlags(item).Usage(columns); usage != "" {
		fmt.Fprintf(std.out, "\nArguments of the tool:\n%s", terminal.Clean(usage))
	}
	fmt.Fprintf(std.out, "\nFlags of every call:\n%s", c.FlagUsagesWrapped(columns))
}

// misspelled returns an error for a name that an only server does not list, but almost. The server
// would be asked to call any other one.
func (p *program) misspelled(name string, list *bridge.List) error {
	if _, ok := list.Find(name); ok || len(p.Servers()) != 1 {
		return nil
	}
	var names []string
	for _, it := range list.Items {
		names = append(names, it.Key)
	}
	if near := toolformat.Closest(name, names); near != "" {
		return toolformat.Errorf(toolformat.NotFound, "unknown tool: %s (did you mean %s?)", name, near)
	}
	return nil
}

// explain adds the cause to a call's error, or the reason why there is no such tool.
func (p *program) explain(e *toolformat.Error, w io.Writer) error {
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
	return usagef("%s (mcpbridge tools list shows the names)", e.Message)
}

// argumentsOf returns the JSON object of --args, which in may have.
func argumentsOf(arguments string, in io.Reader) (json.RawMessage, error) {
	raw := []byte(arguments)
	if arguments == "-" {
		var err error
		if raw, err = io.ReadAll(in); err != nil {
			return nil, err
		}
	}
	if err := wire.Valid(raw); err != nil {
		return nil, usagef("tools call: --args: %v", err)
	}
	if s := strings.TrimSpace(string(raw)); s[0] != '{' {
		return nil, usagef("tools call: --args: expected a JSON object, got %.40s", s)
	}
	return raw, nil
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
