package bridge

import (
	"crypto/rand"
	"encoding/json"
	"strings"
)

// contextValue is a hidden value: the caller's, else one for all callers. The two that
// Acorn always has are made here where the caller brings none: the id of the request, and
// how many calls of it came before (ToolsBackend, requestid and invocationid).
func (s *nativeSession) contextValue(name string) (json.RawMessage, bool) {
	if value, ok := s.caller.value(s.native.opts.Context, name); ok {
		return value, true
	}
	switch strings.ToLower(name) {
	case "requestid":
		return json.RawMessage(`"` + rand.Text() + `"`), true
	case "invocationid":
		return json.RawMessage("0"), true
	}
	return nil, false
}

// value is a hidden value: the caller's, else one for all callers, which shared knows.
func (c *Caller) value(shared func(string) ([]byte, bool), name string) (json.RawMessage, bool) {
	for _, source := range []func(string) ([]byte, bool){c.Context, shared} {
		if source != nil {
			if value, ok := source(name); ok {
				return value, true
			}
		}
	}
	return nil, false
}
