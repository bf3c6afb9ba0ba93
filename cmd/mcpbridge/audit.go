package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/audit"
	"github.com/mcpbridge/mcpbridge/bridge/ledger"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// ledgerFile returns the file of a config's ledger: its own, else one in the folder of the program's state.
func ledgerFile(cfg *config.Config) (string, error) {
	if cfg.Ledger.File != "" || cfg.Path == "" {
		return cfg.Ledger.File, nil
	}
	return stateOf(cfg, "ledgers", ".jsonl")
}

// stateOf returns the path of a config's own file in a folder of the program's state.
func stateOf(cfg *config.Config, folder, ext string) (string, error) {
	sum := sha256.Sum256([]byte(file.Real(cfg.Path)))
	return file.State(filepath.Join(folder, hex.EncodeToString(sum[:16])+ext))
}

const auditVerifyAbout = `Checks that no line of the audit was changed, removed or added since it was written: each
has the hash of what is before it. Says which lines there are, or where the chain breaks.`

func runAuditVerify(ctx context.Context, args []string, std streams) error {
	f := newFlags("audit verify", "audit verify [FILE] [flags]", auditVerifyAbout, std)
	config := f.configFlag("check the audit of this `FILE`")
	all := f.Bool("all", false, "check the audits of all nodes of the cluster")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	if *all {
		return f.verifyNodes(ctx, *config, std)
	}
	path, err := f.auditFile(*config)
	if err != nil {
		return err
	}
	chain, err := audit.Verify(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("audit verify: %s does not exist: no call has been written to it yet", path)
	case err != nil:
		return err
	}
	output.Item(std.out, "", path+": "+aboutChain(chain))
	return nil
}

// aboutChain says what Verify has found.
func aboutChain(chain audit.Chain) string {
	about := "no call has been written yet"
	if chain.Last > 0 {
		about = fmt.Sprintf("lines %d to %d are as they were written", chain.First, chain.Last)
	}
	if chain.Torn > 0 {
		about += ", and " + plural(chain.Torn, "line") + " that a crash has torn"
	}
	return about
}

// namedFile returns the file that the arguments of a command name; "" if they name none.
func (f *sourceFlags) namedFile() (string, error) {
	if f.NArg() > 1 {
		return "", usagef("%s: unexpected argument %s", f.Name(), hint.Quote(f.Arg(1)))
	}
	return f.Arg(0), nil
}

// auditFile returns the file that the arguments of a command name, else that of a config's audit.
func (f *sourceFlags) auditFile(path string) (string, error) {
	if named, err := f.namedFile(); named != "" || err != nil {
		return named, err
	}
	cfg, err := f.loadConfig(path)
	if err == nil && cfg.Audit.File == "" {
		err = usagef(`%s: %s has no "audit": name its file`, f.Name(), cfg.Path)
	}
	if err != nil {
		return "", err
	}
	return cfg.Audit.File, nil
}

// loadConfig loads the config at a path, or where it is looked for.
func (f *sourceFlags) loadConfig(path string) (*config.Config, error) {
	found, err := findConfig(f.Name(), path)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(found)
	if err != nil {
		return nil, &exitError{exitUsage, err.Error()}
	}
	return cfg, nil
}

const auditQueryAbout = `Prints the calls of the audit that the flags ask for, oldest first. With --unknown those of the
ledger of which it is unknown whether they ran: look before you make them again.`

// auditQuery is what a query asks for.
type auditQuery struct {
	Principal, Client, Tool, Server, Outcome, Decision string
	Since, Until                                       time.Time

	asJSON bool
}

func runAuditQuery(ctx context.Context, args []string, std streams) error {
	f := newFlags("audit query", "audit query [FILE] [flags]", auditQueryAbout, std)
	q, times := auditQuery{}, [2]string{}
	config := f.configFlag("query the audit of this `FILE`")
	f.StringVar(&q.Principal, "principal", "", "only calls of this `NAME`")
	f.StringVar(&q.Client, "client", "", "only calls of clients whose name matches this `PATTERN`")
	f.StringVar(&q.Tool, "tool", "", "only calls of tools that match this `PATTERN`")
	f.StringVar(&q.Server, "server", "", "only calls that went to this `SERVER`")
	f.StringVar(&q.Outcome, "outcome", "", "only calls with this `OUTCOME`, such as ok, tool_error or denied")
	f.StringVar(&q.Decision, "decision", "", "only calls with this `DECISION` of the policy: allow, deny or ask")
	f.StringVar(&times[0], "since", "", "only calls from this `TIME` on: 2026-11-27, 2026-11-27T06:38:40Z, or 24h for the last day")
	f.StringVar(&times[1], "until", "", "only calls before this `TIME`")
	unknown := f.Bool("unknown", false, "print the calls of the ledger of which it is unknown whether they ran")
	all := f.Bool("all", false, "query the audits of all nodes of the cluster")
	f.BoolVar(&q.asJSON, "json", false, "print a line of JSON for each call")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	err := cmp.Or(unknownWord("--outcome", q.Outcome, outcomes()), unknownWord("--decision", q.Decision, decisions()))
	if err != nil {
		return err
	}
	for i, t := range []*time.Time{&q.Since, &q.Until} {
		if *t, err = parseMoment(times[i], time.Now()); err != nil {
			return usagef("audit query: %s: %s", []string{"--since", "--until"}[i], err)
		}
	}
	if *unknown {
		return f.queryLedger(*config, &q, std)
	}
	if *all {
		return f.queryNodes(ctx, *config, &q, std)
	}
	path, err := f.auditFile(*config)
	if err != nil {
		return err
	}
	rows := [][]string{auditColumns()}
	err = audit.Read(ctx, path, func(raw []byte, l *audit.Line) {
		switch {
		case !q.asksLine(l):
		case q.asJSON:
			fmt.Fprintf(std.out, "%s\n", raw)
		default:
			rows = append(rows, auditRow(l))
		}
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("audit query: %s does not exist: no call has been written to it yet", path)
	case err != nil:
		return err
	}
	return q.table(rows, std)
}

// outcomes returns the words for how a call ended.
func outcomes() []string {
	words := []string{string(observe.OK), string(observe.ToolError), string(observe.InputRequired), string(observe.ServerError)}
	for code := toolformat.Internal; code <= toolformat.Canceled; code++ {
		words = append(words, code.String())
	}
	return words
}

// decisions returns the words for what the policy decides about a call.
func decisions() []string {
	return []string{string(policy.Allow), string(policy.Deny), string(policy.Ask)}
}

// unknownWord returns an error for a word of a flag that is not among the known ones.
func unknownWord(flag, word string, known []string) error {
	if word == "" || slices.Contains(known, word) {
		return nil
	}
	return usagef("audit query: %s: unknown word %s%s", flag, hint.Quote(word), hint.DidYouMean(word, known))
}

// parseMoment parses a time, a day, or how long ago it is. "" is the zero time.
func parseMoment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	for _, format := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.ParseInLocation(format, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is no time: expected one such as 2026-11-27T06:38:40Z, a day, or 24h", hint.Quote(text))
}

// asks reports whether the query asks for a call, as far as an audit and a ledger know it.
func (q *auditQuery) asks(at time.Time, principal, client, tool, server string) bool {
	matches := func(pattern, name string) bool {
		ok, err := bridge.Match(pattern, name)
		return pattern == "" || ok && err == nil
	}
	return !at.Before(q.Since) && (q.Until.IsZero() || at.Before(q.Until)) &&
		(q.Principal == "" || q.Principal == principal) && (q.Server == "" || q.Server == server) &&
		matches(q.Client, client) && matches(q.Tool, tool)
}

// asksLine reports whether the query asks for a line of an audit.
func (q *auditQuery) asksLine(l *audit.Line) bool {
	return q.asks(l.Time, l.Principal, l.Client, l.Target, l.Server) && (q.Outcome == "" || q.Outcome == l.Outcome) && (q.Decision == "" || q.Decision == l.Decision)
}

func auditColumns() []string {
	return []string{"TIME", "PRINCIPAL", "CLIENT", "SERVER", "OUTCOME", "DECISION", "BY", "TARGET"}
}

func auditRow(l *audit.Line) []string {
	return []string{
		l.Time.Local().Format(time.DateTime), cmp.Or(l.Principal, "-"), cmp.Or(l.Client, "-"), cmp.Or(l.Server, "-"),
		l.Outcome, cmp.Or(strings.TrimSpace(l.Decision+" "+l.Rule), "-"), cmp.Or(l.By, "-"), cmp.Or(l.Target, l.Method),
	}
}

// table prints what was found.
func (q *auditQuery) table(rows [][]string, std streams) error {
	switch {
	case q.asJSON:
		return nil
	case len(rows) == 1:
		output.Item(std.out, "", "no such call")
		return nil
	}
	return output.Table(std.out, output.Width(std.out), rows)
}

// unknownCall is a call of the ledger as audit query --unknown --json prints it.
type unknownCall struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	Principal string    `json:"principal,omitempty"`
	Client    string    `json:"client,omitempty"`
	Server    string    `json:"server,omitempty"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	Key       string    `json:"key,omitempty"`
}

// queryLedger prints the calls of the ledger of which it is unknown whether they ran.
func (f *sourceFlags) queryLedger(config string, q *auditQuery, std streams) error {
	for _, name := range []string{"all", "outcome", "decision"} {
		if f.Changed(name) {
			return usagef("audit query: --unknown is about the ledger of this machine, which has only calls without an outcome for it: leave out --%s", name)
		}
	}
	path, err := f.namedFile()
	if err != nil {
		return err
	}
	named := path != ""
	if !named {
		cfg, err := f.loadConfig(config)
		if err != nil {
			return err
		}
		if !cfg.Ledger.Enabled {
			return usagef(`audit query: %s has no "ledger": name its file`, cfg.Path)
		}
		if path, err = ledgerFile(cfg); err != nil {
			return err
		}
	}
	calls, err := ledger.Read(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); named && len(calls) == 0 && errors.Is(err, fs.ErrNotExist) { // that of a config is made with its first call
		return usagef("audit query: %s does not exist", path)
	}
	rows := [][]string{{"TIME", "PRINCIPAL", "CLIENT", "SERVER", "ARGUMENTS", "TOOL"}}
	for _, c := range calls {
		if c.Outcome != ledger.Unknown || !q.asks(c.Begun, c.Principal, c.Client, c.Tool, c.Server) {
			continue
		}
		if q.asJSON {
			line, _ := json.Marshal(unknownCall{c.ID, c.Begun, c.Principal, c.Client, c.Server, c.Tool, c.Arguments, c.Key}) // cannot fail
			fmt.Fprintf(std.out, "%s\n", line)
			continue
		}
		rows = append(rows, []string{
			c.Begun.Local().Format(time.DateTime), cmp.Or(c.Principal, "-"), cmp.Or(c.Client, "-"), cmp.Or(c.Server, "-"), c.Arguments, c.Tool,
		})
	}
	return q.table(rows, std)
}
