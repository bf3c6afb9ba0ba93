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
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/host"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/report"
)

// options are the flags of run.
type options struct {
	bench.Runner
	gateways              func() ([]bench.Gateway, error)
	only, suites, filters []string
	json, against         string
}

func prepareRun(f *pflag.FlagSet) action {
	o := &options{gateways: addGateways(f)}
	var names []string
	for _, s := range bench.Suites(bench.Gateway{}) {
		names = append(names, s.Name+" ("+s.About+")")
	}
	f.StringArrayVar(&o.only, "only", nil, "measure only the gateways with this `NAME`; may be repeated. Default: all that are installed")
	f.StringArrayVar(&o.suites, "suite", []string{"calls"}, "what to measure, by `NAME`; may be repeated: "+strings.Join(names, ", "))
	f.StringArrayVar(&o.filters, "cell", nil, "measure only cells whose line contains this `TEXT`, as \"C=32\" or \"-> stdio\"; may be repeated, all must match")
	f.IntVar(&o.Pairs, "pairs", 4, "measure each cell `N` times")
	f.IntVar(&o.Again, "again", 2, "measure a pair that the machine disturbed again, at most `N` times")
	f.DurationVar(&o.Length, "for", time.Second, "the `TIME` of a measurement")
	f.DurationVar(&o.Warm, "warm", 300*time.Millisecond, "the `TIME` of the load before each, which does not count")
	f.StringVar(&o.json, "json", "", "write the figures into this `FILE`, too, unless the run is interrupted")
	f.StringVar(&o.against, "against", "", "measure only the floor beside the gateways, and fail if CPU time a call over the floor's has risen by more than a fifth against the figures in this `FILE`")
	return func(ctx context.Context, _ []string, out, log io.Writer) error {
		jobs, err := o.jobs(log)
		if err != nil {
			return err
		}
		if o.Self, err = os.Executable(); err != nil {
			return err
		}
		o.Log = func(row *bench.Row) { fmt.Fprintln(log, row) }
		all := &bench.Report{
			When: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), CPU: host.Model(),
			System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Rows: o.run(ctx, jobs),
		}
		if o.json != "" && ctx.Err() == nil { // .ci/benchmark goes on with the steps that have no file
			text, err := json.Marshal(all)
			if err == nil { // a line for each row
				err = os.WriteFile(o.json, append(bytes.ReplaceAll(text, []byte(`{"gateway":"`), []byte("\n"+`{"gateway":"`)), '\n'), 0o666)
			}
			if err != nil {
				return err
			}
		}
		fmt.Fprint(out, report.Text(all))
		failed := 0
		for _, row := range all.Rows {
			if row.Error != "" {
				failed++
			}
		}
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case failed > 0:
			return fmt.Errorf("%d of %d cells failed", failed, len(all.Rows))
		case o.against != "":
			return o.compare(ctx, jobs, all.Rows, out)
		}
		return nil
	}
}

// A job is the cells of a suite for a gateway that is there.
type job struct {
	gateway bench.Gateway
	suite   bench.Suite
}

func (o *options) run(ctx context.Context, jobs []job) (rows []*bench.Row) {
	for _, j := range jobs {
		rows = append(rows, o.Run(ctx, j.gateway, j.suite)...)
	}
	return rows
}

// jobs returns what is to be measured.
func (o *options) jobs(log io.Writer) (jobs []job, err error) {
	if o.Pairs < 1 || o.Length <= 0 {
		return nil, errors.New("run: expected --pairs of at least 1 and a positive --for")
	}
	gateways, err := o.gateways()
	if err != nil {
		return nil, err
	}
	var known []string
	for _, g := range gateways {
		known = append(known, g.Name)
		if len(o.only) > 0 && !slices.Contains(o.only, g.Name) {
			continue
		}
		if g.Version, err = g.Find(); err != nil {
			if len(o.only) > 0 {
				return nil, err
			}
			fmt.Fprintln(log, "left out: "+err.Error())
			continue
		}
		all := bench.Suites(g)
		for _, name := range o.suites {
			i := slices.IndexFunc(all, func(s bench.Suite) bool { return s.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("no suite %q (see mcpbench run --help)", name)
			}
			s := all[i]
			s.Cells = slices.DeleteFunc(s.Cells, func(c bench.Cell) bool {
				return slices.ContainsFunc(o.filters, func(text string) bool { return !strings.Contains(c.String(), text) })
			})
			for i := range s.Cells {
				s.Cells[i].Alone = s.Cells[i].Alone || o.against != ""
			}
			jobs = append(jobs, job{g, s})
		}
	}
	for _, name := range o.only {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no gateway %q: known are %s", name, strings.Join(known, ", "))
		}
	}
	if !slices.ContainsFunc(jobs, func(j job) bool { return len(j.suite.Cells) > 0 }) {
		return nil, errors.New("nothing to measure: no gateway is installed, or no cell of the suites suits it and --cell")
	}
	return jobs, nil
}

// compareTimes is how often a cell must be dearer than allowed, as the machine may be busy at times.
const compareTimes = 3

// compare fails when cells have become dearer than the figures in a file.
func (o *options) compare(ctx context.Context, jobs []job, rows []*bench.Row, out io.Writer) error {
	before, err := readReports(o.against)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		lines, dearer := bench.Compare(rows, before)
		fmt.Fprintf(out, "\nagainst %s of %s:\n%s\n", o.against, before.When.Format(time.DateOnly), strings.Join(lines, "\n"))
		switch {
		case len(lines) == 0:
			return fmt.Errorf("%s has none of the cells that were measured", o.against)
		case len(dearer) == 0:
			return nil
		case n == compareTimes:
			return fmt.Errorf("%d cells cost more CPU time than the figures in %s allow", len(dearer), o.against)
		}
		for i, j := range jobs {
			jobs[i].suite.Cells = slices.DeleteFunc(j.suite.Cells, func(c bench.Cell) bool {
				return !slices.ContainsFunc(dearer, func(row *bench.Row) bool { return row.Gateway == j.gateway.Name && row.Cell == c })
			})
		}
		if rows = o.run(ctx, jobs); ctx.Err() != nil {
			return errors.New("interrupted")
		}
	}
}

func prepareReport(f *pflag.FlagSet) action {
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
		if *page == "" {
			fmt.Fprint(out, report.Text(all))
		}
		return nil
	}
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
