package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
)

// stoppedFile is the file that says why all calls are stopped, in the folder of the program's state.
const stoppedFile = "stopped"

// stopCalls stops all calls of this user's programs, or lets them run again: those that run are told, and those
// that start read it in a file.
func (r *remote) stopCalls(ctx context.Context, reason string, lift bool, std streams) error {
	switch {
	case r.config != "":
		return usagef("stop: --all-calls and --lift are for all that runs, without --config")
	case r.NArg() > 0:
		return usagef("stop: --all-calls and --lift take no server (with a reason: --all-calls=REASON)")
	case lift && reason != "":
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
	asked, err := r.ask(ctx, command, func([]byte) error { return nil })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s (%s told)\n", done, plural(asked, "program"))
	return err
}
