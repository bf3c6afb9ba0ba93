package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

func runInit(ctx context.Context, args []string, std streams) error {
	f := newFlags("init", "init [CLIENT…] [flags]", "Sets the bridge up: finds the MCP clients of this computer, or takes those that are named, copies\n"+
		"their servers into one config, registers the bridge in them and, if you like, turns their own\nservers off. mcpbridge disconnect undoes that.", std)
	path := f.String("config", "", "copy into this `FILE` (default ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder)")
	yes := f.Bool("yes", false, "answer every question with yes")
	f.onceFlag()
	e, named, err := newClientEditor(f, args, std)
	switch {
	case err != nil:
		return err
	case *yes, e.dryRun:
	case e.asJSON || !output.IsTerminal(std.in):
		return usagef("init: asks before it changes anything: run it on a terminal, or mcpbridge init --yes (--dry-run shows what that would do)")
	}
	if named == nil {
		named = e.found(isHome)
	}
	if len(named) == 0 {
		return usagef("init: no MCP client was found on this computer (known: %s)", clientNames())
	}
	target, err := configPath(*path)
	if err != nil {
		return err
	}
	in := terminal.NewLines(std.in)
	return e.setUp(ctx, named, target, func(question string) (bool, error) {
		if *yes || e.dryRun {
			return true, nil
		}
		return e.agrees(ctx, in, question)
	})
}

// setUp copies the servers of clients into the config target, registers the bridge in them and turns their own servers
// off, as far as ask agrees.
func (e *clientEditor) setUp(ctx context.Context, named []*clients.Client, target string, ask func(question string) (bool, error)) error {
	var titles []string
	for _, c := range named {
		titles = append(titles, c.Title)
	}
	if ok, err := ask(fmt.Sprintf("Found %s. Copy their servers into %s, and connect each once?", strings.Join(titles, ", "), target)); !ok {
		return err
	}
	i, files, result, err := e.importServers(ctx, target, named)
	if err != nil {
		return err
	}
	cfg, err := e.importedConfig(target, i)
	switch {
	case err != nil:
		return err
	case cfg == nil && e.dryRun:
		return e.end(result)
	case cfg == nil:
		return usagef("init: the clients have no servers: mcpbridge add NAME -- COMMAND adds one, and mcpbridge connect registers the bridge")
	}
	if ok, err := ask("Register the bridge in them?"); err != nil {
		return err
	} else if !ok {
		return e.end(result)
	}
	for _, c := range named {
		if err := e.connect(c, cfg, connectFlags{}); err != nil {
			return err
		}
	}
	connected := len(e.results)
	if len(i.Taken) > 0 {
		ok, err := ask("Turn their own servers off, so that nothing runs twice?")
		if err != nil {
			return err
		} else if ok {
			if err := e.moveServers(ctx, i, files, result); err != nil {
				return err
			}
		}
	}
	result.Moved = append(result.Moved, e.results[connected:]...)
	result.Connected = e.results[:connected]
	if !e.asJSON && !e.dryRun {
		output.Item(e.std.out, "", fmt.Sprintf("Restart the clients. mcpbridge check%s tells whether every server works, mcpbridge disconnect undoes it all.", e.flags.sameConfig()))
	}
	return e.end(result)
}

// importedConfig returns the config that an import has written, or would write in a dry run; nil if there is none.
func (e *clientEditor) importedConfig(path string, i *clients.Import) (*config.Config, error) {
	if _, err := os.Stat(path); err == nil {
		return loadForClients(e.flags, path)
	}
	if e.dryRun && len(i.Added) > 0 {
		return &config.Config{Path: path}, nil
	}
	return nil, nil
}

// agrees asks a question until the answer is clear. Enter is yes, the end of the input no. The error is that
// of ctx.
func (e *clientEditor) agrees(ctx context.Context, in *terminal.Lines, question string) (bool, error) {
	for {
		output.Question(e.std.err, terminal.Inline(question)+" [Y/n]")
		line, err := in.Read(ctx)
		if err != nil {
			return false, ctx.Err()
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "", "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}
