package toolformat

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

// ruleLeftOut is the rule of what a format has no place for and leaves out.
const ruleLeftOut = "left-out"

// A path is where something stands in a document, built on the way down and spelled
// only when somebody wants to know.
type path struct {
	parent *path
	key    string
}

// at is the path of a member or an item.
func (p *path) at(key string) *path { return &path{p, key} }

// escapePointer escapes a key for a JSON Pointer (RFC 6901, 3).
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// String is the JSON Pointer; a nil path is the document.
func (p *path) String() string {
	if p == nil {
		return ""
	}
	return p.parent.String() + "/" + escapePointer.Replace(p.key)
}
