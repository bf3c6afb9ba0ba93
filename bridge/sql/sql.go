package sql

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Kind is the kind sql. An API of the config, a database, is an [API], the spec of a definition a
// [Spec].
var Kind = bridge.NativeKind{Name: "sql", Aliases: []string{"jdbc"}, Open: open}

// backend is a database. It implements bridge.Backend.
type backend struct {
	name    string // name of the API
	api     API
	dialect dialect
	engine  engine
	log     *slog.Logger
	secrets bridge.Secrets
	specs   bridge.SpecDecoder[Spec]
}

// An engine runs statements on a database. It may be used from many goroutines, and connects when
// it is first used.
type engine interface {
	// run runs a statement and writes its rows or effects to out. An error may be the driver's
	// own.
	run(ctx context.Context, q query, out *output) error

	// close closes the connections. It comes after the last run.
	close() error
}

// A query is a statement with the values of one call.
type query struct {
	*statement
	text   string // as the driver gets it
	values []any  // nil, bool, string, int64, float64 or jsonText
	write  bool   // the statement may write
}

// open returns a backend without connecting.
func open(c bridge.BackendConfig) (bridge.Backend, error) {
	api, err := bridge.DecodeSpec[API](c.Subject("sql"), c.Config)
	if err != nil {
		return nil, err
	}
	b := &backend{name: c.Name, api: api, log: c.Log}
	if err := b.connect(c.Dir); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Subject("sql"), err)
	}
	if api.DriverClass != "" {
		c.Log.Info("driverClass is not needed and has no effect", "api", c.Name)
	}
	return b, nil
}

// Tool implements bridge.Backend. The notes name properties that are not parameters.
func (b *backend) Tool(definition toolformat.Tool, raw json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	spec, err := b.specs.Decode("sql", raw)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	t := &tool{backend: b, limits: limitsOf(spec, b.api), write: spec.Write}
	if t.statement, err = parse(b.dialect, spec.Query); err == nil {
		err = b.check(t.statement, spec)
	}
	var notes []toolformat.Note
	if err == nil {
		notes, err = compare(t.statement, definition)
	}
	if err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("sql: %w", err)
	}
	return bridge.Tool{Tool: definition, Timeout: time.Duration(cmp.Or(spec.Timeout, b.api.Timeout)), ReadOnly: !spec.Write, Call: t.call}, notes, nil
}

// Close implements bridge.Backend.
func (b *backend) Close() error {
	if err := b.engine.close(); err != nil {
		return fmt.Errorf("sql: api %s: %w", b.name, b.secrets.HideError(err))
	}
	return nil
}

// A tool is a statement on a database.
type tool struct {
	*backend
	statement *statement
	limits    limits
	write     bool
}

// call implements bridge.Tool.Call.
func (t *tool) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	text, values, err := t.statement.bind(arguments)
	if err != nil {
		return nil, err
	}
	out := newOutput(t.limits)
	if err := t.engine.run(ctx, query{statement: t.statement, text: text, values: values, write: t.write}, out); err != nil {
		return nil, t.failure(ctx, err)
	}
	return out.result(), nil
}
