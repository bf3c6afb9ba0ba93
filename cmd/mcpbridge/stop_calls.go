package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/watch"
)

// stoppedFile is the file that says why all calls are stopped, in the folder of the program's state.
const stoppedFile = "stopped"

// noReason is why calls are stopped if nobody has said it.
const noReason = "stopped by the operator"

// Who has stopped all calls: the file, or the cluster.
const stoppedHere, stoppedCluster = "file", "cluster"

// heedStop stops all calls if they are to be stopped, and lets them run again if not.
func heedStop(desk *policy.Desk, log *slog.Logger) {
	path, err := file.State(stoppedFile)
	if err != nil { // no home, and nobody who could have stopped them
		return
	}
	before := desk.Stopped()
	switch reason, err := os.ReadFile(path); {
	case err == nil:
		if desk.Stop(stoppedHere, cmp.Or(strings.TrimSpace(string(reason)), noReason)); before != desk.Stopped() {
			log.Warn("all calls are stopped (mcpbridge stop --lift ends that)", "reason", desk.Stopped())
		}
	case errors.Is(err, fs.ErrNotExist):
		if desk.Resume(stoppedHere); before != "" && desk.Stopped() == "" {
			log.Info("calls run again")
		}
	default:
		desk.Stop(stoppedHere, "it cannot be read whether they may run: "+err.Error())
		log.Error("all calls are stopped: it cannot be read whether they may run", "reason", err)
	}
}

// watchStops has a program notice that all calls are stopped, or run again, which nobody can tell it.
func (p *program) watchStops() {
	path, err := file.State(stoppedFile)
	if err != nil {
		return
	}
	if p.stops, err = watch.New([]string{path}, func() { heedStop(p.Approvals, p.log) }, p.log); err != nil {
		p.log.Warn("mcpbridge stop --all-calls will not be noticed", "reason", err)
	}
}

// endStops ends what watchStops has begun.
func (p *program) endStops() {
	if p.stops != nil {
		p.stops.Close()
	}
}

// stopCalls stops all calls of this user's programs, or lets them run again: those that run are told, and those
// that start read it in a file.
func (r *remote) stopCalls(ctx context.Context, reason string, lift bool, std streams) error {
	switch {
	case r.config != "":
		return usagef("stop: --all-calls and --lift are for all that runs, without --config")
	case r.NArg() > 0:
		return usagef("stop: --all-calls and --lift take no server (with a reason: --all-calls=REASON)")
	case lift && r.Changed("all-calls"):
		return usagef("stop: expected --all-calls or --lift")
	}
	path, err := file.State(stoppedFile)
	if err != nil {
		return err
	}
	command, done := &daemon.Command{Name: "lift"}, "calls run again"
	if lift {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	} else {
		reason = cmp.Or(reason, noReason)
		command = &daemon.Command{Name: "stop-calls", Reason: reason}
		done = "all calls are stopped, also of what starts, until mcpbridge stop --lift"
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(reason+"\n"), 0o600); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var all stoppedCalls
	asked, err := r.ask(ctx, command, func(line []byte) error {
		var of stoppedCalls
		err := json.Unmarshal(line, &of)
		all.Denied, all.Running = all.Denied+of.Denied, all.Running+of.Running
		return err
	})
	if r.json {
		all.Done = done
		return cmp.Or(json.NewEncoder(std.out).Encode(all), err)
	}
	told := plural(asked, "program") + " told"
	if !lift && asked > 0 {
		told += fmt.Sprintf("; %s waiting for approval denied, %s still running", plural(all.Denied, "call"), plural(all.Running, "call"))
	}
	fmt.Fprintf(std.out, "%s (%s)\n", done, told)
	return err
}

// stoppedCalls is what a program says whose calls are stopped.
type stoppedCalls struct {
	Done    string `json:"done"`
	Denied  int    `json:"denied"`  // that waited for approval
	Running int    `json:"running"` // that go on
}
