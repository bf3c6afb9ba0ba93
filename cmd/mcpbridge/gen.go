package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/gen"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

const genAbout = `Generates tools from Go functions: each exported function that is marked
//mcpbridge:tool becomes one, in a file of its package with a function Tools.
Use it with //go:generate mcpbridge gen.

  // GetWeather gets the current weather of a place.
  //   - location: the city and country
  //   - unit: the temperature unit to use
  //
  //mcpbridge:tool
  //mcpbridge:param unit enum:"celsius,fahrenheit" default:"celsius"
  func GetWeather(ctx context.Context, location, unit string) (string, error)

The tool is called get_weather, or NAME with //mcpbridge:tool name=NAME. Its
description is the doc comment without the lines that describe parameters. A
parameter that is a pointer or has a default is optional. The parameters may be
one struct instead, whose fields are described by comments and tags (jsonschema,
enum, default). ctx and the error are optional. The result becomes structured
content; a string becomes text.`

func runGen(ctx context.Context, args []string, std streams) error {
	f := newFlags("gen", "gen [flags] [PACKAGES]", genAbout, std)
	file := f.String("file", gen.DefaultFile, "the `NAME` of the file in each package")
	function := f.String("func", "Tools", "the `NAME` of the function that returns the tools")
	check := f.Bool("check", false, "write nothing, and exit with 1 if a file is out of date")
	asJSON := f.Bool("json", false, "print one JSON object: the files, and the functions that cannot be tools")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	switch {
	case !token.IsIdentifier(*function):
		return usagef("gen: --func %s: expected the name of a Go function", hint.Quote(*function))
	case filepath.Base(*file) != *file || !strings.HasSuffix(*file, ".go") || strings.HasSuffix(*file, "_test.go"):
		return usagef("gen: --file %s: expected the name of a Go file without a folder", hint.Quote(*file))
	}
	outputs, err := gen.Generate(ctx, f.Args(), *file, *function)
	var problems gen.Problems
	switch {
	case *asJSON && (err == nil || errors.As(err, &problems)):
		return genJSON(std.out, outputs, problems, *check)
	case errors.As(err, &problems): // in the form of compilers, which editors understand
		fmt.Fprintln(std.err, err)
		return &exitError{code: exitFailed}
	case errors.As(err, new(*gen.NotFoundError)):
		return usagef("gen: %v", err)
	case err != nil:
		return fmt.Errorf("gen: %w", err)
	case *check:
		return staleOutputs(outputs)
	}
	return writeOutputs(outputs)
}

func writeOutputs(outputs []gen.Output) error {
	for _, out := range outputs {
		if err := os.WriteFile(out.Path, out.Source, 0o644); err != nil {
			return err
		}
	}
	return nil
}

type (
	genReport struct {
		Changed  []string     `json:"changed"` // files that were written, or are out of date with --check
		Problems []genProblem `json:"problems"`
	}
	genProblem struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
		Text   string `json:"text"`
	}
)

// genJSON writes the files, unless they are only checked, and prints a report.
func genJSON(w io.Writer, outputs []gen.Output, problems gen.Problems, check bool) error {
	report := genReport{Changed: []string{}, Problems: []genProblem{}}
	for _, out := range outputs {
		report.Changed = append(report.Changed, gen.Relative(out.Path))
	}
	_ = problems.Error() // sorts them
	for _, p := range problems {
		report.Problems = append(report.Problems, genProblem{p.Pos.Filename, p.Pos.Line, p.Pos.Column, p.Msg})
	}
	if !check {
		if err := writeOutputs(outputs); err != nil {
			return err
		}
	}
	if err := printJSON(w, &report); err != nil {
		return err
	}
	if len(problems) > 0 || check && len(outputs) > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}

// staleOutputs returns an error that names the outdated files.
func staleOutputs(outputs []gen.Output) error {
	var lines []string
	for _, out := range outputs {
		lines = append(lines, fmt.Sprintf("gen: %s is out of date: run mcpbridge gen", gen.Relative(out.Path)))
	}
	if len(lines) > 0 {
		return &exitError{exitFailed, strings.Join(lines, "\n")}
	}
	return nil
}
