package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/logbook"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// askTime bounds the answer of a program that runs.
const askTime = 15 * time.Second

// remote is a command to programs that run: those of the user, or of one config.
type remote struct {
	*sourceFlags
	config   string
	json     bool
	patience time.Duration // within which a program must say that it is there; 0 means askTime
}

func newRemote(name, usage, about string, std streams) *remote {
	r := &remote{sourceFlags: newFlags(name, usage, about, std)}
	r.StringVar(&r.config, "config", "", "only the daemon and servers of the config in this `FILE`")
	r.BoolVar(&r.json, "json", false, "print JSON")
	return r
}

// ask sends a command to all programs at once, and calls take with each line of JSON of the answers, one at
// a time. It returns how many programs there are, and the errors of those that have not answered, with what names each. An
// error of take ends all.
func (r *remote) ask(ctx context.Context, command *daemon.Command, take func(line []byte) error) (asked int, err error) {
	places, err := daemon.Running()
	if err != nil {
		return 0, err
	}
	if r.config != "" {
		own, err := daemon.OfProcess(r.config)
		if err != nil {
			return 0, err
		}
		r.config = own.Config
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex // guards what follows, and asked, and is held during take
	var failed error  // of take
	var errs []error
	var asking sync.WaitGroup
	for _, place := range places {
		asking.Go(func() {
			answered, err := r.askOne(ctx, place, command, func(line []byte) error {
				mu.Lock()
				defer mu.Unlock()
				if failed == nil {
					failed = take(line)
				}
				if failed != nil {
					cancel()
				}
				return failed
			})
			if err != nil {
				err = fmt.Errorf("%s: %w", programAt(place), err)
			}
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			if answered {
				asked++
			}
		})
	}
	asking.Wait()
	return asked, cmp.Or(failed, errors.Join(errs...))
}

// programAt names the program at a place: that of a daemon says nothing of its process.
func programAt(p daemon.Place) string {
	if pid, ok := strings.CutPrefix(p.Key(), "process-"); ok {
		return "the program with pid " + pid
	}
	return "the daemon " + p.Key()
}

// askOne sends a command to the program at a place, and reports whether there is one that it is about.
func (r *remote) askOne(ctx context.Context, place daemon.Place, command *daemon.Command, take func(line []byte) error) (answered bool, err error) {
	version, _ := build()
	patience := cmp.Or(r.patience, askTime)
	dialing, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	conn, err := daemon.Dial(dialing, place, &daemon.Hello{Version: version, Command: command, OfConfig: r.config})
	cancel()
	var refused *daemon.RefusedError
	switch {
	case errors.Is(err, daemon.ErrNone), errors.As(err, &refused) && refused.Reason == daemon.OtherConfig:
		return false, nil
	case err != nil:
		return false, err
	}
	defer conn.Close()
	ends := command.Name == "stop" && command.Server == ""
	err = eachLine(ctx, conn, func(line []byte) error {
		var a answer
		if command.Name == "drain" && json.Unmarshal(line, &a) == nil { // a daemon answers nothing, and stays
			ends = a != answer{}
		}
		return take(line)
	})
	if err == nil && ends {
		err = awaitEnd(ctx, conn.PID)
	}
	return true, err
}

// eachLine calls take with each line until there is no more or ctx ends.
func eachLine(ctx context.Context, conn *daemon.Conn, take func(line []byte) error) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	lines := bufio.NewScanner(conn.In)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := take(lines.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer in time: %w", context.Cause(ctx))
	}
	return cmp.Or(context.Cause(ctx), lines.Err())
}

// awaitEnd waits until a process has ended, unless this one ends with it. It polls, as no system tells that of a
// process that is not a child.
func awaitEnd(ctx context.Context, pid int) error {
	if pid == os.Getpid() || pid == 1 || os.Getppid() == 0 { // it is the first one of a container, which this one was started in
		return nil
	}
	for !hasEnded(pid) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("process %d has not ended", pid)
		}
	}
	return nil
}

// nothingRuns is the error of a command that found no program.
func (r *remote) nothingRuns() error {
	what := "no daemon and no serve of yours is running"
	if r.config != "" {
		what = "nothing is running for " + r.config
	}
	return &exitError{exitAway, what + " (an editor starts the daemon with mcpbridge stdio)"}
}

func runPs(ctx context.Context, args []string, std streams) error {
	r := newRemote("ps", "ps [--config FILE] [--all] [--json]", "Lists the daemons and serves of yours that run, with their servers.", std)
	everywhere := r.Bool("all", false, "also what runs on the other nodes of their cluster")
	if err := r.parseWords(args, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	all := []processState{}
	_, err := r.ask(ctx, &daemon.Command{Name: "ps", All: *everywhere}, func(line []byte) error {
		var st processState
		if err := json.Unmarshal(line, &st); err != nil {
			return err
		}
		all = append(all, st)
		return nil
	})
	all = merge(all)
	switch {
	case err != nil && len(all) == 0:
		return err
	case r.json:
		return cmp.Or(json.NewEncoder(std.out).Encode(all), err)
	case len(all) == 0:
		return r.nothingRuns()
	case *everywhere:
		return cmp.Or(printNodes(std.out, all, time.Now()), err)
	}
	for i, st := range all {
		if i > 0 {
			fmt.Fprintln(std.out)
		}
		if err := st.print(std.out, time.Now()); err != nil {
			return err
		}
	}
	return err
}

// parseWords parses the arguments of a command with at most some words.
func (r *remote) parseWords(args []string, most int) error {
	if err := r.parseOwn(args); err != nil {
		return err
	}
	if r.NArg() > most {
		return usagef("%s: unexpected argument %s", r.Name(), hint.Quote(r.Arg(most)))
	}
	return nil
}

// print prints a program and a table of its servers.
func (st *processState) print(w io.Writer, now time.Time) error {
	st.printTitle(w, "", now)
	if err := st.printServers(w, now); err != nil {
		return err
	}
	return st.printQuotas(w)
}

// printTitle prints a program behind front, and why none of its calls run.
func (st *processState) printTitle(w io.Writer, front string, now time.Time) {
	output.Item(w, front+st.Kind+" ", st.title(now))
	switch {
	case st.Stopped == "":
	case st.Held: // nobody has stopped them
		output.Item(w, "", "no call runs yet: "+terminal.Inline(st.Stopped))
	default:
		output.Item(w, "", "all calls are stopped (mcpbridge stop --lift ends that): "+terminal.Inline(st.Stopped))
	}
}

// title says where a program is, and what it does.
func (st *processState) title(now time.Time) string {
	about := []string{"pid " + strconv.Itoa(st.PID), "up " + age(now.Sub(st.Since))}
	if st.Memory > 0 {
		about = append(about, bytesOf(st.Memory))
	}
	about = append(about, plural(st.Callers, "client"), plural(st.Calls, "call"))
	if st.Refused > 0 {
		about = append(about, strconv.FormatInt(st.Refused, 10)+" refused")
	}
	where := strings.TrimSpace(st.url() + " " + st.Config)
	return where + " (" + strings.Join(about, ", ") + ")"
}

// url returns where a serve listens, "" for a daemon.
func (st *processState) url() string {
	switch {
	case st.Listen == "":
		return ""
	case st.TLS:
		return "https://" + st.Listen
	}
	return "http://" + st.Listen
}

// maxQuotas is how many quotas are printed: the fullest.
const maxQuotas = 20

// printQuotas prints what has been used of daily rates.
func (st *processState) printQuotas(w io.Writer) error {
	if len(st.Quotas) == 0 {
		return nil
	}
	rows := [][]string{{"CALLS TODAY", "OF", "TOOLS", "PRINCIPAL", "PROFILE"}}
	for _, q := range st.Quotas[:min(len(st.Quotas), maxQuotas)] {
		principal := orDash(q.Principal)
		if q.Shared {
			principal = "all together"
		}
		rows = append(rows, []string{strconv.Itoa(q.Used), strconv.Itoa(q.Calls), q.Match, principal, orDash(q.Profile)})
	}
	if err := output.Table(w, output.Width(w), rows); err != nil || len(st.Quotas) <= maxQuotas {
		return err
	}
	_, err := fmt.Fprintf(w, "and %s of which less was used (--json has all)\n", plural(len(st.Quotas)-maxQuotas, "quota"))
	return err
}

// printServers prints a table of the servers, and what should be known of them.
func (st *processState) printServers(w io.Writer, now time.Time) error {
	if len(st.Servers) == 0 {
		return nil
	}
	rows := [][]string{serverColumns()}
	for _, s := range st.Servers {
		rows = append(rows, s.row(now))
	}
	if err := printTable(w, rows); err != nil {
		return err
	}
	told := ""
	for _, s := range st.Servers { // those of one name follow each other
		if s.Name != told {
			s.printAccess(w, now, st.ofConfig())
		}
		told = s.Name
	}
	return nil
}

// ofConfig returns the end of a proposed command: the config of the program, unless commands find that by themselves.
func (st *processState) ofConfig() string {
	found, err := config.Find("")
	if own, _ := daemon.OfProcess(found); st.Config == "" || err == nil && own.Config == st.Config {
		return ""
	}
	return " --config " + hint.ShellWord(st.Config)
}

func serverColumns() []string {
	return []string{"NAME", "STATE", "SINCE", "PID", "MEMORY", "CLIENTS", "CALLS", "FAILED", "TOOLS", "LAST LINE"}
}

// row is the row of a server in a table with serverColumns.
func (s *serverState) row(now time.Time) []string {
	last := cmp.Or(s.Reason, s.Line)
	if last == "" && s.Node != "" {
		last = "node " + s.Node + " has it"
	}
	if s.State == string(mcpclient.Failed) {
		last += " (" + hint.Command("mcpbridge logs", "", s.Name) + ")"
	}
	return []string{s.Name, s.State, since(s.Since, now), orDash(s.PID), orDash(bytesOf(s.Memory)),
		strconv.Itoa(s.Callers), strconv.Itoa(s.Calls), strconv.Itoa(s.Failed), strconv.Itoa(s.Tools), last}
}

// printTable prints a table with serverColumns, or those for which there is room.
func printTable(w io.Writer, rows [][]string) error {
	columns := output.Width(w)
	return output.Table(w, columns, output.Narrow(columns, rows, "PID", "MEMORY", "SINCE", "FAILED", "TOOLS"))
}

// printAccess prints who is logged in to a server, its sandbox, how much of it is held back, and what should be looked at. Proposed
// commands end with same.
func (s *serverState) printAccess(w io.Writer, now time.Time, same string) {
	front := terminal.Inline(s.Name) + ": "
	if s.Login != nil {
		output.Item(w, front, "logged in "+loginLine(s.Login, now))
	}
	if s.Wanted != "" && s.Wanted != s.Reason { // it is up, and its calls fail
		output.Item(w, front, terminal.Inline(s.Wanted))
	}
	if s.Accounts != nil {
		output.Item(w, front, accountsLine(s.Accounts))
	}
	if s.Sandbox != "" {
		output.Item(w, front, "sandbox: "+terminal.Inline(s.Sandbox))
	}
	if s.Held > 0 {
		output.Item(w, front, fmt.Sprintf("%d held back (mcpbridge pins %s%s)", s.Held, terminal.Inline(hint.ShellWord(s.Name)), same))
	}
	if s.Findings > 0 {
		output.Item(w, front, fmt.Sprintf("%s on what it defines (mcpbridge check%s)", plural(s.Findings, "note"), same))
	}
}

func orDash[T comparable](v T) string {
	var zero T
	if v == zero {
		return "-"
	}
	return fmt.Sprint(v)
}

func since(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return age(now.Sub(t))
}

// age is a duration in its largest unit: 5s, 12m, 3h, 9d.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// bytesOf is a size in MB, "" for none.
func bytesOf(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt((n+500_000)/1_000_000, 10) + " MB"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func runLogs(ctx context.Context, args []string, std streams) error {
	r := newRemote("logs", "logs [NAME] [-f] [-n LINES] [--config FILE] [--json]",
		"Prints the latest lines of the log of the running daemons and serves, or of one\nserver: its standard error, and what happened to it.", std)
	follow := r.BoolP("follow", "f", false, "also print new lines, until interrupted")
	last := r.IntP("lines", "n", 100, "print the last `LINES`; a negative number prints all")
	if err := r.parseWords(args, 1); err != nil {
		return err
	}
	command := &daemon.Command{Name: "logs", Server: r.Arg(0), Last: *last, Follow: *follow}
	var failed []string
	asked, err := r.ask(ctx, command, func(line []byte) error {
		var l struct {
			logbook.Line
			answer
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		if l.Error != "" {
			failed = append(failed, l.Error)
			return nil
		}
		if r.json {
			_, err := fmt.Fprintf(std.out, "%s\n", line)
			return err
		}
		if l.Lost > 0 {
			fmt.Fprintf(std.out, "… %s are no longer kept\n", plural(l.Lost, "line"))
		}
		server := ""
		if l.Server != "" && r.Arg(0) == "" {
			server = terminal.Inline(l.Server) + ": "
		}
		indent := l.Text[:len(l.Text)-len(strings.TrimLeft(l.Text, " "))]
		_, err := fmt.Fprintf(std.out, "%s %-6s %s%s\n", l.Time.Format("2006-01-02 15:04:05"), cmp.Or(l.From, l.Level.String()),
			server, indent+terminal.Inline(l.Text))
		return err
	})
	switch {
	case err != nil:
		return err
	case asked == 0:
		return r.nothingRuns()
	case len(failed) == asked:
		return &exitError{exitUsage, strings.Join(failed, "\n")}
	case *follow:
		return &exitError{exitAway, "no more comes: what was followed has ended (mcpbridge ps lists what runs)"}
	}
	return nil
}

func runRestart(ctx context.Context, args []string, std streams) error {
	r := newRemote("restart", "restart NAME [--config FILE]", "Ends the processes and connections of a server and starts it again. Its callers\nstay; calls under way fail, unless their tool is read-only or idempotent.", std)
	if err := r.parseWords(args, 1); err != nil {
		return err
	}
	if r.NArg() == 0 {
		return usagef("restart: expected the name of a server (mcpbridge ps lists them)")
	}
	return r.change(ctx, std)
}

const stopAbout = `Ends a server until mcpbridge restart; its callers stay. Without a name it ends
the running daemons and serves; the next mcpbridge stdio starts a daemon again.
With --all-calls servers stay up and every call is denied until --lift, also by
programs that start in the meantime.`

func runStop(ctx context.Context, args []string, std streams) error {
	r := newRemote("stop", "stop [NAME | --all-calls | --lift] [--config FILE]", stopAbout, std)
	reason := r.String("all-calls", "", "deny all calls, for a `REASON` that callers are told")
	r.Lookup("all-calls").NoOptDefVal = noReason
	lift := r.Bool("lift", false, "let calls run again")
	if err := r.parseWords(args, 1); err != nil {
		return err
	}
	if *lift || r.Changed("all-calls") {
		return r.stopCalls(ctx, *reason, *lift, std)
	}
	return r.change(ctx, std)
}

func runReload(ctx context.Context, args []string, std streams) error {
	r := newRemote("reload", "reload [--config FILE]", "Makes the running daemons and serves read their configs again.\nUnchanged servers keep their processes and calls.", std)
	if err := r.parseWords(args, 0); err != nil {
		return err
	}
	return r.change(ctx, std)
}

// change sends the command that changes something. A program without the server that is named does not
// count if another has it.
func (r *remote) change(ctx context.Context, std streams) error {
	done, asked, failed, err := r.answers(ctx, &daemon.Command{Name: r.Name(), Server: r.Arg(0)}, std)
	switch {
	case err != nil:
		return err
	case asked == 0:
		return r.nothingRuns()
	case len(failed) > 0 && (!done || r.Arg(0) == ""):
		return &exitError{exitUsage, strings.Join(failed, "\n")}
	case !done && len(failed) == 0:
		return &exitError{exitAway, "what was asked has ended before it answered (mcpbridge ps lists what runs)"}
	}
	return nil
}

// answers sends a command to what runs and prints what was done, and returns how many programs there are, whether
// one has done it, and why others have not.
func (r *remote) answers(ctx context.Context, command *daemon.Command, std streams) (done bool, asked int, failed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	asked, failed, err = r.askDone(ctx, command, func(line []byte, what string) error {
		done = true
		if r.json {
			_, err := fmt.Fprintf(std.out, "%s\n", line)
			return err
		}
		_, err := fmt.Fprintln(std.out, what)
		return err
	})
	return done, asked, failed, err
}

// askDone is ask for a command of which each program says what it has done, or why it has not, which failed has.
func (r *remote) askDone(ctx context.Context, command *daemon.Command, take func(line []byte, done string) error) (asked int, failed []string, err error) {
	asked, err = r.ask(ctx, command, func(line []byte) error {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		if a.Error != "" {
			failed = append(failed, a.Error)
			return nil
		}
		return take(line, a.Done)
	})
	return asked, failed, err
}
