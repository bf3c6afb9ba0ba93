package providers

import (
	"regexp"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// These match how providers name a tool that they refuse: by its index, which for Gemini is
// that of the function within the tool, or by its name.
var (
	functionIndex = regexp.MustCompile(`function_?[dD]eclarations(?:\[|\.)(\d+)`)
	toolIndex     = regexp.MustCompile(`\btools(?:\[|\.)(\d+)`)
	quotedName    = regexp.MustCompile("(?i)\\b(?:function|tool)(?: name)?:? ['\"`]([^'\"`]+)['\"`]")
)

// refusedTool returns the own name of the tool that an error message names; "" if it names
// none of the set.
func refusedTool(message string, set *toolformat.Set) string {
	for _, index := range []*regexp.Regexp{functionIndex, toolIndex} {
		if m := index.FindStringSubmatch(message); m != nil {
			if i, err := strconv.Atoi(m[1]); err == nil && i < len(set.Tools) {
				return set.Tools[i].Tool.Name
			}
			return ""
		}
	}
	for _, m := range quotedName.FindAllStringSubmatch(message, -1) {
		if c, ok := set.Find(m[1]); ok {
			return c.Tool.Name
		}
	}
	return ""
}
