package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/gen"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

const genAbout = `Writes the tools that Go functions are: each exported function that is marked
//mcpbridge:tool becomes one, in a file of its package that has a function Tools.
Made for //go:generate mcpbridge gen.

  // GetWeather gets the current weather of a place.
  //   - location: the city and country
  //   - unit: the temperature unit to use
  //
  //mcpbridge:tool
  //mcpbridge:param unit enum:"celsius,fahrenheit" default:"celsius"
  func GetWeather(ctx context.Context, location, unit string) (string, error)

The tool is called get_weather, or as //mcpbridge:tool name=NAME says. Its description
is the doc comment, less the lines that describe parameters. A parameter that is a
pointer or has a default may be left out. The parameters may be one struct instead,
whose fields the comments on them describe, and their tags (jsonschema, enum, default).
ctx and the error may be missing. What is returned becomes structured content; a
string becomes text.`

func runGen(ctx context.Context, args []string, std streams) error {
	f := newFlags("gen", "gen [flags] [PACKAGES]", genAbout, std)
	file := f.String("file", gen.DefaultFile, "the `NAME` of the file in each package")
	function := f.String("func", "Tools", "the `NAME` of the function that returns the tools")
	check := f.Bool("check", false, "write nothing; exit with 1 when a file is not as it would be written")
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return err
	} else if err != nil {
		return usagef("gen: %v (mcpbridge gen --help tells the flags)", err)
	}
	switch {
	case !token.IsIdentifier(*function):
		return usagef("gen: --func %s: expected a name that a Go function may have", hint.Quote(*function))
	case filepath.Base(*file) != *file || !strings.HasSuffix(*file, ".go") || strings.HasSuffix(*file, "_test.go"):
		return usagef("gen: --file %s: expected the name of a Go file, without a folder", hint.Quote(*file))
	}
	outputs, err := gen.Generate(ctx, f.Args(), *file, *function)
	switch {
	case errors.As(err, new(gen.Problems)): // as compilers print them, for editors to find the place
		fmt.Fprintln(std.err, err)
		return &exitError{code: exitFailed}
	case errors.As(err, new(*gen.NotFoundError)):
		return usagef("gen: %v", err)
	case err != nil:
		return fmt.Errorf("gen: %w", err)
	case *check:
		return staleOutputs(outputs)
	}
	for _, out := range outputs {
		if err := os.WriteFile(out.Path, out.Source, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// staleOutputs says which files would have been written.
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
