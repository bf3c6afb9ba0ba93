package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func runToolsList(ctx context.Context, args []string, std streams) error {
	f := newFlags("tools list", "tools list [flags] [-- COMMAND [ARG…]]", "Lists the tools of all servers, under the names that clients see.", std)
	asJSON := f.Bool("json", false, "print the definitions as a JSON array, one a line")
	word := f.String("format", "", "print the definitions in this `FORMAT`: "+formatList()+" (mcp is what --json prints)")
	f.addProfile()
	var format toolformat.Format
	f.check = func(words []string) (err error) {
		if format, err = parseFormat("tools list", "--format", *word); err != nil {
			return err
		}
		if format = cmp.Or(format, toolformat.FormatMCP); *asJSON && format != toolformat.FormatMCP {
			return usagef("tools list: --json, which prints mcp, and --format %s are mutually exclusive", format)
		}
		if len(words) > 0 {
			return usagef("tools list: unexpected argument %s: all tools are listed, and --json has their definitions (put a server's command after --)", hint.Quote(words[0]))
		}
		return nil
	}
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	p, list, err := openWaiting(ctx, f, cfg, std.err)
	defer p.close()
	if err != nil {
		return err
	}
	var lost error // not nil if the format cannot express a tool
	switch {
	case format != toolformat.FormatMCP:
		lost, err = printAs(format, list, std)
	case *asJSON || *word != "":
		err = printDefinitions(std.out, list)
	default:
		err = printNames(std.out, list.Items, output.Width(std.out))
	}
	if err != nil {
		return err
	}
	err = cmp.Or(p.report(std.err), lost)
	if err == nil && len(list.Items) == 0 && !*asJSON && *word == "" {
		output.Item(std.err, "", "there are no tools")
	}
	return err
}

// printAs prints the definitions in a format. lost is not nil if it cannot express all.
func printAs(format toolformat.Format, list *bridge.List, std streams) (lost, err error) {
	set, err := toolformat.Encode(toolsOf(list), format, toolformat.Options{})
	if err != nil {
		return nil, err
	}
	if err := printSet(std.out, set, false); err != nil {
		return nil, err
	}
	return explainSet(std.err, "tools list", set, false), nil
}

func toolsOf(list *bridge.List) (tools []toolformat.Tool) {
	for _, it := range list.Items {
		tool := it.Tool()
		tool.Extra = it.Raw // annotations are shown, whether or not they are trusted
		tools = append(tools, tool)
	}
	return tools
}

// printDefinitions prints the definitions verbatim, one a line.
func printDefinitions(w io.Writer, list *bridge.List) error {
	b := []byte("[")
	for i, it := range list.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, "\n  "...), it.Raw...)
	}
	if len(list.Items) > 0 {
		b = append(b, '\n')
	}
	_, err := w.Write(append(b, "]\n"...))
	return err
}

// printNames prints a line for each tool: its name, and what fits of its description into the given
// number of columns; 0 means all of it.
func printNames(w io.Writer, items []bridge.Item, columns int) error {
	var rows [][]string
	for _, it := range items {
		about := strings.TrimSpace(it.Tool().Description)
		if columns > 0 {
			about, _, _ = strings.Cut(about, "\n")
		}
		rows = append(rows, []string{it.Key, about})
	}
	return output.Table(w, columns, rows)
}

// printResult prints the readable parts of a result and saves the rest.
func printResult(w io.Writer, result *toolformat.Result, dir string) error {
	blocks, err := result.Content()
	if err != nil {
		return fmt.Errorf("the result has a content block of an unexpected form: %w", err)
	}
	for i, c := range blocks {
		switch c.Type {
		case toolformat.TextContent:
			fmt.Fprintln(w, c.Text)
		case toolformat.ImageContent, toolformat.AudioContent:
			err = save(w, dir, i+1, &c)
		case toolformat.ResourceContent:
			if c.Data == "" {
				fmt.Fprintln(w, c.Text)
			} else {
				err = save(w, dir, i+1, &c)
			}
		case toolformat.LinkContent:
			fmt.Fprintln(w, c.URI)
		default:
			fmt.Fprintf(w, "[%s: --json shows it]\n", c.Type)
		}
		if err != nil {
			return err
		}
	}
	if structured := result.Structured(); len(blocks) == 0 && structured != nil {
		fmt.Fprintf(w, "%s\n", structured)
	}
	return nil
}

// save writes a binary block to a file in dir and prints its name. Without dir it prints a summary.
func save(w io.Writer, dir string, n int, c *toolformat.Content) error {
	if dir == "" {
		fmt.Fprintf(w, "[%s, %s, %d bytes: --out DIR saves it]\n", c.Type, c.MimeType, base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(c.Data, "="))))
		return nil
	}
	bytes, err := base64.StdEncoding.DecodeString(c.Data)
	if err != nil {
		return fmt.Errorf("the %s of the result is not base64: %w", c.Type, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(dir, fmt.Sprintf("%s-%d%s", c.Type, n, extension(c.MimeType)))
	if err := os.WriteFile(name, bytes, 0o644); err != nil {
		return err
	}
	fmt.Fprintln(w, name)
	return nil
}

// extension returns the file name extension of a MIME type, common types first.
func extension(mimeType string) string {
	mimeType, _, _ = mime.ParseMediaType(mimeType)
	switch mimeType {
	case "image/jpeg":
		return ".jpg"
	case "audio/mpeg":
		return ".mp3"
	case "text/plain":
		return ".txt"
	}
	if known, _ := mime.ExtensionsByType(mimeType); len(known) > 0 {
		return known[0]
	}
	return ".bin"
}
