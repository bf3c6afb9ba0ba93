package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
)

// Why says, for who runs the bridge, why a caller does not have a tool of a list below the profiles; "" if
// its profile has the tool, or it has no profile.
func (o *Options) Why(caller *bridge.Caller, tool *bridge.Item) string {
	p, fault := o.choose(caller)
	switch {
	case fault != nil:
		return fault.Message
	case p == nil:
		return ""
	case tool.Member != "" && !match.Any(p.Servers, tool.Member):
		return fmt.Sprintf("profile %s: its servers are %s", p.Name, strings.Join(p.Servers, ", "))
	case !match.Any(p.Tools.Include, tool.Key):
		return fmt.Sprintf("profile %s: its tools are %s", p.Name, strings.Join(p.Tools.Include, ", "))
	}
	for _, pattern := range p.Tools.Exclude {
		if match.Any([]string{pattern}, tool.Key) {
			return fmt.Sprintf("profile %s: its tools leave out %s", p.Name, pattern)
		}
	}
	if len(p.Annotations) > 0 && tool.Untrusted {
		return fmt.Sprintf("profile %s: it wants tools with certain annotations, and those of this tool are not trusted", p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Annotations)) {
		if is := match.Annotation(tool.Raw, name); is != p.Annotations[name] {
			return fmt.Sprintf("profile %s: it wants tools whose %s is %t, and that of this tool is %t", p.Name, name, !is, is)
		}
	}
	return ""
}
