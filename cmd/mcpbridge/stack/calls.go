package stack

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// Calls returns the stream of the calls of all Stacks of the pool.
func (s *Stack) Calls() *observe.Stream { return s.pool.Calls() }

// Calls returns the stream of the calls of all Stacks.
func (p *Pool) Calls() *observe.Stream { return &p.calls.stream }

// A callRecord is the stream of the calls of a pool's Stacks, and the readers that the config of the
// latest Stack asks for.
type callRecord struct {
	stream observe.Stream

	mu    sync.Mutex // guards what follows
	file  *observe.File
	of    config.CallLog // the settings of file
	audit auditFile
	lines *observe.Reader
	log   *slog.Logger // that lines go to
}

// configure gives the record the readers of a config. After an error it has those that it had.
func (r *callRecord) configure(cfg *config.Config, log *slog.Logger) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, own := r.file, cfg.Log.Calls
	if own != r.of {
		var err error
		if file, err = openCallLog(&r.stream, &own, log); err != nil {
			return fmt.Errorf("%s: log.calls: %w", cfg.Path, err)
		}
	}
	if err := r.audit.configure(&r.stream, cfg, log); err != nil {
		if file != nil && file != r.file {
			file.Close()
		}
		return fmt.Errorf("%s: audit: %w", cfg.Path, err)
	}
	if own != r.of {
		r.closeFile()
		r.file, r.of = file, own
	}
	debug := log.Enabled(context.Background(), slog.LevelDebug)
	if log == r.log && debug == (r.lines != nil) {
		return nil
	}
	r.closeLines()
	if r.log = log; debug {
		r.lines = observe.Log(&r.stream, log)
	}
	return nil
}

// openCallLog returns nil if calls are not written to a file.
func openCallLog(stream *observe.Stream, own *config.CallLog, log *slog.Logger) (*observe.File, error) {
	if own.File == "" {
		return nil, nil
	}
	return observe.OpenFile(stream, observe.FileOptions{
		Path: own.File, MaxBytes: own.MaxBytes, Files: own.Files, Arguments: own.Arguments, Log: log,
	})
}

// close writes the calls that have ended. The error says how many are missing in the audit.
func (r *callRecord) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeFile()
	r.closeLines()
	return r.audit.close()
}

func (r *callRecord) closeFile() {
	if r.file != nil {
		r.file.Close()
		r.file, r.of = nil, config.CallLog{}
	}
}

func (r *callRecord) closeLines() {
	if r.lines != nil {
		r.lines.Close()
		r.lines, r.log = nil, nil
	}
}
