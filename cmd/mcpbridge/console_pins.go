package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
)

// consolePinned is a server with "pin".
type consolePinned struct {
	Server  string        `json:"server"`
	Tools   int           `json:"tools"` // accepted
	Prompts int           `json:"prompts"`
	Fault   string        `json:"fault,omitempty"`
	Held    []consoleHeld `json:"held"`
}

// consoleHeld is a definition that is held back.
type consoleHeld struct {
	shownPin
	Before string `json:"before"` // for a person to read; "" if it is new
	Now    string `json:"now"`
}

// shownPin names a definition that was shown to a person.
type shownPin struct {
	Kind   string `json:"kind"` // tool, prompt or text
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

func (c *ownConsole) pins(*http.Request) (any, error) {
	servers, err := pinnedServers(c.live.Live.Stack().Config(), "", false)
	all := []consolePinned{}
	for _, s := range servers {
		own := consolePinned{s.Name, s.Tools, s.Prompts, s.Fault, []consoleHeld{}}
		for _, h := range s.Held {
			own.Held = append(own.Held, consoleHeld{shownPin{h.Kind, h.Name, h.change.Held.Digest}, h.change.Accepted.Text(), h.change.Held.Text()})
		}
		all = append(all, own)
	}
	return all, err
}

// maxShown bounds a request to accept definitions, in bytes.
const maxShown = 1 << 20

// acceptPins accepts definitions of a server, as they were shown.
func (c *ownConsole) acceptPins(r *http.Request) (any, error) {
	var shown []shownPin
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxShown)).Decode(&shown); err != nil {
		return nil, fmt.Errorf("expected an array of what is accepted: %w", err)
	}
	servers, err := pinnedServers(c.live.Live.Stack().Config(), r.FormValue("server"), false)
	if err != nil || len(servers) != 1 {
		return nil, cmp.Or(err, errors.New("server: expected the name of a server"))
	}
	var changes, accepted, changed []pins.Change
	for _, s := range shown {
		kind := map[string]bridge.ListKind{"prompt": bridge.Prompts, "text": pins.Texts}[s.Kind] // else Tools
		changes = append(changes, pins.Change{Kind: kind, Name: s.Name, Pin: pins.Pin{Held: &pins.Definition{Digest: s.Digest}}})
	}
	err = servers[0].store.Update(func(text []byte) (after []byte, err error) {
		after, accepted, changed, err = pins.AcceptShown(text, changes)
		return after, err
	})
	if err != nil {
		return nil, err
	}
	if len(accepted) > 0 && c.control.reload != nil {
		if err := c.control.reload(); err != nil {
			return nil, fmt.Errorf("accepted, but the config cannot be read again: %w", err)
		}
	}
	if len(changed) > 0 {
		var names []string
		for _, h := range changed {
			names = append(names, h.Name)
		}
		return nil, fmt.Errorf("%s: no longer as it was shown, and not accepted: look at it again", strings.Join(names, ", "))
	}
	return c.done("accepted "+plural(len(accepted), "definition")+" of "+servers[0].Name, nil)
}
