package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/report"
)

func runReport(_ context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("report", out)
	markdown := f.Bool("markdown", false, "write Markdown")
	if done, err := f.parse(args, true); done || err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("report: expected files that run --json has written")
	}
	all, err := readReports(f.Args())
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, report.Table(all, *markdown))
	return err
}

// readReports reads reports and puts their rows together.
func readReports(files []string) (*bench.Report, error) {
	all := &bench.Report{}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		one := &bench.Report{}
		if err := json.Unmarshal(text, one); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if i == 0 {
			*all = *one
		} else {
			all.Rows = append(all.Rows, one.Rows...)
		}
	}
	return all, nil
}

func runGateways(_ context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("gateways", out)
	file, home := addGateways(f)
	if done, err := f.parse(args, false); done || err != nil {
		return err
	}
	all, err := readGateways(*file)
	if err != nil {
		return err
	}
	for _, g := range all {
		state, err := g.Find(*home)
		if err != nil {
			state = "not installed"
		}
		fmt.Fprintf(out, "%s: %s\n", g.Name, state)
		for _, line := range []struct{ name, text string }{{"project", g.Project}, {"install", g.InstallLine(*home)}, {"note", g.Note}} {
			if line.text != "" {
				fmt.Fprintf(out, "  %-8s %s\n", line.name, line.text)
			}
		}
	}
	return nil
}
