package clients

import "time"

// table has all clients, in the order in which they are listed. A new client is an entry here.
var table = []Client{
	{
		Name: "claude-desktop", Title: "Claude Desktop", aliases: []string{"claude"},
		path: []string{"mcpServers"},
		places: []place{
			{dirs: []string{"@config/Claude"}, files: []string{"claude_desktop_config.json"}},
			{on: "windows", title: "MSIX", dirs: []string{"@local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude"}, files: []string{"claude_desktop_config.json"}},
			{title: "extension", dirs: []string{"@config/Claude/Claude Extensions Settings"}, files: []string{"*.json"}, read: true, bundle: true},
			{on: "windows", title: "MSIX extension", dirs: []string{"@local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/Claude Extensions Settings"},
				files: []string{"*.json"}, read: true, bundle: true},
		},
	},
	{
		Name: "claude-code", Title: "Claude Code",
		path:      []string{"mcpServers"},
		style:     style{stdio: "stdio", http: "http", ws: "ws", url: "url"},
		variables: braces, unit: time.Millisecond,
		places: []place{
			{dirs: []string{"$CLAUDE_CONFIG_DIR", "~"}, files: []string{".claude.json"}, mark: "~/.claude"},
			{project: true, dirs: []string{"@project"}, files: []string{".mcp.json"}},
			{project: true, read: true, dirs: []string{"$CLAUDE_CONFIG_DIR", "~"}, files: []string{".claude.json"}, path: []string{"projects", "@project", "mcpServers"}},
		},
	},
	{
		Name: "cursor", Title: "Cursor",
		path:      []string{"mcpServers"},
		style:     style{url: "url"},
		variables: colon,
		places: []place{
			{dirs: []string{"~/.cursor"}, files: []string{"mcp.json"}},
			{project: true, dirs: []string{"@project/.cursor"}, files: []string{"mcp.json"}},
		},
	},
	{
		Name: "vscode", Title: "VS Code", aliases: []string{"code", "copilot", "visualstudiocode"},
		path:      []string{"servers"},
		style:     style{stdio: "stdio", http: "http", url: "url"},
		variables: colon,
		places: inEditors([]string{"Code", "Code - Insiders", "VSCodium"}, []string{".vscode-server", ".vscode-server-insiders"},
			place{files: []string{"mcp.json"}},
			place{dirs: []string{"profiles/*"}, files: []string{"mcp.json"}, exists: true},
			place{files: []string{"settings.json"}, path: []string{"mcp", "servers"}, read: true},
			place{project: true, dirs: []string{"@project/.vscode"}, files: []string{"mcp.json"}},
			place{project: true, dirs: []string{"@project/.vscode"}, files: []string{"settings.json"}, path: []string{"mcp", "servers"}, read: true}),
	},
	{
		Name: "windsurf", Title: "Windsurf", aliases: []string{"codeium"},
		path:      []string{"mcpServers"},
		style:     style{url: "serverUrl"},
		off:       member{"disabled", true},
		variables: colon,
		places: []place{
			{dirs: []string{"~/.codeium/windsurf"}, files: []string{"mcp_config.json"}},
			{title: "Next", dirs: []string{"~/.codeium/windsurf-next"}, files: []string{"mcp_config.json"}},
			{title: "plugin", dirs: []string{"~/.codeium"}, files: []string{"mcp_config.json"}, exists: true},
		},
	},
	{
		Name: "zed", Title: "Zed",
		path:  []string{"context_servers"},
		style: style{url: "url"},
		off:   member{"enabled", false}, unit: time.Second,
		places: []place{
			{on: "linux", dirs: []string{"@config/zed"}, files: []string{"settings.json"}},
			{on: "linux", title: "Flatpak", dirs: []string{"~/.var/app/dev.zed.Zed/config/zed"}, files: []string{"settings.json"}},
			{on: "darwin", dirs: []string{"~/.config/zed"}, files: []string{"settings.json"}},
			{on: "windows", dirs: []string{"@config/Zed"}, files: []string{"settings.json"}},
			{project: true, dirs: []string{"@project/.zed"}, files: []string{"settings.json"}},
		},
	},
	{
		Name: "codex", Title: "Codex",
		path:  []string{"mcp_servers"},
		style: style{url: "url", headers: "http_headers"},
		off:   member{"enabled", false}, unit: time.Second,
		places: []place{
			{dirs: []string{"$CODEX_HOME", "~/.codex"}, files: []string{"config.toml"}},
			{project: true, dirs: []string{"@project/.codex"}, files: []string{"config.toml"}},
		},
	},
	{
		Name: "gemini", Title: "Gemini CLI", aliases: []string{"geminicli"},
		path:      []string{"mcpServers"},
		allowed:   []string{"mcp", "allowed"},
		excluded:  []string{"mcp", "excluded"},
		style:     style{url: "httpUrl"},
		variables: braces | dollar, unit: time.Millisecond,
		places: []place{
			{dirs: []string{"$GEMINI_CLI_HOME/.gemini", "~/.gemini"}, files: []string{"settings.json"}},
			{project: true, dirs: []string{"@project/.gemini"}, files: []string{"settings.json"}},
		},
	},
	{
		Name: "opencode", Title: "opencode",
		path: []string{"mcp"}, newer: []string{"mcp", "servers"}, newerOff: member{"disabled", true},
		style: style{stdio: "local", http: "remote", url: "url", args: "-", last: []member{{"enabled", true}}},
		off:   member{"enabled", false}, unit: time.Millisecond,
		variables: curly,
		places: []place{
			{dirs: []string{"$OPENCODE_CONFIG_DIR", "@xdg/opencode"}, files: []string{"opencode.json", "opencode.jsonc", "config.json"}, fileVar: "OPENCODE_CONFIG"},
			{project: true, dirs: []string{"@project"}, files: []string{"opencode.json", "opencode.jsonc"}},
			{project: true, dirs: []string{"@project/.opencode"}, files: []string{"opencode.json", "opencode.jsonc"}, exists: true},
		},
	},
	{
		Name: "goose", Title: "Goose",
		path: []string{"extensions"},
		style: style{stdio: "stdio", http: "streamable_http", url: "uri", command: "cmd",
			first: []member{{"name", EntryName}, {"description", "The servers of mcpbridge"}},
			last:  []member{{"enabled", true}, {"timeout", 300}}},
		off: member{"enabled", false}, unit: time.Second,
		variables: braces | dollar,
		places: []place{
			{on: "linux", dirs: []string{"$GOOSE_PATH_ROOT/config", "@xdg/goose"}, files: []string{"config.yaml"}},
			{on: "darwin", dirs: []string{"$GOOSE_PATH_ROOT/config", "@xdg/goose"}, files: []string{"config.yaml"}},
			{on: "windows", dirs: []string{"$GOOSE_PATH_ROOT/config", "@config/Block/goose/config"}, files: []string{"config.yaml"}},
		},
	},
	{
		Name: "cline", Title: "Cline",
		path:  []string{"mcpServers"},
		style: style{stdio: "stdio", http: "streamableHttp", url: "url"},
		off:   member{"disabled", true}, unit: time.Second,
		variables: colon,
		places: append([]place{
			{dirs: []string{"$CLINE_DATA_DIR/settings", "$CLINE_DIR/data/settings", "~/.cline/data/settings"}, files: []string{"cline_mcp_settings.json"},
				fileVar: "CLINE_MCP_SETTINGS_PATH", mark: "~/.cline"},
		}, inEditors(forks, servers,
			place{dirs: []string{"globalStorage/saoudrizwan.claude-dev/settings"}, files: []string{"cline_mcp_settings.json"}})...),
	},
	{
		Name: "roo", Title: "Roo Code", aliases: []string{"roocode", "roocline"},
		path:  []string{"mcpServers"},
		style: style{stdio: "stdio", http: "streamable-http", url: "url"},
		off:   member{"disabled", true}, unit: time.Second,
		variables: colon,
		places: inEditors(forks, servers,
			place{dirs: []string{"globalStorage/rooveterinaryinc.roo-cline/settings"}, files: []string{"mcp_settings.json"}},
			place{project: true, dirs: []string{"@project/.roo"}, files: []string{"mcp.json"}}),
	},
	{
		Name: "continue", Title: "Continue",
		path:  []string{"mcpServers"},
		style: style{http: "http", url: "url"},
		unit:  time.Millisecond, variables: double,
		places: []place{
			{dirs: []string{"$CONTINUE_GLOBAL_DIR/mcpServers", "~/.continue/mcpServers"}, files: []string{"mcpbridge.json"}, mark: "~/.continue"},
			{read: true, dirs: []string{"$CONTINUE_GLOBAL_DIR", "~/.continue"}, files: []string{"config.yaml"}},
			{read: true, dirs: []string{"$CONTINUE_GLOBAL_DIR/mcpServers", "~/.continue/mcpServers"}, files: []string{"*.yaml", "*.yml", "*.json"}},
			{project: true, dirs: []string{"@project/.continue/mcpServers"}, files: []string{"mcpbridge.json"}},
			{project: true, read: true, dirs: []string{"@project/.continue/mcpServers"}, files: []string{"*.yaml", "*.yml", "*.json"}},
		},
	},
}

// The editors that extensions of VS Code run in, and their servers on other computers and in WSL.
var (
	forks   = []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"}
	servers = []string{".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"}
)

// inEditors returns the places that lie in the user's folder of an editor, for each of the editors,
// and those of a project once.
func inEditors(editors, servers []string, below ...place) []place {
	var all []place
	add := func(title string, roots ...string) {
		for _, p := range below {
			if p.project {
				continue
			}
			sub, dirs := "", []string(nil)
			if len(p.dirs) > 0 {
				sub = "/" + p.dirs[0]
			}
			for _, root := range roots {
				dirs = append(dirs, root+sub)
			}
			p.dirs, p.title = dirs, title
			all = append(all, p)
		}
	}
	for i, editor := range editors {
		if i == 0 {
			add("", "$VSCODE_PORTABLE/user-data/User", "@config/"+editor+"/User")
		} else {
			add(editor, "@config/"+editor+"/User")
		}
	}
	for _, server := range servers {
		add(server, "~/"+server+"/data/User")
	}
	for _, p := range below {
		if p.project {
			all = append(all, p)
		}
	}
	return all
}
