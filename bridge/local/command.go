package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	// termGrace is the time between TERM and KILL for a command whose call is over.
	termGrace = 500 * time.Millisecond
	// outputWait is the interval at which the rest of standard output is looked for after a command
	// has ended with its descendants: a process that is out of reach may hold it open.
	outputWait = 100 * time.Millisecond
)

// A command is the compiled command of a Spec.
type command struct {
	program   process.Command // without Args
	args      []template
	dashes    int  // index in args of the "--" after which nothing is an option, else len(args)
	stdin     bool // whether it gets the arguments on standard input
	hasOutput bool // the definition has an output schema
	maxBytes  int
}

func (b *backend) command(definition toolformat.Tool, s *Spec) (bridge.Tool, []toolformat.Note, error) {
	c := &command{stdin: s.Stdin == nil || *s.Stdin, hasOutput: definition.OutputSchema != nil, maxBytes: int(s.MaxBytes)}
	if err := c.compile(s); err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("command: %w", err)
	}
	policy, err := s.Sandbox.policy(b.dir)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	log := b.log.With("tool", definition.Name)
	c.program = process.Command{
		Path:       s.Command[0],
		Dir:        below(b.dir, s.Dir),
		Env:        process.Environ(s.Env),
		Stderr:     func(line string) { log.Info(line, "from", "stderr") },
		Supervisor: b.supervisor,
		Grace:      process.Grace{Stdin: -1, Term: termGrace},
		Limits:     s.Limits.ofProcess(),
		Sandbox:    policy,
	}
	if filepath.Base(s.Command[0]) != s.Command[0] {
		path, err := filepath.Abs(below(b.dir, s.Command[0]))
		if err != nil {
			return bridge.Tool{}, nil, fmt.Errorf("command: %w", err)
		}
		c.program.Path = path
	}
	t := s.tool(definition, c.call)
	for _, arg := range c.args {
		for _, p := range arg {
			if p.name != "" {
				t.Placeholders = append(t.Placeholders, p.name)
			}
		}
	}
	notes := native.NewNotes(definition, b.hidden)
	if policy != nil && b.own != nil {
		if path := policy.Changes(b.own()); path != "" {
			notes.Add("/local/sandbox/write", ruleSandbox, "the program can change %s, and so the config, definitions of tools or the state of the bridge, which say what it may do: keep these elsewhere", path)
		}
	}
	return t, c.notes(notes), nil
}

// below returns path, relative to dir unless it is absolute.
func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// compile parses the elements, and refuses those in which an argument could become more than an
// argument.
func (c *command) compile(s *Spec) error {
	if len(s.Command) == 0 || s.Command[0] == "" {
		return errors.New(`empty: expected the program and its arguments, such as ["git", "log", "--", "{path}"]`)
	}
	if !parseTemplate(s.Command[0]).isFixed() {
		return fmt.Errorf("an argument cannot choose which program runs: expected a fixed name, got %q", native.Shorten(s.Command[0]))
	}
	for i, element := range s.Command {
		switch t := parseTemplate(element); {
		case strings.Contains(element, "\x00"):
			return fmt.Errorf("element %d contains a NUL, which no command can take", i)
		case !t.isFixed() && isCode(s.Command, i):
			return fmt.Errorf(`element %d, %q: %s would run an argument as code; pass it as an element of its own after the code, which reads it as "$1", sys.argv[1] or the like, or read it from standard input`, i, element, s.Command[0])
		case i > 0:
			c.args = append(c.args, t)
		}
	}
	if c.stdin && executesInput(s.Command) {
		return fmt.Errorf(`%s would run standard input, which has the arguments, as code: name its program or text, or set "stdin": false`, s.Command[0])
	}
	c.dashes = dataFrom(s.Command) - 1
	return nil
}

// call implements bridge.Tool.Call. It runs the command once.
func (c *command) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	args, err := c.expand(arguments)
	if err != nil {
		return nil, err
	}
	run := c.program
	run.Args = args
	if req, _ := bridge.RequestOf(ctx); req != nil && req.Secrets != nil {
		run.Stderr = func(line string) { c.program.Stderr(req.Secrets.Hide(line)) }
	}
	child, err := process.Start(run)
	if err != nil {
		return nil, err
	}
	written, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		if c.stdin {
			// An error means nothing: a command need not read it.
			_, _ = child.Stdin.Write(append(slices.Clip(arguments), '\n'))
		}
		child.Stdin.Close()
	}()
	out := &output{limit: c.maxBytes}
	go func() {
		defer close(read)
		_, _ = io.Copy(out, child.Stdout) // until its end, or until it is closed
	}()
	defer func() {
		child.Stop() // unblocks both
		<-written
		<-read
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-child.Done():
	}
	if err := awaitOutput(ctx, child, read); err != nil {
		return nil, err
	}
	if err := child.Err(); err != nil {
		return out.failure(exitText(err, child.Tail())), nil
	}
	return out.result(c.hasOutput), nil
}

// awaitOutput waits until all that a command wrote before its end has been read. What a process
// that outlives it writes later is not waited for.
func awaitOutput(ctx context.Context, child *process.Process, read <-chan struct{}) error {
	for {
		select {
		case <-read:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(outputWait):
			if !child.Pending() {
				child.Stop() // ends the reading, after what has been taken from the pipe
				<-read
				return nil
			}
		}
	}
}

// expand returns the argument vector of a call.
func (c *command) expand(arguments json.RawMessage) ([]string, error) {
	values := maps.Collect(wire.Members(arguments)) // the last of duplicates counts, as in decoders
	args := make([]string, 0, len(c.args))
	for i, t := range c.args {
		switch element, ok, err := t.expand(values, i > c.dashes); {
		case err != nil:
			return nil, err
		case ok:
			args = append(args, element)
		}
	}
	return args, nil
}

// exitText describes how a command ended, in the words of package process: "exit status 3: " and
// the last lines of its standard error.
func exitText(err error, tail string) string {
	how := "the command failed: "
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		how = "the command ended for an unknown reason: "
	}
	if tail != "" {
		tail = ": " + tail
	}
	return how + err.Error() + tail
}

// The rules of a tool's notes.
const (
	rulePlaceholder = "placeholder" // a placeholder is not a property, or only an optional one
	ruleOption      = "option"      // an argument chooses the option
	ruleUnused      = "unused"      // the command never gets the property
	ruleProgram     = "program"     // the program does not exist yet
	ruleSandbox     = "sandbox"     // the program can leave its sandbox
)

// notes lists what is legal in a definition and probably a mistake.
func (c *command) notes(n *native.Notes) []toolformat.Note {
	if _, err := c.program.Lookup(); err != nil {
		n.Add("/local/command/0", ruleProgram, "%v: calls fail until it exists", err)
	}
	used := map[string]bool{}
	for i, t := range c.args {
		at := fmt.Sprintf("/local/command/%d", i+1)
		for k, p := range t {
			if p.name == "" {
				continue
			}
			switch {
			case used[p.name]:
			case !n.Known(p.name):
				n.Add(at, rulePlaceholder, "the placeholder {%s} is not a property; literal text in such braces is {{%s}}", p.name, p.name)
			case t[0].name != "" && n.IsOptional(p.name):
				n.Add(at, rulePlaceholder, "%s is not required: a call without it fails, as the element begins with a placeholder", p.name)
			}
			used[p.name] = true
			if k == 1 && i < c.dashes && strings.Trim(t[0].text, "-") == "" && t[0].text != "" {
				n.Add(at, ruleOption, "the argument %s chooses the option of the program", p.name)
			}
		}
	}
	if c.stdin {
		return n.All
	}
	for _, name := range n.Names() {
		if !used[name] {
			n.AddProperty(name, ruleUnused, "%s is not in the command, which gets no arguments on standard input either", name)
		}
	}
	return n.All
}
