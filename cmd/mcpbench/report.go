package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/report"
)

func prepareReport(f *pflag.FlagSet) action {
	only := f.StringArray("only", nil, "take only the figures of the gateway with this `NAME`; may be repeated")
	suites := f.StringArray("suite", nil, "take only the figures of the suite with this `NAME`; may be repeated")
	write := f.String("json", "", "write the figures into this `FILE`")
	page := f.String("page", "", "put the tables into this Markdown `FILE`, between <!-- mcpbench NAME --> and <!-- end -->")
	svg := f.String("svg", "", "draw calls a second beside each other into this `FILE`")
	return func(_ context.Context, files []string, out, _ io.Writer) error {
		if len(files) == 0 {
			return errors.New("report: expected files that run --json has written")
		}
		all, err := readReports(files...)
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
func readReports(files ...string) (*bench.Report, error) {
	var all *bench.Report
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		one := &bench.Report{}
		if err := json.Unmarshal(text, one); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if all == nil {
			all = one
		} else {
			all.Rows = append(all.Rows, one.Rows...)
		}
	}
	return all, nil
}

//go:embed gateways.json
var gatewaysFile []byte

// addGateways adds the flags that tell which gateways there are, and returns them.
func addGateways(f *pflag.FlagSet) func() ([]bench.Gateway, error) {
	file := f.String("gateways", "", "read the descriptions of gateways from this `FILE` instead of those built in")
	home := f.String("home", "gateways", "the `FOLDER` that gateways are installed in")
	return func() ([]bench.Gateway, error) {
		folder, err := filepath.Abs(*home)
		if err != nil {
			return nil, err
		}
		text := gatewaysFile
		if *file != "" {
			if text, err = os.ReadFile(*file); err != nil {
				return nil, err
			}
		}
		return bench.ReadGateways(text, folder)
	}
}

func prepareGateways(f *pflag.FlagSet) action {
	gateways := addGateways(f)
	return func(_ context.Context, _ []string, out, _ io.Writer) error {
		all, err := gateways()
		for _, g := range all {
			state, err := g.Find()
			if err != nil {
				state = "not installed"
			}
			fmt.Fprintf(out, "%s: %s\n", g.Name, state)
			for _, line := range [][2]string{{"project", g.Project}, {"install", g.Install}, {"note", g.Note}} {
				if line[1] != "" {
					fmt.Fprintf(out, "  %-8s %s\n", line[0], line[1])
				}
			}
		}
		return err
	}
}
