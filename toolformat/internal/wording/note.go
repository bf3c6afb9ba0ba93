package wording

// A Note says one thing about a tool, its schema or a value: what a conversion did, or what a
// check found. Notes come in the order of the document; equal inputs give equal notes.
type Note struct {
	Tool string // the tool's name as it was read; "" if it has no name, or the note is not about one tool
	Path string // JSON Pointer (RFC 6901) into the definition in the internal format, such as "/input_schema/properties/a"; "" for all of it
	Rule string // what was done or found, as one stable word: "root-combinator"
	Text string // the same for a reader: what was there, what replaced it, and why
}

// String returns "tool: path: text", without the parts that are empty.
func (n Note) String() string {
	text := n.Text
	if n.Path != "" {
		text = n.Path + ": " + text
	}
	if n.Tool != "" {
		text = n.Tool + ": " + text
	}
	return text
}
