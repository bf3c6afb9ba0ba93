package main

import (
	"context"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func runPromptsList(ctx context.Context, args []string, std streams) error {
	return runList(ctx, newFlags("prompts list", "prompts list [flags] [-- COMMAND [ARG…]]", "Lists the prompts of all servers, under the names that clients see.", std), bridge.Prompts, args, std)
}

func runResourcesList(ctx context.Context, args []string, std streams) error {
	return runList(ctx, newFlags("resources list", "resources list [flags] [-- COMMAND [ARG…]]", "Lists the resources of all servers, by their URIs.", std), bridge.Resources, args, std)
}

func runResourcesTemplates(ctx context.Context, args []string, std streams) error {
	return runList(ctx, newFlags("resources templates", "resources templates [flags] [-- COMMAND [ARG…]]",
		"Lists the templates of all servers: URIs of resources with variables to fill in.", std), bridge.Templates, args, std)
}

// runList lists what servers have of a kind.
func runList(ctx context.Context, f *sourceFlags, kind bridge.ListKind, args []string, std streams) error {
	asJSON := f.Bool("json", false, "print the definitions as a JSON array, one a line")
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	p, _, err := openWaiting(ctx, f, cfg, std.err)
	defer p.close()
	if err != nil {
		return err
	}
	list, err := listOf(ctx, p.own, kind)
	if err != nil {
		return err
	}
	if *asJSON {
		err = printDefinitions(std.out, list)
	} else {
		err = printItems(std, list)
	}
	if err != nil {
		return err
	}
	if err = p.report(std.err); err == nil && len(list.Items) == 0 && !*asJSON {
		what := kind.Member()
		if kind == bridge.Templates {
			what = "resource templates"
		}
		output.Item(std.err, "", "there are no "+what)
	}
	return err
}

// listOf returns what the servers of a session have of a kind. An only server without that kind may refuse to
// list it, which clients are told.
func listOf(ctx context.Context, s bridge.Session, kind bridge.ListKind) (*bridge.List, error) {
	list, err := s.List(ctx, kind)
	if err != nil && kind != bridge.Tools && toolformat.AsError(err).Code == toolformat.Unsupported {
		return bridge.NewList(kind, nil), nil
	}
	return list, err
}

// printItems prints a line for each item: its key, and its description or title.
func printItems(std streams, list *bridge.List) error {
	columns := output.Width(std.out)
	var rows [][]string
	for _, it := range list.Items {
		var about string
		for _, member := range []string{"description", "title", "name"} {
			if text, _ := wire.Text(wire.Lookup(it.Raw, member)); about == "" && text != it.Key {
				about = strings.TrimSpace(text)
			}
		}
		if columns > 0 {
			about, _, _ = strings.Cut(about, "\n")
		}
		rows = append(rows, []string{it.Key, about})
	}
	return output.Table(std.out, columns, rows)
}
