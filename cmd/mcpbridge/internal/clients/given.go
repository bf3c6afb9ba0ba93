package clients

import (
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Entry returns the entry of a server as [Import.Add] writes it. Secrets become variables, which are in
// Vars then.
func (i *Import) Entry(s *Server) json.RawMessage { return i.value(s, s.Name, false) }

// Hidden returns the part of what the server runs or connects to that has hidden characters, which are
// escaped; "" if there is none.
func (s *Server) Hidden() string {
	for _, text := range append([]Text{{Text: s.Command}, s.URL}, s.Args...) {
		if shown, hidden := toolformat.Visible(text.Text); hidden != nil {
			return shown
		}
	}
	return ""
}
