package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// An Error tells everything that is wrong with a value, in words that a model can act on.
type Error struct {
	Subject string         // what the value is: "invalid arguments for tool get_weather"; "" if unknown
	Faults  []wording.Note // in the order of the value; Path is in the value, Rule is a keyword of JSON Schema
	More    int            // number of faults that are not listed
}

// The bounds of an Error.
const (
	maxFaults     = 20
	maxFaultsText = 2000 // bytes
)

// newError describes failures; nil if there are none. keys translates the keys of properties.
func newError(subject string, failures []*failure, keys *rewrite.KeyMap) error {
	if len(failures) == 0 {
		return nil
	}
	e := &Error{Subject: subject}
	size := 0
	for _, f := range failures {
		if len(e.Faults) == maxFaults || size > maxFaultsText {
			e.More++
			continue
		}
		note := f.note(keys)
		if slices.Contains(e.Faults, note) {
			continue
		}
		if size += len(note.String()); size > maxFaultsText && len(e.Faults) > 0 {
			e.More++
			continue
		}
		e.Faults = append(e.Faults, note)
	}
	return e
}

func notJSON(subject string, err error) error {
	return &Error{Subject: subject, Faults: []wording.Note{{Text: "not JSON: " + err.Error()}}}
}

// Error returns the subject and the faults, a line each if there are several.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, fault := range e.Faults {
		lines[i] = fault.String()
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	switch {
	case e.Subject == "":
		return strings.Join(lines, "\n")
	case len(lines) == 1:
		return e.Subject + ": " + lines[0]
	}
	return e.Subject + ":\n- " + strings.Join(lines, "\n- ")
}
