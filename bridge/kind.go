package bridge

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A NativeKind is a kind of native tool, such as rest or sql. Each has a folder below this package,
// which exports its Kind, and a line of wiring.
type NativeKind struct {
	Name    string   // as a definition and an API of the config spell it
	Aliases []string // other spellings: jdbc is sql

	// Spec is the type of a definition's object for this kind: a key of that type beside the
	// object is reported as misplaced. Nil means that misplaced keys are not known.
	Spec reflect.Type

	// Open makes a backend for one API of the config. It is cheap: the first call connects.
	Open func(BackendConfig) (Backend, error)
}

// BackendConfig is the input of NativeKind.Open.
type BackendConfig struct {
	Name    string          // of the API, for errors
	Config  json.RawMessage // the API's object in the config; nil for a kind that needs none
	Dir     string          // of relative paths
	Own     func() []string // files and folders that say what the tools may do, and the ways to them: one that can change them is noted; nil means none
	Roots   *x509.CertPool  // trusted certificate authorities; nil means the system's
	Hidden  []string        // names of the config's hidden values, which a request may name like arguments
	Secrets []string        // texts in Config that are secret wherever they stand, beside those that a kind knows
	Log     *slog.Logger    // never nil

	// Credentials of each request, where those in Config are not all, of a kind that speaks HTTP; nil means
	// that they are. The context is that of the call (see RequestOf).
	Credentials interface {
		// Authorization returns the value of the Authorization header of a request.
		Authorization(ctx context.Context) (string, error)

		// Refused is told of a response with the status 401 or 403 to a request with the value sent. It
		// reports whether to send the request again, with another one. last means that this is not done.
		Refused(ctx context.Context, sent string, status int, header http.Header, last bool) (again bool, err error)
	}
}

// Subject returns the name of an API in errors, such as "rest: api shop"; "rest" for one without a
// name.
func (c BackendConfig) Subject(kind string) string {
	if c.Name == "" {
		return kind
	}
	return kind + ": api " + c.Name
}

// A Backend makes native tools that use one API. It may be used from many goroutines. One that has a
// connection may have a method Ping(context.Context) error, which connects it.
type Backend interface {
	// Tool makes a tool of a definition, whose InputSchema still has the hidden arguments. spec is
	// the definition's object for this kind. The Tool's Placeholders are what the spec names. A tool
	// that surely only reads is ReadOnly. The notes warn of what is legal but odd, such as a
	// placeholder that is neither a property nor hidden.
	Tool(definition toolformat.Tool, spec json.RawMessage) (Tool, []toolformat.Note, error)

	// Close releases the resources of the backend, after all calls have ended.
	Close() error
}

// DecodeSpec decodes an object of a config or definition into T, a struct. An unknown key is an
// error, and so is a missing one, unless toolformat.SchemaFor makes it optional, as omitempty does.
// The errors begin with what, name the key or path, and say what was expected or may be meant.
func DecodeSpec[T any](what string, raw json.RawMessage) (T, error) {
	return new(SpecDecoder[T]).Decode(what, raw)
}

// A SpecDecoder is DecodeSpec for many objects of one type, such as those of all tools of a
// backend. The zero value is ready. It may be used from many goroutines.
type SpecDecoder[T any] struct {
	once  sync.Once
	check *toolformat.Checker
	err   error
}

// Decode is DecodeSpec.
func (d *SpecDecoder[T]) Decode(what string, raw json.RawMessage) (spec T, err error) {
	d.once.Do(func() {
		var schema json.RawMessage
		if schema, d.err = toolformat.SchemaFor[T](); d.err == nil {
			d.check, _, d.err = toolformat.NewChecker(schema)
		}
	})
	if d.err != nil {
		return spec, fmt.Errorf("%s: %w", what, d.err)
	}
	if err := d.check.Check(raw); err != nil {
		var faults *toolformat.CheckError
		if errors.As(err, &faults) {
			faults.Subject = what
		}
		return spec, err
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return spec, fmt.Errorf("%s: %w", what, named[T](raw, err))
	}
	return spec, nil
}

// named returns the error of decoding raw into T, with the key of the value at fault.
func named[T any](raw json.RawMessage, err error) error {
	for key, value := range wire.Members(raw) {
		var alone T
		if err := json.Unmarshal(wire.SetMember([]byte("{}"), key, value), &alone); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return err
}

// A Size is a positive number of bytes in a spec or an API: "64MiB", "10MB" or a number.
type Size int

// UnmarshalJSON implements json.Unmarshaler.
func (s *Size) UnmarshalJSON(raw []byte) error {
	text, ok := wire.Text(raw)
	if !ok {
		text = string(raw)
	}
	n, ok := wire.ParseSize(text)
	if !ok {
		return fmt.Errorf(`expected a size such as "64MiB" or a number of bytes, got %.40s`, raw)
	}
	*s = Size(n)
	return nil
}

// A Duration is a positive length of time in a spec or an API: "30s", "1m30s" or a number of
// seconds.
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var seconds float64
	var text string
	err := json.Unmarshal(raw, &seconds)
	took := time.Duration(seconds * float64(time.Second))
	if err != nil {
		if err = json.Unmarshal(raw, &text); err == nil {
			took, err = time.ParseDuration(text)
		}
	}
	if err != nil || took <= 0 {
		return fmt.Errorf(`expected a duration such as "30s" or a number of seconds, got %.40s`, raw)
	}
	*d = Duration(took)
	return nil
}
