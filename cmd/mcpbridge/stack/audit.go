package stack

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/audit"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// auditFile is the audit of a pool's Stacks, as the config of the latest one says.
type auditFile struct {
	log *audit.Log // nil without one
	of  audit.Options
}

// configure has calls written to the audit of a config from now on. After an error it is the one that it was.
func (a *auditFile) configure(stream *observe.Stream, cfg *config.Config, log *slog.Logger) error {
	own := audit.Options{
		Path: cfg.Audit.File, MaxBytes: cfg.Audit.MaxBytes, Files: cfg.Audit.Files, Values: cfg.Audit.Values,
		Hidden: slices.Sorted(maps.Keys(cfg.Context)),
	}
	if a.is(&own) {
		return nil
	}
	var err error
	if own.Path == "" {
		if err = a.close(); err != nil {
			log.Error(err.Error())
		}
		return nil
	}
	opts := own
	opts.Log = log
	if a.log == nil {
		a.log, err = audit.Open(stream, opts)
	} else {
		err = a.log.Configure(opts)
	}
	if err == nil {
		a.of = own
	}
	return err
}

// is reports whether the audit has settings.
func (a *auditFile) is(own *audit.Options) bool {
	return own.Path == a.of.Path && own.MaxBytes == a.of.MaxBytes && own.Files == a.of.Files && own.Values == a.of.Values &&
		(own.Path == "" || slices.Equal(own.Hidden, a.of.Hidden))
}

// close writes the calls that have ended. The error says how many calls could not be written.
func (a *auditFile) close() error {
	if a.log == nil {
		return nil
	}
	err := a.log.Close()
	a.log, a.of = nil, audit.Options{}
	return err
}
