package providers

import (
	"regexp"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// How providers name a tool that they refuse, as their users report it: by its place
// (Gemini's functions stand inside one tool, whose own place says nothing), or by its
// name.
var (
	placeInGemini = regexp.MustCompile(`function_?[dD]eclarations(?:\[|\.)(\d+)`)
	placeInTools  = regexp.MustCompile(`\btools(?:\[|\.)(\d+)`)
	nameInMessage = regexp.MustCompile("(?i)\\b(?:function|tool)(?: name)?:? ['\"`]([^'\"`]+)['\"`]")
)

// refusedTool is the own name of the tool that an error message is about; "" when it
// names none of the set.
func refusedTool(message string, set *toolformat.Set) string {
	for _, place := range []*regexp.Regexp{placeInGemini, placeInTools} {
		if m := place.FindStringSubmatch(message); m != nil {
			if i, err := strconv.Atoi(m[1]); err == nil && i < len(set.Tools) {
				return set.Tools[i].Tool.Name
			}
			return ""
		}
	}
	for _, m := range nameInMessage.FindAllStringSubmatch(message, -1) {
		if c, ok := set.Find(m[1]); ok {
			return c.Tool.Name
		}
	}
	return ""
}
