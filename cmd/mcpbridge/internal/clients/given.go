package clients

import "encoding/json"

// Entry returns the entry of a server as [Import.Add] writes it. Secrets become variables, which are in
// Vars then.
func (i *Import) Entry(s *Server) json.RawMessage { return i.value(s, s.Name, false) }
