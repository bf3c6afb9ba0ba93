// Package parameter says what becomes of the parameters of requests.
package parameter

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
)

// A Kind is what becomes of a parameter.
type Kind int

const (
	Mapped  Kind = iota // it is decoded, and has a place in every provider's request, or in the answer
	Own                 // a provider of the same API is sent it as it is; for any other it is an error
	Hint                // a provider of the same API is sent it as it is, any other one not: it changes no answer
	Ignored             // no provider is sent it
	Refused             // it is an error
)

// A Parameter is what becomes of a member of a request.
type Parameter struct {
	Kind Kind
	Type string // of its values, if that is checked here: a key of types
	None string // a value, beside those of saysNothing, for what is not wanted
	Why  string // it is ignored, or the error says
}

// Parameters are those of an API, by their names.
type Parameters map[string]Parameter

// NotTaken is the reason why a parameter is refused of which nothing else is to be said.
const NotTaken = "this endpoint does not take it: leave it out"

// types are those of Go that the values of each Type are decoded into.
var types = map[string]reflect.Type{
	"string": reflect.TypeFor[string](), "boolean": reflect.TypeFor[bool](), "number": reflect.TypeFor[float64](),
	"object": reflect.TypeFor[map[string]json.RawMessage](),
}

// find returns what becomes of a member. Those that are decoded may be in other letter case, as for encoding/json.
func (all Parameters) find(name string) (p Parameter, known bool) {
	if p, known = all[name]; known {
		return p, true
	}
	for other, p := range all {
		if p.Kind == Mapped && strings.EqualFold(name, other) {
			return p, true
		}
	}
	return p, false
}

// Apply applies the members of a request that are not mapped to the settings for a provider, which may be one of the
// same API. unknown is what becomes of those that are not known.
func (all Parameters) Apply(s *providers.Settings, p providers.Provider, same bool, rest map[string]json.RawMessage, unknown Parameter) error {
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		value := rest[name]
		param, known := all.find(name)
		if !known {
			param = unknown
		}
		if rawjson.IsNull(value) {
			continue
		}
		if t := types[param.Type]; t != nil {
			if err := member.Decode(value, reflect.New(t).Interface()); err != nil {
				return member.In(name, err)
			}
		}
		switch nothing := saysNothing(value) || string(value) == param.None; {
		case same && (param.Kind == Own || param.Kind == Hint):
			endpoint.AddMember(s, name, value)
		case nothing, param.Kind == Hint, param.Kind == Ignored:
		case param.Kind == Refused:
			return fmt.Errorf("%s: %s", name, param.Why)
		default:
			return providers.Lacks(p.Name(), name)
		}
	}
	return nil
}

// saysNothing reports whether the value of a member is the one that clients send for what is not wanted.
func saysNothing(value json.RawMessage) bool {
	switch string(value) {
	case "null", "false", "0", `""`, "{}", "[]":
		return true
	}
	return false
}

// Mapped returns the names of those that are mapped.
func (all Parameters) Mapped() (names []string) {
	for name, p := range all {
		if p.Kind == Mapped {
			names = append(names, name)
		}
	}
	return names
}
