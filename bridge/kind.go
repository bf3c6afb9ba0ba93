package bridge

import (
	"encoding/json"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A NativeKind is a kind of native tool, such as rest or sql. Each has a folder below
// this package that exports its Kind, and one line of wiring in cmd/mcpbridge.
type NativeKind struct {
	Name    string   // as a definition and an API of the config spell it
	Aliases []string // other spellings: jdbc is sql

	// Open makes a backend for one API of the config. It is cheap: what it needs is
	// connected by the first call.
	Open func(BackendConfig) (Backend, error)
}

// BackendConfig is what a backend is made with.
type BackendConfig struct {
	Name   string          // of the API, for errors
	Config json.RawMessage // the API's object in the config; nil for a kind that needs none
	Dir    string          // what relative paths are relative to
	Log    *slog.Logger    // never nil
}

// Subject names the API of a kind in errors, as in "rest: api shop"; "rest" alone when it
// has no name.
func (c BackendConfig) Subject(kind string) string {
	if c.Name == "" {
		return kind
	}
	return kind + ": api " + c.Name
}

// A Backend is an API that native tools are made on. It may be used from many
// goroutines.
type Backend interface {
	// Tool makes a tool of a definition, whose InputSchema is the full one: context
	// fields stand in it. spec is what the definition says for this kind, a JSON object.
	// A tool that surely only reads is ReadOnly. The notes warn of what is legal and odd,
	// such as a placeholder that is no property.
	Tool(definition toolformat.Tool, spec json.RawMessage) (Tool, []toolformat.Note, error)

	// Close ends what the backend holds, when no call is under way any more.
	Close() error
}
