package clients

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Server is an MCP server in the file of a client.
type Server struct {
	Name  string
	File  *File
	Line  int
	Notes []Note // what of it was left out, or needs a hand
	Fault string // why it cannot be taken; "" if it can
	Hand  bool   // it needs a hand before it works here, such as a value that the client keeps

	Command string
	Args    []Text
	Env     []Pair
	EnvFile string
	Dir     string
	URL     Text
	Headers []Pair
	OAuth   []Pair // what it needs for a login
	NoOAuth bool   // the client lets nobody log in
	Type    string // "sse", or ""

	Timeout, ConnectTimeout time.Duration
	Include, Exclude        []string
	Off                     bool
}

// A Pair is a variable or a header of a server.
type Pair struct {
	Name  string
	Value Text
}

// A Note is a remark on a line of a file.
type Note struct {
	File    *File
	Line    int
	Text    string
	LeftOut bool // a server is left out
}

func (n Note) String() string { return fmt.Sprintf("%s:%d: %s", n.File.Path, n.Line, n.Text) }

// maxServers bounds the servers of a file, as the time of an import grows with their square.
const maxServers = 500

// Servers returns the servers in the text of the file, without the bridge itself. isBridge reports
// whether a program or a URL is the bridge.
func (f *File) Servers(text []byte, isBridge func(commandOrURL string) bool) ([]*Server, error) {
	root, err := edit.Read(f.format(), text)
	if err != nil {
		return nil, err
	}
	if f.place.bundle {
		s, err := f.extension(root)
		if err != nil || s == nil || s.isBridge(isBridge) {
			return nil, err
		}
		return []*Server{s}, nil
	}
	servers, _ := root.At(f.servers(root)...)
	if len(servers.Members) > maxServers {
		return nil, fmt.Errorf("line %d: more than %d servers", servers.Line, maxServers)
	}
	barred := f.barred(root)
	var list []*Server
	for _, m := range servers.Members {
		if m.Value != nil && servers.Value == nil && f.Client.newer != nil || m.Value == nil && len(m.Members) == 0 {
			continue // an option between the servers, as in older files of opencode; or nothing
		}
		s := &Server{Name: nameOf(servers, m), File: f, Line: m.Line}
		if s.Name == "" {
			s.Name, s.Hand = "server", true // nothing leads to it
		}
		if m.Value != nil && string(m.Value) != "null" {
			s.fail("is not an object")
		} else if !s.read(m) || s.isBridge(isBridge) {
			continue
		}
		s.Off = s.Off || barred(m.Key)
		list = append(list, s)
	}
	return list, nil
}

// barred returns a function that reports whether the lists of names in a file disable a server.
func (f *File) barred(root edit.Node) func(name string) bool {
	lists := func(path []string) (names []string) {
		if path != nil {
			list, _ := root.At(path...)
			names = texts(list)
		}
		return names
	}
	allowed, excluded := lists(f.Client.allowed), lists(f.Client.excluded)
	return func(name string) bool {
		return len(allowed) > 0 && !slices.Contains(allowed, name) || slices.Contains(excluded, name)
	}
}

// Barred returns a note if the lists of names in the text of the file disable the bridge; nil if they do not.
func (f *File) Barred(text []byte) *Note {
	root, err := edit.Read(f.format(), text)
	if err != nil || !f.barred(root)(EntryName) {
		return nil
	}
	lists, _ := root.At(f.Client.allowed[0])
	return &Note{File: f, Line: lists.Line, Text: fmt.Sprintf("%s does not start %s: change its lists %s and %s",
		f.Client.Title, EntryName, strings.Join(f.Client.allowed, "."), strings.Join(f.Client.excluded, "."))}
}

// Duplicates returns notes on what the client does not see in the text of the file, as a later member has the
// same key: servers, and what is in them.
func (f *File) Duplicates(text []byte) (notes []Note) {
	root, err := edit.Read(f.format(), text)
	if err != nil {
		return nil
	}
	for _, d := range root.Duplicates(f.servers(root)...) {
		notes = append(notes, Note{File: f, Line: d.Line, Text: fmt.Sprintf("%s has no effect: line %d has the same key again", hint.Quote(d.Key), d.Later)})
	}
	return notes
}

// Hidden returns the part of what the server runs or connects to that has hidden characters, which are
// escaped; "" if there is none.
func (s *Server) Hidden() string {
	for _, text := range append([]Text{{Text: s.Command}, s.URL}, s.Args...) {
		if shown, hidden := toolformat.Visible(text.Text); hidden != nil {
			return shown
		}
	}
	return ""
}

// isBridge reports whether the server is the bridge, also in WSL.
func (s *Server) isBridge(is func(string) bool) bool {
	if s.Name == EntryName || is(s.Command) || is(s.URL.Text) {
		return true
	}
	return path.Base(strings.ReplaceAll(s.Command, `\`, "/")) == "wsl.exe" && slices.ContainsFunc(s.Args, func(a Text) bool { return is(a.Text) })
}

func (s *Server) note(line int, format string, args ...any) {
	s.Notes = append(s.Notes, Note{File: s.File, Line: line, Text: s.Name + ": " + fmt.Sprintf(format, args...)})
}

// fail says why the server cannot be taken. The first reason stays.
func (s *Server) fail(format string, args ...any) {
	s.Fault = cmp.Or(s.Fault, fmt.Sprintf(format, args...))
}

// read reads an entry. It returns false for what is not an MCP server but a part of the client.
func (s *Server) read(n edit.Node) bool {
	kind := ""
	for _, key := range []string{"type", "transport", "transportType"} {
		if at, ok := n.At(key); ok {
			kind = cmp.Or(kind, textOf(at))
		}
	}
	switch kind {
	case "builtin", "platform", "frontend", "sdk":
		return false
	case "sse":
		s.Type = "sse"
	}
	for _, m := range n.Members {
		if string(m.Value) != "null" {
			s.take(m)
		}
	}
	if _, toggled := n.At("enabled"); toggled && len(n.Members) == 1 {
		return false // a switch for a server that is configured elsewhere
	}
	s.check()
	s.place()
	return true
}

// check fails a server that cannot run here.
func (s *Server) check() {
	switch {
	case s.Command != "" && s.URL.Text != "":
		s.fail("has both a command and a URL")
	case s.Command == "" && s.URL.Text == "":
		s.fail("has neither a command nor a URL: it is a part of the client or of its extension")
	case s.Command != "" && s.File.machine.Distro != "":
		s.fail("runs on Windows: run mcpbridge import there")
	}
}

// place lets the program of a project's server start in the project.
func (s *Server) place() {
	project := s.File.machine.Project
	if !s.File.Project || s.Command == "" {
		return
	}
	if s.Dir == "" {
		s.Dir = project
	} else if !isAbsolute(s.Dir) {
		s.Dir = path.Join(project, s.Dir)
	}
	if strings.HasPrefix(s.Command, "./") || strings.HasPrefix(s.Command, "../") {
		s.Command = path.Join(project, s.Command)
	}
	if s.EnvFile != "" && !isAbsolute(s.EnvFile) {
		s.EnvFile = path.Join(project, s.EnvFile)
	}
}

// isAbsolute reports whether a path does not depend on a folder, on any system.
func isAbsolute(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "$") || strings.HasPrefix(name, `\\`) || len(name) > 1 && name[1] == ':'
}

// take takes one key of an entry. Every client's keys are here, as none of them means two things.
func (s *Server) take(n edit.Node) {
	switch n.Key {
	case "command", "cmd":
		s.takeCommand(n)
	case "args":
		s.Args = append(s.Args, s.texts(n)...)
	case "env", "environment", "envs":
		s.Env = append(s.Env, s.pairs(n)...)
	case "env_keys", "env_vars": // whose values are in a keyring, or in the environment of the client
		for _, m := range n.Members {
			name := textOf(m)
			if at, ok := m.At("name"); ok {
				name = textOf(at)
			}
			s.Env = append(s.Env, Pair{name, Text{Text: "${" + name + "}", Variable: true}})
			s.elsewhere(n.Line, name)
		}
	case "envFile":
		s.EnvFile = s.path(n)
	case "cwd", "workingDirectory":
		s.Dir = s.path(n)
	case "url", "serverUrl", "httpUrl", "uri", "baseUrl":
		s.URL = s.text(n)
	case "headers", "http_headers":
		s.Headers = append(s.Headers, s.pairs(n)...)
	case "env_http_headers":
		for _, m := range n.Members {
			s.Headers = append(s.Headers, Pair{m.Key, Text{Text: "${" + textOf(m) + "}", Variable: true}})
		}
	case "bearer_token_env_var":
		s.Headers = append(s.Headers, Pair{"Authorization", Text{Text: "Bearer ${" + textOf(n) + "}", Variable: true}})
	case "requestOptions", "requestInit":
		if headers, ok := n.At("headers"); ok {
			s.Headers = append(s.Headers, s.pairs(headers)...)
		}
	case "disabled":
		s.Off = s.Off || string(n.Value) == "true"
	case "enabled":
		s.Off = s.Off || string(n.Value) == "false"
	case "timeout":
		s.takeTimeout(n)
	case "tool_timeout_sec":
		s.Timeout = duration(n, time.Second)
	case "startup_timeout_sec":
		s.ConnectTimeout = duration(n, time.Second)
	case "startup_timeout_ms", "connectionTimeout", "initTimeout":
		s.ConnectTimeout = duration(n, time.Millisecond)
	case "includeTools", "enabledTools", "enabled_tools", "available_tools":
		s.Include = s.strings(n)
	case "excludeTools", "disabledTools", "disabled_tools":
		s.Exclude = s.strings(n)
	case "oauth", "auth":
		s.takeOAuth(n)
	case "oauth_resource", "headersHelper", "authProviderType", "scopes":
		s.Hand = true
		s.note(n.Line, `%q is left out: put an Authorization header in "headers"`, n.Key)
	case "type", "transport", "transportType", "name", "description", "display_name", "icon", "iconPath", "gallery", "version", "tags", "source", "bundled",
		"autoApprove", "alwaysAllow", "trust", "dev", "required", "settings", "remote", "sandboxEnabled", "sandbox", "watchPaths", "default_tools_approval_mode", "approval_mode", "tools",
		"supports_parallel_tool_calls", "serverName", "faviconUrl", "extensionName":
	default:
		s.note(n.Line, "%q is left out: it means nothing to mcpbridge", n.Key)
	}
}

// takeCommand takes a command: a program, a list with its arguments, or an object as in older
// settings of Zed.
func (s *Server) takeCommand(n edit.Node) {
	if n.Value == nil {
		for _, m := range n.Members {
			switch m.Key {
			case "path":
				s.Command = s.path(m)
			default:
				s.take(m)
			}
		}
		return
	}
	words := s.texts(n)
	if len(words) == 0 {
		s.fail("has no command")
		return
	}
	s.Command, s.Args = words[0].ours(), append(words[1:], s.Args...)
}

// takeOAuth takes what a login needs. Without anything it is automatic here.
func (s *Server) takeOAuth(n edit.Node) {
	keys := map[string]string{
		"clientId": "clientId", "client_id": "clientId", "CLIENT_ID": "clientId",
		"clientSecret": "clientSecret", "client_secret": "clientSecret", "CLIENT_SECRET": "clientSecret",
		"scope": "scopes", "scopes": "scopes", "callbackPort": "callbackPort",
	}
	if word := textOf(n); n.Value != nil && string(n.Value) != "{}" {
		s.NoOAuth = string(n.Value) == "false"
		if !s.NoOAuth && word != "oauth" && string(n.Value) != "true" {
			s.Hand = true
			s.note(n.Line, `%q is left out: put an Authorization header in "headers"`, n.Key)
		}
		return
	}
	for _, m := range n.Members {
		switch key := keys[m.Key]; {
		case m.Key == "enabled":
			s.NoOAuth = string(m.Value) == "false"
		case key == "scopes":
			var all []string
			for _, scope := range s.texts(m) {
				all = append(all, scope.Text)
			}
			if len(all) > 0 {
				s.OAuth = append(s.OAuth, Pair{key, Text{Text: strings.Join(all, " ")}})
			}
		case key != "" && string(m.Value) != "null":
			s.OAuth = append(s.OAuth, Pair{key, s.text(m)})
		}
	}
}

// takeTimeout takes a "timeout", in the client's unit.
func (s *Server) takeTimeout(n edit.Node) {
	unit := s.File.Client.unit
	if unit == time.Second && duration(n, 1) >= mostSeconds {
		unit = time.Millisecond
	}
	if startup, ok := n.At("startup"); ok {
		s.ConnectTimeout = duration(startup, unit)
	}
	for _, key := range []string{"request", "execution"} {
		if one, ok := n.At(key); ok {
			s.Timeout = duration(one, unit)
		}
	}
	switch {
	case n.Value == nil: // a timeout for each kind of request
	case unit == 0:
		s.note(n.Line, `"timeout" is left out: its unit is not known`)
	case s.File.Client.Name == "opencode": // of the connection
		s.ConnectTimeout = duration(n, unit)
	default:
		s.Timeout = duration(n, unit)
	}
}

// mostSeconds is a "timeout" that is in milliseconds even if its client has seconds now, as they had
// milliseconds once.
const mostSeconds = 10_000

// duration returns a number of units as a duration, or 0.
func duration(n edit.Node, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(string(bytes.Trim(n.Value, `"`)), 64)
	if err != nil || f <= 0 || f > 1e9 {
		return 0
	}
	return time.Duration(f * float64(unit))
}

// text converts a scalar.
func (s *Server) text(n edit.Node) Text {
	raw := string(n.Value)
	if n.Value == nil || raw == "" || raw[0] == '[' {
		s.fail("%q is not a string", n.Key)
		return Text{}
	}
	if raw[0] == '"' {
		raw = textOf(n)
	}
	project := ""
	if s.File.Project {
		project = s.File.machine.Project
	}
	t, err := s.File.Client.variables.convert(raw, project, func(name string) { s.elsewhere(n.Line, name) })
	if err != nil {
		s.fail("%v", err)
	}
	return t
}

// ours returns the text as mcpbridge.json writes it.
func (t Text) ours() string {
	if t.Variable {
		return t.Text
	}
	return escape(t.Text)
}

// elsewhere notes that the client keeps the value of a variable elsewhere.
func (s *Server) elsewhere(line int, name string) {
	s.Hand = true
	s.note(line, "the client keeps the value of %s elsewhere: set %s in the environment or in .env", name, name)
}

func (s *Server) path(n edit.Node) string {
	return s.text(n).ours()
}

// texts converts a list, or a single text.
func (s *Server) texts(n edit.Node) (list []Text) {
	if len(n.Value) > 0 && n.Value[0] != '[' {
		return []Text{s.text(n)}
	}
	if n.Value == nil {
		s.fail("%q is not a list", n.Key)
	}
	for _, m := range n.Members {
		m.Key = n.Key
		list = append(list, s.text(m))
	}
	return list
}

func (s *Server) strings(n edit.Node) (list []string) {
	for _, t := range s.texts(n) {
		list = append(list, t.ours())
	}
	return list
}

func (s *Server) pairs(n edit.Node) (list []Pair) {
	if n.Value != nil && len(n.Value) != len("[]") {
		s.fail("%q is not an object", n.Key)
		return nil
	}
	for _, m := range n.Members {
		if string(m.Value) != "null" {
			list = append(list, Pair{m.Key, s.text(m)})
		}
	}
	return list
}
