package pins

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Text returns a definition for a person to read: a line for each member, and texts as they are, but for
// hidden characters, which are escaped. It is "" without a definition.
func (d *Definition) Text() string {
	switch {
	case d == nil:
		return ""
	case d.Raw == nil:
		return "too long to be kept: its digest is " + d.Digest + "\n"
	}
	var b strings.Builder
	for key, value := range wire.Members(pinned(d.Raw)) {
		var shown bytes.Buffer
		if text, ok := wire.Text(value); ok {
			shown.WriteString(text)
		} else if json.Indent(&shown, value, "", "  ") != nil {
			shown.Write(value)
		}
		block(&b, visible(key), visible(shown.String()))
	}
	return b.String()
}

func visible(text string) string {
	text, _ = toolformat.Visible(text)
	return text
}

// block writes a member, whose value stands below it if it has several lines.
func block(b *strings.Builder, key, text string) {
	if !strings.Contains(text, "\n") {
		b.WriteString(key + ": " + text + "\n")
		return
	}
	b.WriteString(key + ":\n")
	for line := range strings.Lines(text) {
		b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
}
