package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/host"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/report"
)

//go:embed gateways.json
var gatewaysFile string

func runRun(ctx context.Context, args []string, out, log io.Writer) error {
	f := newFlags("run", out)
	file, home := addGateways(f)
	only := f.StringArray("only", nil, "measure only the gateways with this `NAME`; may be repeated. Default: all that are installed")
	suites := f.StringArray("suite", []string{"calls"}, "what to measure, by `NAME`; may be repeated: "+suiteNames())
	filter := f.StringArray("cell", nil, "measure only cells whose line contains this `TEXT`, as \"C=32\" or \"-> stdio\"; may be repeated, all must match")
	pairs := f.Int("pairs", 4, "measure each cell `N` times")
	again := f.Int("again", 2, "measure a pair that the machine disturbed again, at most `N` times")
	length := f.Duration("for", time.Second, "the `TIME` of a measurement")
	warm := f.Duration("warm", 300*time.Millisecond, "the `TIME` of the load before each, which does not count")
	write := f.String("json", "", "write the figures into this `FILE`, too")
	against := f.String("against", "", "measure only the floor beside the gateways, and fail if CPU time a call over the floor's has risen by more than a fifth against the figures in this `FILE`")
	if done, err := f.parse(args, false); done || err != nil {
		return err
	}
	chosen, err := chooseSuites(*suites)
	if err != nil {
		return err
	}
	gateways, err := chooseGateways(*file, *home, *only, log)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if *pairs < 1 || *length <= 0 {
		return usagef("run: expected --pairs of at least 1 and a positive --for")
	}
	r := &bench.Runner{
		Self: self, Home: *home, Pairs: *pairs, Again: *again, Warm: *warm, Length: *length,
		Log: func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) },
	}
	all := &bench.Report{
		When: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), CPU: host.CPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	for _, g := range gateways {
		for _, s := range chosen {
			cells := slices.DeleteFunc(s.Cells(g.Gateway), func(c bench.Cell) bool {
				return slices.ContainsFunc(*filter, func(text string) bool { return !strings.Contains(c.String(), text) })
			})
			for i := range cells {
				cells[i].Alone = cells[i].Alone || *against != ""
			}
			all.Rows = append(all.Rows, r.Run(ctx, g.Gateway, g.version, s.Name, cells)...)
		}
	}
	if len(all.Rows) == 0 {
		return usagef("run: nothing to measure: no cell of the suites suits the gateways and --cell")
	}
	if err := finish(ctx, all, *write, out); err != nil || *against == "" {
		return err
	}
	return compare(ctx, r, gateways, all, *against, out)
}

// finish writes the figures, shows them, and returns an error if a cell failed.
func finish(ctx context.Context, all *bench.Report, file string, out io.Writer) error {
	if err := writeReport(all, file); err != nil {
		return err
	}
	fmt.Fprint(out, report.Text(all))
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	failed := 0
	for _, row := range all.Rows {
		if row.Error != "" {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cells failed", failed, len(all.Rows))
	}
	return nil
}

// compareTimes is how often a cell must be dearer than allowed, as the machine may be busy at times.
const compareTimes = 3

// compare fails when cells have become dearer than the figures in a file.
func compare(ctx context.Context, r *bench.Runner, gateways []installed, now *bench.Report, file string, out io.Writer) error {
	before, err := readReports([]string{file})
	if err != nil {
		return err
	}
	lines, dearer := bench.Compare(now, before)
	if len(lines) == 0 {
		return fmt.Errorf("%s has none of the cells that were measured", file)
	}
	fmt.Fprintf(out, "\nagainst %s of %s:\n%s\n", file, before.When.Format(time.DateOnly), strings.Join(lines, "\n"))
	for n := 1; n < compareTimes && len(dearer) > 0; n++ {
		fmt.Fprintf(out, "\nonce more: %d cells\n", len(dearer))
		again := &bench.Report{}
		for _, g := range gateways {
			var cells []bench.Cell
			for _, row := range dearer {
				if row.Gateway == g.Name {
					cells = append(cells, row.Cell)
				}
			}
			again.Rows = append(again.Rows, r.Run(ctx, g.Gateway, g.version, "", cells)...)
		}
		lines, dearer = bench.Compare(again, before)
		fmt.Fprintln(out, strings.Join(lines, "\n"))
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if len(dearer) > 0 {
		return fmt.Errorf("%d cells cost more CPU time than the figures in %s allow", len(dearer), file)
	}
	return nil
}

func suiteNames() string {
	var names []string
	for _, s := range bench.Suites() {
		names = append(names, s.Name+" ("+s.About+")")
	}
	return strings.Join(names, ", ")
}

func chooseSuites(names []string) (chosen []bench.Suite, err error) {
	all := bench.Suites()
	for _, name := range names {
		i := slices.IndexFunc(all, func(s bench.Suite) bool { return s.Name == name })
		if i < 0 {
			return nil, usagef("run: no suite %q: expected %s", name, suiteNames())
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// addGateways adds the flags that tell which gateways there are.
func addGateways(f *flags) (file, home *string) {
	return f.String("gateways", "", "read the descriptions of gateways from this `FILE` instead of those built in"),
		f.String("home", "gateways", "the `FOLDER` that gateways are installed in")
}

func readGateways(file string) ([]bench.Gateway, error) {
	if file == "" {
		return bench.ReadGateways(strings.NewReader(gatewaysFile))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return bench.ReadGateways(bytes.NewReader(text))
}

// installed is a gateway that is there.
type installed struct {
	bench.Gateway
	version string
}

// chooseGateways returns the named gateways, or all that are installed.
func chooseGateways(file, home string, only []string, log io.Writer) (chosen []installed, err error) {
	all, err := readGateways(file)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, g := range all {
		known = append(known, g.Name)
		if len(only) > 0 && !slices.Contains(only, g.Name) {
			continue
		}
		version, err := g.Find(home)
		switch {
		case err == nil:
			chosen = append(chosen, installed{g, version})
		case len(only) > 0:
			return nil, err
		default:
			fmt.Fprintln(log, "left out: "+err.Error())
		}
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, usagef("no gateway %q: known are %s", name, strings.Join(known, ", "))
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no gateway is installed")
	}
	return chosen, nil
}
