package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/findings"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func runLint(ctx context.Context, args []string, std streams) error {
	f := newFlags("lint", "lint [flags] [FILE | URL | -- COMMAND [ARG…]]",
		"Reports which tool fails on which provider and why, what was repaired, and what\neach costs in tokens. The tools come from the config, from a FILE of definitions\nin any format (- is standard input), or from a running server.", std)
	providers := f.StringSlice("for", nil, "check only for this `PROVIDER`; may be repeated (default all)")
	asJSON := f.Bool("json", false, "print one JSON object")
	var to []string
	var formats []toolformat.Format
	f.check = func(words []string) (err error) {
		if to, formats, err = lintTargets(*providers); err != nil || len(words) == 0 {
			return err
		}
		if len(words) > 1 {
			return usagef("lint: unexpected argument %s (one FILE or URL at a time)", hint.Quote(words[1]))
		}
		if strings.Contains(words[0], "://") && f.upstream == "" {
			f.upstream = words[0]
		} else {
			f.file = &words[0]
		}
		return nil
	}
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	tools, beside, leftOut, err := lintTools(ctx, f, cfg, std)
	if err != nil {
		return err
	}
	report, err := toolformat.Lint(tools, formats)
	if err != nil {
		return err
	}
	for i, across := range findings.Across(tools) {
		report.Tools[i].Notes = slices.Concat(report.Tools[i].Notes, findings.Of(&tools[i]), across)
	}
	report.Notes = append(report.Notes, beside...)
	if *asJSON {
		err = printLintJSON(std.out, report, to)
	} else {
		err = printLint(std.out, report, to)
	}
	if err != nil {
		return err
	}
	for _, t := range report.Targets {
		if t.Count[toolformat.Impossible] > 0 {
			return &exitError{code: exitFailed}
		}
	}
	return leftOut
}

// lintTargets returns the types of providers to check for, with their formats.
func lintTargets(given []string) (names []string, formats []toolformat.Format, err error) {
	var all []string
	for _, name := range stack.ProviderTypes() {
		format := stack.ToolFormat(name)
		if format == "" {
			continue
		}
		all = append(all, name)
		if len(given) == 0 || slices.Contains(given, name) {
			names, formats = append(names, name), append(formats, format)
		}
	}
	for _, word := range given {
		if !slices.Contains(all, word) {
			return nil, nil, usagef("lint: --for %s: unknown provider%s", hint.Shorten(word), hint.DidYouMean(word, all))
		}
	}
	return names, formats, nil
}

// lintTools returns the tools to check, and what is found in prompts and instructions beside them. leftOut is not
// nil if some tools are missing.
func lintTools(ctx context.Context, f *sourceFlags, cfg *config.Config, std streams) (tools []toolformat.Tool, beside []toolformat.Note, leftOut, err error) {
	if f.file == nil {
		p, list, err := openWaiting(ctx, f, cfg, std.err)
		defer p.close()
		if err != nil {
			return nil, nil, nil, err
		}
		for _, st := range slices.SortedFunc(slices.Values(p.connected), func(a, b stack.ServerState) int { return strings.Compare(a.Name, b.Name) }) {
			for _, n := range findingsBeside(&st) {
				n.Tool = strings.TrimSpace(st.Name + " " + n.Tool)
				beside = append(beside, n)
			}
		}
		return toolsOf(list), beside, p.report(std.err), nil
	}
	reading, err := readDefinitions(ctx, *f.file, "", std, "mcpbridge lint --config")
	if err != nil {
		return nil, nil, nil, err
	}
	if printFaults(std.err, "lint", reading.Faults) {
		leftOut = &exitError{code: exitFailed}
	}
	return reading.Tools, nil, leftOut, nil
}

// printLint prints a block for each tool, in which providers with equal verdicts share a line.
func printLint(w io.Writer, report *toolformat.Report, providers []string) error {
	var b strings.Builder
	for _, tool := range report.Tools {
		name, _ := toolformat.Visible(tool.Name)
		fmt.Fprintf(&b, "%s\n", terminal.Inline(name))
		for _, group := range alike(tool.Verdicts) {
			v := tool.Verdicts[group[0]]
			var names []string
			for _, i := range group {
				names = append(names, providers[i])
			}
			price := ""
			if v.Status != toolformat.Impossible {
				price = ", " + tokenRange(tool.Verdicts, group)
			}
			fmt.Fprintf(&b, "  %s: %s%s\n", v.Status, strings.Join(names, ", "), price)
			writeNotes(&b, "      ", v.Notes)
		}
		writeNotes(&b, "  hint: ", tool.Notes)
	}
	if len(report.Tools) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(number(len(report.Tools), "tool") + "\n")
	for i, t := range report.Targets {
		fmt.Fprintf(&b, "  %s: %d ok, %d repaired, %d impossible, %d tokens\n", providers[i], t.Count[toolformat.OK], t.Count[toolformat.Repaired], t.Count[toolformat.Impossible], t.Tokens)
		writeNotes(&b, "      ", t.Notes)
	}
	for _, n := range report.Notes {
		fmt.Fprintf(&b, "  hint: %s\n", terminal.Inline(n.String()))
	}
	b.WriteString("Tokens are estimated: the bytes of a definition as it is sent, divided by 4.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// alike groups the indices of verdicts that differ in tokens only.
func alike(verdicts []toolformat.Verdict) [][]int {
	var groups [][]int
	for i, v := range verdicts {
		same := func(g []int) bool {
			first := verdicts[g[0]]
			return first.Status == v.Status && slices.EqualFunc(first.Notes, v.Notes, func(a, b toolformat.Note) bool { return a == b })
		}
		if at := slices.IndexFunc(groups, same); at >= 0 {
			groups[at] = append(groups[at], i)
		} else {
			groups = append(groups, []int{i})
		}
	}
	return groups
}

// tokenRange returns the cost of a group of verdicts.
func tokenRange(verdicts []toolformat.Verdict, group []int) string {
	low, high := verdicts[group[0]].Tokens, verdicts[group[0]].Tokens
	for _, i := range group {
		low, high = min(low, verdicts[i].Tokens), max(high, verdicts[i].Tokens)
	}
	if low == high {
		return fmt.Sprintf("%d tokens", low)
	}
	return fmt.Sprintf("%d–%d tokens", low, high)
}

// writeNotes writes notes without the name of their tool.
func writeNotes(b *strings.Builder, front string, notes []toolformat.Note) {
	for _, n := range notes {
		n.Tool = ""
		fmt.Fprintf(b, "%s%s\n", front, terminal.Inline(n.String()))
	}
}

// The output of --json.
type (
	lintJSON struct {
		Tools   []lintToolJSON            `json:"tools"`
		Targets map[string]lintTargetJSON `json:"providers"`
		Notes   []lintNoteJSON            `json:"notes,omitempty"`
		Rule    string                    `json:"token_rule"`
	}
	lintToolJSON struct {
		Name     string                     `json:"name"`
		Notes    []lintNoteJSON             `json:"notes,omitempty"`
		Verdicts map[string]lintVerdictJSON `json:"providers"`
	}
	lintVerdictJSON struct {
		Status string         `json:"status"`
		Name   string         `json:"name,omitempty"`
		Tokens int            `json:"tokens,omitempty"`
		Notes  []lintNoteJSON `json:"notes,omitempty"`
	}
	lintTargetJSON struct {
		OK         int            `json:"ok"`
		Repaired   int            `json:"repaired"`
		Impossible int            `json:"impossible"`
		Tokens     int            `json:"tokens"`
		Notes      []lintNoteJSON `json:"notes,omitempty"`
	}
	lintNoteJSON struct {
		Tool string `json:"tool,omitempty"`
		Path string `json:"path,omitempty"`
		Rule string `json:"rule"`
		Text string `json:"text"`
	}
)

func lintNotesJSON(notes []toolformat.Note, tool string) []lintNoteJSON {
	var all []lintNoteJSON
	for _, n := range notes {
		if n.Tool == tool {
			n.Tool = "" // the note is below its tool
		}
		all = append(all, lintNoteJSON(n))
	}
	return all
}

func printLintJSON(w io.Writer, report *toolformat.Report, providers []string) error {
	out := lintJSON{Tools: []lintToolJSON{}, Targets: map[string]lintTargetJSON{}, Notes: lintNotesJSON(report.Notes, ""), Rule: "bytes/4"}
	for _, tool := range report.Tools {
		t := lintToolJSON{Name: tool.Name, Notes: lintNotesJSON(tool.Notes, tool.Name), Verdicts: map[string]lintVerdictJSON{}}
		for i, v := range tool.Verdicts {
			t.Verdicts[providers[i]] = lintVerdictJSON{v.Status.String(), v.Name, v.Tokens, lintNotesJSON(v.Notes, tool.Name)}
		}
		out.Tools = append(out.Tools, t)
	}
	for i, t := range report.Targets {
		out.Targets[providers[i]] = lintTargetJSON{t.Count[toolformat.OK], t.Count[toolformat.Repaired], t.Count[toolformat.Impossible], t.Tokens, lintNotesJSON(t.Notes, "")}
	}
	return printJSON(w, out)
}
