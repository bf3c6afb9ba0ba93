package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func runResourcesRead(ctx context.Context, args []string, std streams) error {
	f := newFlags("resources read", "resources read URI [flags] [-- COMMAND [ARG…]]", "Reads one resource and prints its text. Binary content goes to a file or a pipe.", std)
	asJSON := f.Bool("json", false, "print the whole MCP result")
	file := f.String("out", "", "write the content to this `FILE`")
	f.check = func(words []string) error {
		switch {
		case len(words) == 0:
			return usagef("resources read: expected the URI of a resource (mcpbridge resources list shows them)")
		case len(words) > 1:
			return usagef("resources read: unexpected argument %s (one URI at a time)", hint.Quote(words[1]))
		case *asJSON && *file != "":
			return usagef("resources read: --json and --out are mutually exclusive")
		}
		return nil
	}
	cfg, words, err := f.parse(args)
	if err != nil {
		return err
	}
	p, _, err := openWaiting(ctx, f, cfg, std.err)
	defer p.close()
	if err != nil {
		return err
	}
	params, err := wire.SplitParams(append(wire.AppendString([]byte(`{"uri":`), words[0]), '}'))
	if err != nil {
		return err
	}
	reply := p.own.Do(ctx, &bridge.Request{Method: wire.MethodResourcesRead, Params: &params, Target: words[0]})
	switch {
	case reply.Err != nil && (reply.Err.Code == toolformat.NotFound && reply.Err.Raw == nil || reply.Err.Code == toolformat.Unsupported):
		list, err := listOf(ctx, p.own, bridge.Resources)
		if err != nil {
			return err
		}
		return p.unknownItem(list, "resource", words[0], "resources list"+f.sameView(), std.err)
	case reply.Err != nil:
		return p.explain(reply.Err, f, std.err)
	case *asJSON:
		_, err = fmt.Fprintf(std.out, "%s\n", reply.Result)
		return err
	}
	return writeResource(std.out, reply.Result, *file)
}

// writeResource writes the contents of a resource to a file, or to w if file is "".
func writeResource(w io.Writer, result []byte, file string) error {
	var resource struct {
		Contents []struct {
			URI, MimeType string
			Text          *string
			Blob          string
		}
	}
	if err := json.Unmarshal(result, &resource); err != nil {
		return fmt.Errorf("the resource is of an unexpected form: %w", err)
	}
	var whole []byte
	for _, c := range resource.Contents {
		if c.Text != nil {
			whole = append(whole, *c.Text...)
			continue
		}
		data, err := base64.StdEncoding.DecodeString(c.Blob)
		if err != nil {
			return fmt.Errorf("the content of %s is not base64: %w", c.URI, err)
		}
		if file == "" && output.IsTerminal(w) {
			data = fmt.Appendf(nil, "[%s, %d bytes: --out FILE saves it]\n", c.MimeType, len(data))
		}
		whole = append(whole, data...)
	}
	if file != "" {
		return os.WriteFile(file, whole, 0o644)
	}
	if output.IsTerminal(w) && len(whole) > 0 && whole[len(whole)-1] != '\n' {
		whole = append(whole, '\n')
	}
	_, err := w.Write(whole)
	return err
}
