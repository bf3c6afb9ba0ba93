package bridge

import (
	"encoding/json"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A NativeKind is a kind of native tool, such as rest or sql. Each has a folder below this package,
// which exports its Kind, and a line of wiring.
type NativeKind struct {
	Name    string   // as a definition and an API of the config spell it
	Aliases []string // other spellings: jdbc is sql

	// Open makes a backend for one API of the config. It is cheap: the first call connects.
	Open func(BackendConfig) (Backend, error)
}

// BackendConfig is the input of NativeKind.Open.
type BackendConfig struct {
	Name   string          // of the API, for errors
	Config json.RawMessage // the API's object in the config; nil for a kind that needs none
	Dir    string          // of relative paths
	Log    *slog.Logger    // never nil
}

// Subject returns the name of an API in errors, such as "rest: api shop"; "rest" for one without a
// name.
func (c BackendConfig) Subject(kind string) string {
	if c.Name == "" {
		return kind
	}
	return kind + ": api " + c.Name
}

// A Backend makes native tools that use one API. It may be used from many goroutines.
type Backend interface {
	// Tool makes a tool of a definition, whose InputSchema still has the hidden arguments. spec is
	// the definition's object for this kind. A tool that surely only reads is ReadOnly. The notes
	// warn of what is legal but odd, such as a placeholder that is not a property.
	Tool(definition toolformat.Tool, spec json.RawMessage) (Tool, []toolformat.Note, error)

	// Close releases the resources of the backend, after all calls have ended.
	Close() error
}
