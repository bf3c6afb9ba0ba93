package config

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

// A foreignFile is the config of another program, which was given as a whole.
type foreignFile struct {
	program string
	holds   func(root []node) bool
	client  string // its name for mcpbridge import; "" if that does not know it
	advice  string
}

const (
	copyServers  = `copy the object "mcpServers" into a file mcpbridge.json`
	writeServers = `write each of its servers into "mcpServers" of a file mcpbridge.json, as {"command": …, "args": […], "env": {…}} or {"url": …, "headers": {…}}`
)

// foreignFiles are told by keys that a mcpbridge.json does not have.
var foreignFiles = []foreignFile{
	{"Zed's settings", hasAny("context_servers"), "zed", writeServers},
	{"opencode's config", isOpencode, "opencode", writeServers},
	{"VS Code's settings", isVSCode, "vscode", `copy the object "servers" of "mcp" into a file mcpbridge.json, as "mcpServers"`},
	{"Claude Code's state (~/.claude.json)", hasAny("numStartups", "projects", "oauthAccount", "hasCompletedOnboarding"), "claude-code",
		copyServers + `; that of one folder is in "projects"`},
	{"Gemini CLI's settings", isGemini, "gemini", copyServers},
	{"mcporter's config", hasAny("imports"), "", copyServers},
}

func hasAny(names ...string) func([]node) bool {
	return func(root []node) bool {
		return slices.ContainsFunc(root, func(m node) bool { return slices.Contains(names, m.name) })
	}
}

// isGemini reports whether a file is Gemini CLI's: a key that only it has, or one beside servers.
func isGemini(root []node) bool {
	return hasAny("selectedAuthType", "contextFileName", "hasSeenIdeIntegrationNudge")(root) ||
		hasAny("mcpServers")(root) && hasAny("mcp", "general", "ui", "ide", "security", "theme", "coreTools")(root)
}

// isOpencode reports whether a file is opencode's: its schema, or "mcp" with servers of its types.
func isOpencode(root []node) bool {
	for _, m := range root {
		if text, ok := m.value.(hujson.Literal); ok && m.name == "$schema" && strings.Contains(string(text), "opencode.ai") {
			return true
		}
		if m.name != "mcp" {
			continue
		}
		for _, server := range membersIn(m) {
			for _, k := range membersIn(server) {
				if text, ok := k.value.(hujson.Literal); ok && k.name == "type" && (string(text) == `"local"` || string(text) == `"remote"`) {
					return true
				}
			}
		}
	}
	return false
}

// isVSCode reports whether a file is VS Code's: names with dots, or "mcp" with "servers".
func isVSCode(root []node) bool {
	return slices.ContainsFunc(root, func(m node) bool {
		return dotted().MatchString(m.name) && !looksLikeServer(m) || m.name == "mcp" && hasAny("servers")(membersIn(m))
	})
}

var dotted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z][\w-]*(\.[a-zA-Z][\w-]*)+$`)
})

// membersIn is membersOf for an object that may be something else.
func membersIn(n node) []node {
	members, _ := (*decoder)(nil).membersOf(n)
	return members
}

// foreign reports the config of another program instead of all its unknown keys.
func (d *decoder) foreign(root node) bool {
	members := membersIn(root)
	for _, f := range foreignFiles {
		if f.holds(members) {
			d.errorf(root, "this file is %s, in JSON: %s", f.program, orImport(f.client, f.advice))
			return true
		}
	}
	return false
}

// orImport returns advice that begins with the command that follows it.
func orImport(client, advice string) string {
	if client == "" {
		return advice
	}
	return "run mcpbridge import " + client + ", or " + advice
}

// otherFormats are told by a line of a file that is not JSON.
var otherFormats = []struct{ line, client, what string }{
	{`(?m)^\[mcp_servers\.`, "codex", "this file is Codex's config, in TOML"},
	{`(?m)^extensions:\s*(#.*)?\r?$`, "goose", "this file is goose's config, in YAML"},
	{`(?m)^\[[A-Za-z][\w."-]*\]\s*(#.*)?\r?$`, "", "this file is TOML, not JSON"},
	{`(?m)^[\w"-]+:(\s|$)`, "", "this file is YAML, not JSON"},
}

// otherFormat says what a file is that does not begin as JSON with comments does, or returns "".
func otherFormat(data []byte) string {
	if start := bytes.TrimSpace(data); len(start) == 0 || start[0] == '{' || start[0] == '"' || commentSize(start) > 0 {
		return ""
	}
	for _, f := range otherFormats {
		if regexp.MustCompile(f.line).Match(data) {
			return f.what + ": " + orImport(f.client, writeServers)
		}
	}
	return ""
}
