package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/toolargs"
)

// An argFlags are the flags of a command that also takes the arguments of a tool or a prompt as flags.
type argFlags struct {
	*sourceFlags
	args  string   // --args
	given []string // flags of the tool, with their values
	help  bool     // describe the tool instead
}

func newArgFlags(f *sourceFlags) *argFlags {
	c := &argFlags{sourceFlags: f}
	c.StringVar(&c.args, "args", "{}", "the arguments, a `JSON` object, whose members other flags override; - reads it from standard input")
	c.split = c.splitArgs
	return c
}

// splitArgs returns the arguments without the flags of the tool, which it keeps. Those stand behind the
// tool's name, and are not flags of the command.
func (c *argFlags) splitArgs(args []string) (own []string) {
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
			c.given, waiting = append(c.given, word), !hasValue
		case isFlag:
			own, waiting = append(own, word), false
			if flag != nil && !hasValue && takesValue(flag) && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		case waiting: // -5, or text that begins with a dash
			c.given, waiting = append(c.given, word), false
		default:
			own = append(own, word)
			named = named || !strings.HasPrefix(word, "-")
		}
	}
	return own
}

func takesValue(flag *pflag.Flag) bool { return flag.NoOptDefVal == "" }

// flagsOf returns the flags for a schema.
func (c *argFlags) flagsOf(schema json.RawMessage) *toolargs.Flags {
	return toolargs.New(schema, func(name string) bool { return name == "help" || c.Lookup(name) != nil })
}

// arguments returns the object of --args with the values of the flags for a schema. name is that of
// the tool.
func (c *argFlags) arguments(name string, schema, object json.RawMessage) (json.RawMessage, error) {
	var own []string
	c.VisitAll(func(flag *pflag.Flag) { own = append(own, flag.Name) })
	flags := c.flagsOf(schema)
	err := flags.Parse(c.given, own)
	if err == nil {
		object, err = flags.Arguments(object)
	}
	if err != nil {
		return nil, usagef("%s %s: %v (see mcpbridge %s %s --help)", c.Name(), name, err, c.Name(), name)
	}
	return object, nil
}

// describe prints the help of a tool.
func (c *argFlags) describe(w io.Writer, name, about string, schema json.RawMessage) {
	for line := range strings.Lines(terminal.Clean(strings.TrimSpace(about))) {
		output.HelpItem(w, "", strings.TrimRight(line, "\n"))
	}
	fmt.Fprintln(w)
	output.Usage(w, "Usage: mcpbridge ", c.Name()+" "+terminal.Inline(name)+" [flags]")
	if usage := c.flagsOf(schema).Usage(); usage != "" {
		fmt.Fprintln(w, "\nArguments:")
		output.Flags(w, usage)
	}
	fmt.Fprintln(w, "\nFlags of the command:")
	output.Flags(w, c.FlagUsages())
}

// object returns the JSON object of --args, which in may have.
func (c *argFlags) object(ctx context.Context, in io.Reader) (json.RawMessage, error) {
	raw := []byte(c.args)
	if c.args == "-" {
		var err error
		if raw, err = readInput(ctx, in, io.ReadAll); err != nil {
			return nil, err
		}
	}
	if err := wire.Valid(raw); err != nil {
		return nil, usagef("%s: --args: %v", c.Name(), err)
	}
	if s := strings.TrimSpace(string(raw)); s[0] != '{' {
		return nil, usagef("%s: --args: expected a JSON object, got %.40s", c.Name(), s)
	}
	return raw, nil
}
