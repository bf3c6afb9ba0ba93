package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func runToolsList(ctx context.Context, args []string, std streams) error {
	f := newFlags("tools list", "tools list [flags] [-- COMMAND [ARG…]]", "Lists the tools of all servers, under the names that clients see.", std)
	asJSON := f.Bool("json", false, "print the definitions as a JSON array, one a line")
	format := f.String("format", "", "print the definitions in this `FORMAT`: mcp, which is what --json prints")
	f.check = func(words []string) error {
		if *format != "" && *format != "mcp" {
			return usagef("tools list: --format %s: expected mcp", *format)
		}
		return f.noWords(words)
	}
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	sys, own, err := openAll(ctx, cfg, std)
	if err != nil {
		return err
	}
	defer sys.close()
	defer own.Close()
	list, err := own.List(ctx, bridge.Tools)
	if err != nil {
		return err
	}
	if *asJSON || *format != "" {
		err = printDefinitions(std.out, list)
	} else {
		err = printNames(std.out, list)
	}
	if err != nil {
		return err
	}
	return sys.leftOut(std.err)
}

// printDefinitions writes the definitions as they are, one a line.
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

// printNames writes a line a tool: its name and the first line of its description.
func printNames(w io.Writer, list *bridge.List) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, it := range list.Items {
		about, _, _ := strings.Cut(strings.TrimSpace(it.Tool().Description), "\n")
		if r := []rune(about); len(r) > 100 {
			about = string(r[:99]) + "…"
		}
		fmt.Fprintf(tab, "%s\t%s\n", it.Key, about)
	}
	return tab.Flush()
}

// leftOut says which servers and tools are missing from a list.
func (s *system) leftOut(w io.Writer) error {
	missing := false
	for _, c := range s.clients {
		if st := c.Status(); !isUp(st) {
			missing = true
			fmt.Fprintf(w, "mcpbridge: %s: %s\n", c.Name(), describeStatus(st))
		}
	}
	for _, n := range s.bridge.Notes() {
		missing = missing || n.LeftOut
		fmt.Fprintf(w, "mcpbridge: %s\n", n.Text)
	}
	if missing {
		return &exitError{code: exitFailed}
	}
	return nil
}

func runToolsCall(ctx context.Context, args []string, std streams) error {
	f := newFlags("tools call", "tools call NAME [flags] [-- COMMAND [ARG…]]", "Calls one tool and prints the text of its result.", std)
	arguments := f.String("args", "{}", "the arguments, a `JSON` object; - reads them from standard input")
	asJSON := f.Bool("json", false, "print the whole MCP result")
	dir := f.String("out", "", "save images, audio and other binary content of the result in this `DIR`")
	var params *wire.Params
	f.check = func(words []string) (err error) {
		switch len(words) {
		case 0:
			return usagef("tools call: expected the name of a tool (mcpbridge tools list shows the names)")
		case 1:
			params, err = callParams(words[0], *arguments, std.in)
			return err
		}
		return usagef("tools call: unexpected argument %s: the arguments of the tool are one JSON object, as in --args '{\"city\": \"Rome\"}'", quoteShort(words[1]))
	}
	cfg, words, err := f.parse(args)
	if err != nil {
		return err
	}
	sys, own, err := openAll(ctx, cfg, std)
	if err != nil {
		return err
	}
	defer sys.close()
	defer own.Close()
	list, err := own.List(ctx, bridge.Tools) // waits for every server
	if err != nil {
		return err
	}
	reply := own.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: params, Target: words[0]})
	if reply.Err != nil {
		return sys.explain(reply.Err, words[0], list, std.err)
	}
	if *asJSON {
		fmt.Fprintf(std.out, "%s\n", reply.Result)
	} else if err := printResult(std.out, reply.Result, *dir); err != nil {
		return err
	}
	if string(wire.Lookup(reply.Result, "isError")) == "true" {
		return &exitError{code: exitFailed}
	}
	return nil
}

// explain says more of a call without a result: why there is no such tool.
func (s *system) explain(e *toolformat.Error, name string, list *bridge.List, w io.Writer) error {
	if e.Code != toolformat.NotFound || e.Raw != nil {
		return e
	}
	for i, c := range s.clients {
		prefix := toolformat.Prefix(c.Name())
		if own := s.cfg.Servers[i].Prefix; own != nil {
			prefix = *own
		}
		if st := c.Status(); prefix != "" && strings.HasPrefix(name, prefix) && !isUp(st) {
			return &exitError{exitAway, fmt.Sprintf("%s: its server %s is away: %s", name, c.Name(), describeStatus(st))}
		}
	}
	s.leftOut(w)
	if strings.Contains(e.Message, "did you mean") {
		return e
	}
	var names []string
	for _, it := range list.Items {
		names = append(names, it.Key)
	}
	if near := nearMiss(name, names); near != "" {
		return usagef("%s (did you mean %s?)", e.Message, near)
	}
	return usagef("%s (mcpbridge tools list shows the names)", e.Message)
}

func callParams(name, arguments string, in io.Reader) (*wire.Params, error) {
	raw := []byte(arguments)
	if arguments == "-" {
		var err error
		if raw, err = io.ReadAll(in); err != nil {
			return nil, err
		}
	}
	if err := wire.Valid(raw); err != nil {
		return nil, usagef("tools call: --args is not JSON: %v", err)
	}
	if s := strings.TrimSpace(string(raw)); s[0] != '{' {
		return nil, usagef("tools call: --args: expected a JSON object, got %.40s", s)
	}
	b := wire.AppendString([]byte(`{"name":`), name)
	b = append(append(append(b, `,"arguments":`...), raw...), '}')
	params, err := wire.SplitParams(b)
	if err != nil {
		return nil, usagef("tools call: --args: %v", err)
	}
	return &params, nil
}

// content is one block of a result, as far as the command line shows it.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Resource struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"`
	} `json:"resource"`
}

// printResult prints what a person can read of a result and saves the rest.
func printResult(w io.Writer, result []byte, dir string) error {
	n := 0
	for raw := range wire.Elements(wire.Lookup(result, "content")) {
		var c content
		if err := json.Unmarshal(raw, &c); err != nil {
			return fmt.Errorf("the result has a content block of an unexpected form: %w", err)
		}
		n++
		switch c.Type {
		case "text":
			fmt.Fprintln(w, c.Text)
		case "image", "audio":
			if err := save(w, dir, n, c.Type, c.MimeType, c.Data); err != nil {
				return err
			}
		case "resource":
			if c.Resource.Text != nil {
				fmt.Fprintln(w, *c.Resource.Text)
			} else if err := save(w, dir, n, "resource", c.Resource.MimeType, c.Resource.Blob); err != nil {
				return err
			}
		case "resource_link":
			fmt.Fprintln(w, c.URI)
		default:
			fmt.Fprintf(w, "[%s: --json shows it]\n", c.Type)
		}
	}
	if structured := wire.Lookup(result, "structuredContent"); n == 0 && structured != nil {
		fmt.Fprintf(w, "%s\n", structured)
	}
	return nil
}

// save writes a binary block to a file of dir and prints where; without a dir it says
// what there is.
func save(w io.Writer, dir string, n int, kind, mimeType, data string) error {
	if dir == "" {
		fmt.Fprintf(w, "[%s, %s, %d bytes: --out DIR saves it]\n", kind, mimeType, base64.StdEncoding.DecodedLen(len(data)))
		return nil
	}
	bytes, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return fmt.Errorf("the %s of the result is not base64: %w", kind, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(dir, fmt.Sprintf("%s-%d%s", kind, n, extension(mimeType)))
	if err := os.WriteFile(name, bytes, 0o644); err != nil {
		return err
	}
	fmt.Fprintln(w, name)
	return nil
}

// extension is the end of a file's name that tells its type. The system's table comes in
// no useful order, so that the customary ones come first.
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
