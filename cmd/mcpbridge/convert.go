package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func runConvert(ctx context.Context, args []string, std streams) error {
	f := newFlags("convert", "convert [--from FORMAT] --to FORMAT [FILE]",
		"Converts tool definitions from FILE, or from standard input, to another format:\n"+
			"one, a list, or several values one after another. Losses are reported on\n"+
			"standard error.\n\nFormats:\n"+formatList()+".", std)
	from := f.String("from", "", "the `FORMAT` of the input (default: auto-detected for each definition; internal is read strictly only if it is named here)")
	to := f.String("to", "", "the `FORMAT` of the output")
	strict := f.Bool("strict", false, "for OpenAI's strict mode: every property is required, and no others are allowed")
	asJSON := f.Bool("json", false, "print one JSON object with the definitions and what would be reported")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	source, err := parseFormat("convert", "--from", *from)
	if err != nil {
		return err
	}
	target, err := parseFormat("convert", "--to", *to)
	switch {
	case err != nil:
		return err
	case target == "":
		return usagef("convert: expected --to FORMAT, one of %s", formatList())
	}
	name := "-"
	switch words := f.Args(); {
	case len(words) > 1:
		return usagef("convert: unexpected argument %s (one FILE at a time)", hint.Quote(words[1]))
	case len(words) == 1:
		name = words[0]
	}
	reading, err := readDefinitions(ctx, name, source, std, "mcpbridge tools list --format FORMAT --config")
	if err != nil {
		return err
	}
	set, err := toolformat.Encode(reading.Tools, target, toolformat.Options{Strict: *strict})
	if err != nil {
		return usagef("convert: --strict: %v", err)
	}
	if *asJSON {
		return printConvertJSON(std.out, reading, set)
	}
	if err := printSet(std.out, set, reading.Single); err != nil {
		return err
	}
	printNotes(std.err, "convert", reading.Notes)
	leftOut := printFaults(std.err, "convert", reading.Faults)
	return explainSet(std.err, "convert", set, leftOut)
}

// formatList returns the names of all tool formats.
func formatList() string {
	var names []string
	for _, f := range toolformat.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// parseFormat returns the format that a flag names, or "".
func parseFormat(command, flag, word string) (toolformat.Format, error) {
	format, err := toolformat.ParseFormat(word)
	if err != nil && word != "" {
		return "", usagef("%s: %s %s: expected one of %s", command, flag, hint.Shorten(word), formatList())
	}
	return format, nil
}

// readDefinitions reads a file, or standard input for "-". An empty from means auto-detection.
// instead is the command for a config.
func readDefinitions(ctx context.Context, name string, from toolformat.Format, std streams, instead string) (*toolformat.Reading, error) {
	var data []byte
	var err error
	if name == "-" {
		name = "standard input"
		data, err = readInput(ctx, std.in, io.ReadAll)
	} else {
		data, err = os.ReadFile(name)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &exitError{exitUsage, err.Error()}
	}
	if config.IsConfig(data) {
		return nil, usagef("%s: this is a config, not tool definitions: %s FILE reads it", name, instead)
	}
	reading, err := toolformat.Read(data, from)
	if err != nil { // it begins with line and column
		return nil, usagef("%s:%v", name, err)
	}
	return reading, nil
}

// printSet prints definitions, indented. For a single one that was left out it prints nothing.
func printSet(w io.Writer, set *toolformat.Set, single bool) error {
	raw := set.JSON()
	if single {
		if len(set.Tools) == 0 {
			return nil
		}
		raw = set.Tools[0].JSON
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// explainSet prints the notes on a set. The error is not nil if a tool was left out.
func explainSet(w io.Writer, command string, set *toolformat.Set, leftOut bool) error {
	for _, c := range set.Tools {
		printNotes(w, command, c.Notes)
	}
	if printFaults(w, command, set.Faults) || leftOut {
		return &exitError{code: exitFailed}
	}
	return nil
}

func printNotes(w io.Writer, command string, notes []toolformat.Note) {
	for _, n := range notes {
		fmt.Fprintf(w, "mcpbridge: %s: %s\n", command, terminal.Inline(n.String()))
	}
}

// printFaults prints which definitions are left out and why, and reports whether there are any.
func printFaults(w io.Writer, command string, faults []toolformat.Fault) bool {
	for _, fault := range faults {
		who := fault.Tool
		if who == "" {
			who = fmt.Sprintf("definition %d", fault.Index+1)
		}
		for _, n := range fault.Notes {
			n.Tool = ""
			fmt.Fprintf(w, "mcpbridge: %s: %s: left out: %s\n", command, terminal.Inline(who), terminal.Inline(n.String()))
		}
	}
	return len(faults) > 0
}

// convertJSON is what convert --json prints.
type convertJSON struct {
	Format      string          `json:"format"`
	Definitions json.RawMessage `json:"definitions"`
	Notes       []lintNoteJSON  `json:"notes"`    // what could not be kept
	LeftOut     []leftOutJSON   `json:"left_out"` // definitions that cannot be expressed
}

type leftOutJSON struct {
	Index int            `json:"index"` // in the input, or among the tools of it that could be read
	Tool  string         `json:"tool,omitempty"`
	Notes []lintNoteJSON `json:"notes"`
}

// printConvertJSON prints a converted set with its report. The error is not nil if a tool was left out.
func printConvertJSON(w io.Writer, reading *toolformat.Reading, set *toolformat.Set) error {
	out := convertJSON{Format: string(set.Format), Definitions: set.JSON(), Notes: []lintNoteJSON{}, LeftOut: []leftOutJSON{}}
	out.Notes = append(out.Notes, lintNotesJSON(reading.Notes, "")...)
	for _, c := range set.Tools {
		out.Notes = append(out.Notes, lintNotesJSON(c.Notes, "")...)
	}
	for _, fault := range slices.Concat(reading.Faults, set.Faults) {
		out.LeftOut = append(out.LeftOut, leftOutJSON{fault.Index, fault.Tool, lintNotesJSON(fault.Notes, fault.Tool)})
	}
	if err := printJSON(w, &out); err != nil {
		return err
	}
	if len(out.LeftOut) > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}
