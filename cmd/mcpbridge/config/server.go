package config

import (
	"errors"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// Server is one entry of mcpServers: an upstream with either Command or URL.
// Variables are filled in, paths absolute where the config says they are paths.
type Server struct {
	Name  string // its key
	Line  int    // of its key in the file, from 1
	Fault error  // why this server cannot start while the others can: a missing variable, a bad env file; nil: it can

	Command string            // a program name, or a path
	Args    []string          // handed over as they are: no shell
	Env     map[string]string // added to the customary variables that every server gets: env over envFile
	Dir     string            // "cwd"; default: where the bridge runs

	URL     string            // http, https, ws or wss
	Headers map[string]string // sent with each request, or with the WebSocket handshake

	Transport string // "stdio", "http", "sse" or "ws"; "": what Command or URL tell
	Era       string // "legacy" or "modern"; "": found out

	Prefix   *string           // before its names; nil: the rule, "": none
	Include  []string          // globs (path.Match) of tool names that are taken; default all
	Exclude  []string          // globs of tool names that are not, even when included
	Rename   map[string]string // tool name → new name
	Describe map[string]string // tool name → description

	Timeout        time.Duration // of a call without progress; default 5 min
	MaxTimeout     time.Duration // of a call with progress; default 30 min; never under Timeout when both are said
	ConnectTimeout time.Duration // until the server is up; default 30 s
	IdleTimeout    time.Duration // a link nobody uses ends after this

	Concurrency int    // calls at once
	Sharing     string // "shared", "identity" or "session"; "": by transport
	Required    bool   // the bridge is not ready without it
	Lazy        bool   // connected when first needed

	Context  []string // arguments of its tools that no caller sees or sets: Config.Context says them
	Validate bool     // arguments are checked against the tools' schemas before the call
}

// transports are the spellings of a transport that clients use.
var transports = map[string]string{
	"stdio": "stdio", "local": "stdio",
	"http": "http", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http",
	"sse": "sse",
	"ws":  "ws", "websocket": "ws",
}

// keys are those of a server block: ours, and those that other clients put there.
func (s *Server) keys(envFile *string) keySet {
	off := func(*decoder, node) {} // read before, by isOff
	return keySet{
		"command": {take: into(&s.Command, readCommand), only: "command"},
		"args":    {take: into(&s.Args, listOf(readText)), only: "command"},
		"env":     {take: into(&s.Env, mapOf(checkEnvName, readEnvValue)), only: "command"},
		"envFile": {take: into(envFile, readPath), only: "command"},
		"cwd":     {take: into(&s.Dir, readPath), only: "command"},

		"url":       {take: into(&s.URL, readURL), only: "url"},
		"serverUrl": {take: into(&s.URL, readURL), only: "url", same: "url"},
		"httpUrl":   {take: into(&s.URL, readURL), only: "url", same: "url"},
		"headers":   {take: into(&s.Headers, readHeaders), only: "url"},

		"type":      {take: into(&s.Transport, oneOf(transports))},
		"transport": {take: into(&s.Transport, oneOf(transports)), same: "type"},
		"era":       {take: into(&s.Era, oneOf(words("legacy", "modern")))},
		"disabled":  {take: off},
		"enabled":   {take: off},

		"prefix":        {take: into(&s.Prefix, readPrefix)},
		"include":       {take: into(&s.Include, listOf(readGlob))},
		"includeTools":  {take: into(&s.Include, listOf(readGlob)), same: "include"},
		"exclude":       {take: into(&s.Exclude, listOf(readGlob))},
		"excludeTools":  {take: into(&s.Exclude, listOf(readGlob)), same: "exclude"},
		"disabledTools": {take: into(&s.Exclude, listOf(readGlob)), same: "exclude"},
		"rename":        {take: into(&s.Rename, mapOf(nil, readName))},
		"describe":      {take: into(&s.Describe, mapOf(nil, readText))},

		"timeout":        {take: into(&s.Timeout, readTimeout)},
		"maxTimeout":     {take: into(&s.MaxTimeout, readDuration)},
		"connectTimeout": {take: into(&s.ConnectTimeout, readDuration)},
		"idleTimeout":    {take: into(&s.IdleTimeout, readDuration)},
		"concurrency":    {take: into(&s.Concurrency, readCount)},
		"sharing":        {take: into(&s.Sharing, oneOf(words("shared", "identity", "session")))},
		"required":       {take: into(&s.Required, readBool)},
		"lazy":           {take: into(&s.Lazy, readBool)},
		"context":        {take: into(&s.Context, listOf(readName))},
		"validate":       {take: into(&s.Validate, readBool)},

		"autoApprove":      {note: "the client approves calls"},
		"alwaysAllow":      {note: "the client approves calls"},
		"trust":            {note: "the client approves calls"},
		"tools":            {note: `"include" says which tools are taken`},
		"initTimeout":      {note: `"connectTimeout" is its name here`},
		"requestInit":      {note: `"headers" is its name here`},
		"authProviderType": {note: `say who calls with "headers"`},
		"oauth":            {note: `say who calls with "headers"`},
		"scopes":           {note: `say who calls with "headers"`},
		"inputs":           {note: "the bridge asks for nothing; use ${VAR}"},
		"description":      {}, "icon": {}, "gallery": {}, "version": {}, "dev": {}, "name": {}, "iconPath": {}, "source": {},
	}
}

// readServers is mcpServers: each member a server by its name.
func readServers(d *decoder, n node) ([]Server, bool) {
	var servers []Server
	members, ok := d.members(n, "an object of servers")
	prefixes := map[string]string{} // derived prefix → the server that has it
	for _, m := range members {
		if m.name == "" {
			d.errorf(m.key(), "a server needs a name")
			continue
		}
		d.servers = append(d.servers, m.name)
		if isOff(d, m) {
			continue
		}
		s := d.server(m)
		servers = append(servers, s)
		if s.Prefix != nil {
			continue
		}
		if other, taken := prefixes[derivedPrefix(s.Name)]; taken {
			d.warnf(m.key(), `same prefix as server %s; set "prefix" on one of them`, hint.Quote(other))
		} else {
			prefixes[derivedPrefix(s.Name)] = s.Name
		}
	}
	return servers, ok
}

// isOff: a server that is switched off is looked at no further, so that switching off helps against any mistake in it.
func isOff(d *decoder, server node) (off bool) {
	members, _ := d.membersOf(server)
	for _, m := range members {
		if v, isBool := m.boolean(); isBool {
			off = off || m.name == "disabled" && v || m.name == "enabled" && !v
		} else if (m.name == "disabled" || m.name == "enabled") && !m.null() {
			d.expected(m, "true or false")
		}
	}
	return off
}

// derivedPrefix is what stands before a server's tool names when its config says nothing, less the "__".
func derivedPrefix(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// server reads one block. What its environment lacks becomes its Fault.
func (d *decoder) server(n node) Server {
	s := Server{Name: n.name, Line: d.line(n.key().offset)}
	d.inside = &entryScope{path: n.path}
	defer func() { d.inside = nil }()

	var envFile string
	keys := s.keys(&envFile)
	reach := d.reach(n, keys)
	before := len(d.problems)
	d.object(n, keys)
	if len(d.problems) == before { // else a misspelt key may be the one that is missed
		d.checkServer(n, &s, reach)
	}
	if envFile != "" {
		if file, err := loadEnvFile(envFile); err != nil {
			d.lacks(n, "envFile %v", err)
		} else {
			s.Env = beneath(file, s.Env)
		}
	}
	s.Fault = errors.Join(d.inside.faults...)
	return s
}

// reach says by what a server is reached: "command", "url", "both" or "". Keys that only serve the other way are
// turned into ignored ones.
func (d *decoder) reach(n node, keys keySet) string {
	var reach string
	members, _ := d.membersOf(n)
	for _, m := range members {
		only := keys[m.name].only
		isReach := only != "" && (m.name == only || keys[m.name].same == only)
		switch {
		case !isReach || m.null():
		case reach == "" || reach == only:
			reach = only
		default:
			return "both"
		}
	}
	for name, k := range keys {
		if reach != "" && k.only != "" && k.only != reach {
			keys[name] = keyRule{note: "not for a server with " + reach}
		}
	}
	return reach
}

// checkServer holds what no single key can tell.
func (d *decoder) checkServer(n node, s *Server, reach string) {
	switch scheme, _, _ := strings.Cut(s.URL, ":"); {
	case reach == "":
		d.errorf(n.key(), `needs "command" (a program to run) or "url" (a server to connect to)`)
	case reach == "both":
		d.errorf(n.key(), `has both "command" and "url": a server is run or connected to, keep one`)
	case s.Transport == "" || reach == "url" && s.URL == "":
	case reach == "command" && s.Transport != "stdio":
		d.errorf(n.key(), `is of type %q but has "command": that is stdio`, s.Transport)
	case reach == "url" && (s.Transport == "stdio" || (s.Transport == "ws") != strings.HasPrefix(strings.ToLower(scheme), "ws")):
		d.errorf(n.key(), `is of type %q, which its "url" is not: http and sse go with http(s)://, ws with ws(s)://`, s.Transport)
	}
	if s.MaxTimeout > 0 && s.Timeout > s.MaxTimeout {
		d.errorf(n.key(), `"maxTimeout" (%v) is under "timeout" (%v)`, s.MaxTimeout, s.Timeout)
	}
	if strings.ContainsAny(s.Command, " \t") && len(s.Args) == 0 {
		if _, err := os.Stat(s.Command); err != nil {
			d.warnf(n.key(), "command is run as it is, without a shell; put the arguments in args")
		}
	}
}

func readHeaders(d *decoder, n node) (map[string]string, bool) {
	seen := map[string]string{} // headers do not know letter case, JSON does
	return mapOf(checkHeaderName, func(d *decoder, m node) (string, bool) {
		fold := strings.ToLower(m.name)
		if other, twice := seen[fold]; twice && other != m.name {
			d.errorf(m.key(), "is the same header as %s: keep one", hint.Quote(other))
		}
		seen[fold] = m.name
		value, ok := readText(d, m)
		if ok && strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' }) {
			d.wrongf(m, "a header's value is one line without control characters")
			return "", false
		}
		return value, ok
	})(d, n)
}

func checkHeaderName(name string) string {
	const marks = "!#$%&'*+-.^_`|~"
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune(marks, r))
	}) {
		return "not a header name"
	}
	return ""
}

func readURL(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if !ok {
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		d.wrongf(n, "expected a URL that begins with http://, https://, ws:// or wss:// and has a host")
		return "", false
	}
	return text, true
}

func readPrefix(d *decoder, n node) (*string, bool) {
	text, ok := readText(d, n)
	return &text, ok
}

func readName(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if ok && text == "" {
		d.wrongf(n, "expected a name, got nothing")
	}
	return text, ok && text != ""
}

func readGlob(d *decoder, n node) (string, bool) {
	text, ok := readName(d, n)
	if !ok {
		return "", false
	}
	if _, err := path.Match(text, ""); err != nil {
		d.wrongf(n, `not a pattern: a "[" without "]", or a "\" at the end`)
		return "", false
	}
	return text, true
}
