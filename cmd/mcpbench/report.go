package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/report"
)

func runReport(_ context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("report", out)
	only := f.StringArray("only", nil, "take only the figures of the gateway with this `NAME`; may be repeated")
	suites := f.StringArray("suite", nil, "take only the figures of the suite with this `NAME`; may be repeated")
	write := f.String("json", "", "write the figures into this `FILE`")
	page := f.String("page", "", "put the tables into this Markdown `FILE`, between <!-- mcpbench NAME --> and <!-- end -->")
	svg := f.String("svg", "", "draw calls a second beside each other into this `FILE`")
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
	all.Rows = slices.DeleteFunc(all.Rows, func(r *bench.Row) bool {
		return len(*only) > 0 && !slices.Contains(*only, r.Gateway) || len(*suites) > 0 && !slices.Contains(*suites, r.Suite)
	})
	if err := writeReport(all, *write); err != nil {
		return err
	}
	if *page != "" {
		text, err := os.ReadFile(*page)
		if err != nil {
			return err
		}
		filled, err := report.Page(string(text), all)
		if err != nil {
			return fmt.Errorf("%s: %w", *page, err)
		}
		if err := os.WriteFile(*page, []byte(filled), 0o666); err != nil {
			return err
		}
	}
	if *svg != "" {
		return os.WriteFile(*svg, []byte(report.Picture(all)), 0o666)
	}
	if *write == "" && *page == "" {
		fmt.Fprint(out, report.Text(all))
	}
	return nil
}

// writeReport writes a report, a line for each row, unless the name of the file is empty.
func writeReport(r *bench.Report, file string) error {
	if file == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(`{"gateway":"`), []byte("\n"+`{"gateway":"`))
	return os.WriteFile(file, append(text, '\n'), 0o666)
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
