package wording

import "strings"

// A Note says one thing that a conversion did to a tool, or found in it. Notes come in
// the order of the definition; the same input gives the same notes.
type Note struct {
	Tool string // the tool's name as it was read; "" for one that has none
	Path string // JSON Pointer (RFC 6901) into the definition in the internal format: "/input_schema/properties/a"; "" for the whole
	Rule string // what was done, as one word that stays: "root-combinator"
	Text string // the same for a reader: what was there, what stands there now, and why
}

func (n Note) String() string {
	var b strings.Builder
	if n.Tool != "" {
		b.WriteString(n.Tool + ": ")
	}
	if n.Path != "" {
		b.WriteString(n.Path + ": ")
	}
	return b.String() + n.Text
}
