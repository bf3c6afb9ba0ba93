package vocabulary

import (
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// A Draft is a version of JSON Schema, by its number or year; 0 is an unknown one.
type Draft int

// LatestDraft is the draft of a schema that declares none (MCP 2025-11-25, tools: "defaults to
// JSON Schema 2020-12 if no $schema field is present").
const LatestDraft Draft = 2020

// Drafts holds the URL of the meta-schema of each draft that can be checked.
var Drafts = map[Draft]string{
	4:    "http://json-schema.org/draft-04/schema",
	6:    "http://json-schema.org/draft-06/schema",
	7:    "http://json-schema.org/draft-07/schema",
	2019: "https://json-schema.org/draft/2019-09/schema",
	2020: "https://json-schema.org/draft/2020-12/schema",
}

// DraftOf returns the draft that the $schema of a schema names, or else LatestDraft; declared is
// false if it names none, or one that is not in Drafts.
func DraftOf(schema *tree.Node) (draft Draft, declared bool) {
	url := strings.TrimSuffix(schema.Get("$schema").Text(), "#") // many leave out the empty fragment of draft-07 and before
	_, url, _ = strings.Cut(url, "://")
	for draft, known := range Drafts {
		if _, known, _ := strings.Cut(known, "://"); url == known {
			return draft, true
		}
	}
	return LatestDraft, false
}

// String returns the name of a draft: "draft-07", "2020-12".
func (d Draft) String() string {
	switch {
	case d == 0:
		return "an unknown dialect"
	case d < 2019:
		return fmt.Sprintf("draft-%02d", int(d))
	case d == 2019:
		return "2019-09"
	}
	return "2020-12"
}
