package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const promptsGetAbout = `Gets one prompt and prints the text of its messages. The prompt's arguments are
flags behind its NAME, as in: prompts get review --language go. prompts get NAME
--help shows the flags of a prompt.`

func runPromptsGet(ctx context.Context, args []string, std streams) error {
	c := newArgFlags(newFlags("prompts get", "prompts get NAME [--ARGUMENT VALUE]… [flags] [-- COMMAND [ARG…]]", promptsGetAbout, std))
	asJSON := c.Bool("json", false, "print the whole MCP result")
	var object json.RawMessage
	c.check = func(words []string) (err error) {
		switch len(words) {
		case 0:
			return usagef("prompts get: expected the name of a prompt (mcpbridge prompts list shows the names)")
		case 1:
			object, err = c.object(ctx, std.in)
			return err
		}
		return usagef("prompts get: unexpected argument %s: the arguments of a prompt are flags, as in --language go", hint.Quote(words[1]))
	}
	cfg, words, err := c.parse(args)
	if err != nil {
		return err
	}
	p, _, err := openWaiting(ctx, c.sourceFlags, cfg, std.err)
	defer p.close()
	if err != nil {
		return err
	}
	list, err := listOf(ctx, p.own, bridge.Prompts)
	if err != nil {
		return err
	}
	item, known := list.Find(words[0])
	if !known {
		return p.unknownItem(list, "prompt", words[0], "prompts list"+c.sameView(), std.err)
	}
	schema := promptSchema(item.Raw)
	if c.help {
		about, _ := wire.Text(wire.Lookup(item.Raw, "description"))
		c.describe(std.out, item.Key, about, schema)
		return nil
	}
	if object, err = c.arguments(item.Key, schema, object); err != nil {
		return err
	}
	params, err := callParams(item.Key, object)
	if err != nil {
		return err
	}
	reply := p.own.Do(ctx, &bridge.Request{Method: wire.MethodPromptsGet, Params: params, Target: item.Key})
	if reply.Err != nil {
		return p.explain(reply.Err, c.sourceFlags, std.err)
	}
	if *asJSON {
		_, err = fmt.Fprintf(std.out, "%s\n", reply.Result)
		return err
	}
	return printPrompt(std.out, reply.Result)
}

// promptSchema returns the arguments of a prompt as the schema of a tool: all are strings.
func promptSchema(definition []byte) json.RawMessage {
	var prompt struct {
		Arguments []struct {
			Name, Description string
			Required          bool
		}
	}
	_ = json.Unmarshal(definition, &prompt) // nothing else has arguments
	schema, required := []byte(`{"properties":{`), []byte(`},"required":[`)
	for i, a := range prompt.Arguments {
		if i > 0 {
			schema = append(schema, ',')
		}
		schema = append(wire.AppendString(schema, a.Name), `:{"type":"string","description":`...)
		schema = append(wire.AppendString(schema, a.Description), '}')
		if a.Required {
			if required[len(required)-1] != '[' {
				required = append(required, ',')
			}
			required = wire.AppendString(required, a.Name)
		}
	}
	return append(append(schema, required...), "]}"...)
}

// unknownItem returns the error for a prompt or resource that is not listed, after the reasons why
// servers are down.
func (p *program) unknownItem(list *bridge.List, noun, name, command string, stderr io.Writer) error {
	_ = p.report(stderr)
	var names []string
	for _, it := range list.Items {
		names = append(names, it.Key)
	}
	if near := toolformat.Closest(name, names); near != "" {
		return usagef("unknown %s: %s (did you mean %s?)", noun, hint.Shorten(name), near)
	}
	return usagef("unknown %s: %s (mcpbridge %s shows them)", noun, hint.Shorten(name), command)
}

// printPrompt prints the text of a prompt's messages, with their roles if there are several.
func printPrompt(w io.Writer, result []byte) error {
	var prompt struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(result, &prompt); err != nil {
		return fmt.Errorf("the prompt is of an unexpected form: %w", err)
	}
	for i, m := range prompt.Messages {
		if len(prompt.Messages) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s:\n", m.Role)
		}
		content := toolformat.Result{JSON: append(append([]byte(`{"content":[`), m.Content...), "]}"...)}
		if err := printResult(w, &content, ""); err != nil {
			return err
		}
	}
	return nil
}
