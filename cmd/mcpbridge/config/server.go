package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Server is one entry of "mcpServers": an upstream with a Command, a URL or a Lender. Variables are
// filled in, and paths are absolute.
type Server struct {
	Name  string // its key
	Line  int    // of its key in the file, from 1
	Fault error  // why this server cannot start, such as a missing variable; the others can

	Command string            // a program's name, or a path
	Args    []string          // passed without a shell
	Env     map[string]string // added to the basic variables that every server gets; includes envFile, which env overrides
	Dir     string            // "cwd"; default: the bridge's working directory
	Sandbox *sandbox.Policy   // what its process may do; nil means whatever the bridge may
	Single  bool              // "placement" is "one": a node of the cluster runs it for all of them

	URL     string            // http, https, ws or wss
	Headers map[string]string // sent with each request, or with the WebSocket handshake
	OAuth   OAuth

	Lender string // the principal that lends it to serve, over a link that mcpbridge lend opens

	PerIdentity bool // "credentials" is "identity": each principal logs in with its own account

	Transport string // "stdio", "http", "sse" or "ws"; "" means the one that Command or URL implies
	Era       string // "legacy" or "modern"; "" means auto-detected

	Prefix   *string           // prefix of its names; nil means derived from Name
	Include  []string          // patterns (see bridge.Match) of tools to offer; empty means all
	Exclude  []string          // patterns of tools not to offer; overrides Include
	Rename   map[string]string // new names by tool name
	Describe map[string]string // descriptions by tool name

	Timeout        time.Duration // bounds a call, anew with each progress; default 5 min
	MaxTimeout     time.Duration // bounds a call, however much progress it reports; default 30 min; not below Timeout if both are set
	ConnectTimeout time.Duration // bounds the connection; default 30 s
	IdleTimeout    time.Duration // time after which an unused link ends

	RetryMin time.Duration // before the second attempt to connect, doubled each time; default 1 s
	RetryMax time.Duration // bounds that; default 1 min
	Steady   time.Duration // a connection that lived for it is made again at once; default 1 s

	Concurrency int    // concurrent calls
	Sharing     string // "shared", "identity" or "session"; "" means by transport
	Required    bool   // the bridge is not ready without it
	Lazy        bool   // connected when first needed; false if Required

	Context  []string // hidden arguments of its tools, which Config.Context fills in
	Validate bool     // arguments are checked against the tools' schemas before a call

	Forward bool // it gets the token with which a caller has come

	Untrusted bool // "trust" is false, as it is by default with a Lender: the annotations of its tools decide nothing
	Pin       bool // its tools and prompts stay as they were first seen, until a person accepts others

	Secrets []string // the values of references, such as ${keychain:NAME}, which stand in other fields
}

// transports maps the spellings that clients use for a transport to ours.
var transports = map[string]string{
	"stdio": "stdio", "local": "stdio",
	"http": "http", "remote": "http", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http",
	"sse": "sse",
	"ws":  "ws", "websocket": "ws",
}

// Notes on keys of other clients that have no effect here.
const (
	noApproval = "tool approval is up to your MCP client"
	noOAuth    = `use "oauth", or put an Authorization header in "headers"`
	noInputs   = "input prompts are not supported: set an environment variable and use ${VAR}"
)

// keys lists the keys of an entry: ours, and those that other clients put there.
func (s *Server) keys(envFile *string, box *sandboxed) keySet {
	off := func(*decoder, node) {} // read before, by isOff
	return keySet{
		"command":     {take: into(&s.Command, readCommand), only: "command"},
		"args":        {take: into(&s.Args, listOf(readText)), only: "command"},
		"env":         {take: into(&s.Env, mapOf(checkEnvName, withBare(readEnvValue))), only: "command"},
		"environment": {take: into(&s.Env, mapOf(checkEnvName, withBare(readEnvValue))), only: "command", same: "env"},
		"envFile":     {take: into(envFile, readPath), only: "command"},
		"cwd":         {take: into(&s.Dir, readCwd), only: "command"},
		"sandbox":     {take: into(box, readSandbox), only: "command"},
		"placement":   {take: into(&s.Single, readPlacement), only: "command"},

		"url":       {take: into(&s.URL, readURL), only: "url"},
		"serverUrl": {take: into(&s.URL, readURL), only: "url", same: "url"},
		"httpUrl":   {take: into(&s.URL, readURL), only: "url", same: "url"},
		"baseUrl":   {take: into(&s.URL, readURL), only: "url", same: "url"},
		"headers":   {take: into(&s.Headers, readHeaders), only: "url"},
		"oauth":     {take: into(&s.OAuth, readOAuth), only: "url"},

		"forward":     {take: into(&s.Forward, readBool), only: "url"},
		"credentials": {take: into(&s.PerIdentity, readCredentials), only: "url"},

		"lender": {take: into(&s.Lender, readName), only: "lender"},

		"type":          {take: into(&s.Transport, readTransport)},
		"transport":     {take: into(&s.Transport, readTransport), same: "type"},
		"transportType": {take: into(&s.Transport, readTransport), same: "type"},
		"era":           {take: into(&s.Era, oneOf(words("legacy", "modern")))},
		"disabled":      {take: off},
		"enabled":       {take: off},

		"prefix":        {take: into(&s.Prefix, readPrefix)},
		"include":       {take: into(&s.Include, listOf(readGlob))},
		"includeTools":  {take: into(&s.Include, listOf(readGlob)), same: "include"},
		"enabledTools":  {take: into(&s.Include, listOf(readGlob)), same: "include"},
		"exclude":       {take: into(&s.Exclude, listOf(readGlob))},
		"excludeTools":  {take: into(&s.Exclude, listOf(readGlob)), same: "exclude"},
		"disabledTools": {take: into(&s.Exclude, listOf(readGlob)), same: "exclude"},
		"rename":        {take: into(&s.Rename, mapOf(nil, readName))},
		"describe":      {take: into(&s.Describe, mapOf(nil, readText))},

		"timeout":        {take: into(&s.Timeout, readTimeout)},
		"maxTimeout":     {take: into(&s.MaxTimeout, readDuration)},
		"connectTimeout": {take: into(&s.ConnectTimeout, readDuration)},
		"idleTimeout":    {take: into(&s.IdleTimeout, readDuration)},
		"backoff":        {take: inside(s.backoffKeys)},
		"concurrency":    {take: into(&s.Concurrency, readCount)},
		"sharing":        {take: into(&s.Sharing, oneOf(words("shared", "identity", "session")))},
		"required":       {take: into(&s.Required, readBool)},
		"lazy":           {take: into(&s.Lazy, readBool)},
		"context":        {take: into(&s.Context, listOf(readName))},
		"validate":       {take: into(&s.Validate, readBool)},
		"trust":          {take: into(&s.Untrusted, readDistrust)},
		"pin":            {take: into(&s.Pin, readBool)},

		"autoApprove":      {note: noApproval},
		"alwaysAllow":      {note: noApproval},
		"tools":            {note: `use "include" to choose the tools`},
		"initTimeout":      {note: `use "connectTimeout"`},
		"requestInit":      {note: `use "headers"`},
		"headersHelper":    {note: `use "headers"`},
		"authProviderType": {note: noOAuth},
		"auth":             {take: into(&s.OAuth, readAuth), only: "url", same: "oauth"},
		"scopes":           {note: noOAuth},
		"inputs":           {note: noInputs},
		"sandboxEnabled":   {note: `a setting of VS Code; use "sandbox": true`},
		"description":      {}, "icon": {}, "gallery": {}, "version": {}, "dev": {}, "name": {}, "iconPath": {}, "source": {}, "tags": {},
	}
}

// checkForward checks a server that gets the tokens of callers, and warns of it.
func (d *decoder) checkForward(n node, s *Server) {
	header := slices.ContainsFunc(slices.Collect(maps.Keys(s.Headers)), func(name string) bool { return strings.EqualFold(name, "Authorization") })
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || s.URL == "": // which is told elsewhere, or a variable is missing
	case s.PerIdentity || header || u.User != nil || hasAny("oauth", "auth")(membersIn(n)):
		d.errorf(n.key(), `"forward" is true: it cannot have credentials of another kind as well (an Authorization header, a user in its url, "oauth" or "credentials")`)
	case u.Scheme != "https" && u.Scheme != "wss" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		d.errorf(n.key(), `"forward" is true: the tokens of callers would be sent unencrypted; it needs a "url" that begins with https:// or wss://`)
	case s.Sharing == "shared" || s.Sharing == "identity":
		d.errorf(n.key(), `"forward" is true: "sharing" can only be "session", as no two callers share a connection`)
	default:
		d.warnf(n.key(), `"forward" is true: this server gets the tokens of callers, and can do with them what they can here`)
	}
}

// readTransport reads a type. One that is not like any of ours is a client's own, such as "sdk": its server is at
// fault alone.
func readTransport(d *decoder, n node) (string, bool) {
	known := slices.Sorted(maps.Keys(transports))
	if text, ok := n.value.(hujson.Literal); ok && n.value.Kind() == '"' && !n.filled() {
		word := text.String()
		if transports[word] == "" && toolformat.Closest(word, known) == "" {
			d.misspelled(n, fmt.Sprintf("unknown value %s (known: %s)", hint.Quote(word), strings.Join(known, ", ")))
			return "", false
		}
	}
	return oneOf(transports)(d, n)
}

// readPlacement reads on how many nodes of a cluster a server runs.
func readPlacement(d *decoder, n node) (single, ok bool) {
	_, ok = oneOf(words("one"))(d, n)
	return ok, ok
}

// readCredentials reads whose credentials a server gets.
func readCredentials(d *decoder, n node) (perIdentity, ok bool) {
	word, ok := oneOf(words("operator", "identity"))(d, n)
	return word == "identity", ok
}

func (s *Server) backoffKeys() keySet {
	return keySet{
		"min":    {take: into(&s.RetryMin, readDuration)},
		"max":    {take: into(&s.RetryMax, readDuration)},
		"steady": {take: into(&s.Steady, readDuration)},
	}
}

// readServers reads "mcpServers": each member is a server under its name.
func readServers(d *decoder, n node) ([]Server, bool) {
	var servers []Server
	members, ok := d.members(n, "an object of servers")
	prefixes := map[string]string{} // servers by their derived prefixes
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

// isOff reports whether an entry is disabled. The rest of a disabled entry is not read, so that
// disabling it helps against any mistake in it.
func isOff(d *decoder, entry node) (off bool) {
	members, _ := d.membersOf(entry)
	for _, m := range members {
		if v, isBool := m.boolean(); isBool {
			off = off || m.name == "disabled" && v || m.name == "enabled" && !v
		} else if (m.name == "disabled" || m.name == "enabled") && !m.null() {
			d.expected(m, "true or false")
		}
	}
	return off
}

// derivedPrefix returns the prefix of a server that does not configure one, without the "__".
func derivedPrefix(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// server reads one entry. A variable that is not set becomes its Fault.
func (d *decoder) server(n node) Server {
	s := Server{Name: n.name, Line: d.line(n.key().offset)}
	d.inside = &entryScope{path: n.path, server: true, unit: timeoutUnit(membersIn(n))}
	defer func() { d.inside = nil }()

	var envFile string
	var box sandboxed
	keys := s.keys(&envFile, &box)
	reach := d.reach(n, keys)
	s.Untrusted = reach == "lender"
	before, filledIn := len(d.problems), len(d.filledIn)
	d.object(n, keys)
	s.Secrets = slices.Clone(d.filledIn[filledIn:])
	if len(d.problems) == before && !d.inside.misspelled { // that key may be the one that is missing
		d.checkServer(n, &s, reach)
	}
	if envFile != "" {
		d.envFiles = append(d.envFiles, envFile)
		if vars, err := envfile.Load(envFile); err != nil {
			d.lacks(n, "envFile %v", err)
		} else {
			d.secretsIn(n, envFile, vars)
			maps.Copy(vars, s.Env)
			s.Env = vars
		}
	}
	s.Sandbox = box.policy(&s)
	if s.Sandbox != nil {
		d.boxed = append(d.boxed, boxed{n, s.Sandbox})
	}
	d.guardPreset(n, &box, s.Sandbox)
	s.Fault = errors.Join(d.inside.faults...)
	return s
}

// clientUnits has the unit of "timeout" in the clients whose keys tell them.
var clientUnits = map[string]time.Duration{
	"httpUrl": time.Millisecond, "includeTools": time.Millisecond, "excludeTools": time.Millisecond, // Gemini CLI
	"environment": time.Millisecond, // opencode
	"initTimeout": time.Millisecond, // LibreChat
	"alwaysAllow": time.Second,      // Roo Code
	"watchPaths":  time.Second,
	"autoApprove": time.Second, // Cline; Kiro's milliseconds exceed maxSeconds
}

// timeoutUnit returns the unit of "timeout" beside these keys, or 0.
func timeoutUnit(keys []node) time.Duration {
	for _, k := range keys {
		if unit := clientUnits[k.name]; unit != 0 {
			return unit
		}
	}
	return 0
}

// reach returns how a server is reached: "command", "url", "lender", two of these with "and" in between, or
// "". Keys that only make sense for another way are turned into ignored ones.
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
			return reach + " and " + only
		}
	}
	for name, k := range keys {
		if reach != "" && k.only != "" && k.only != reach {
			keys[name] = keyRule{note: "not for a server with " + reach}
		}
	}
	return reach
}

// checkServer checks what no single key can tell.
func (d *decoder) checkServer(n node, s *Server, reach string) {
	switch scheme, _, _ := strings.Cut(s.URL, ":"); {
	case reach == "":
		d.errorf(n.key(), `needs "command" (a program to run) or "url" (a server to connect to)`)
	case strings.Contains(reach, " and "):
		one, other, _ := strings.Cut(reach, " and ")
		d.errorf(n.key(), `%q and %q are mutually exclusive: keep one`, one, other)
	case reach == "lender" && s.Transport != "":
		d.errorf(n.key(), `has type %q, but a server with "lender" needs none: mcpbridge lend connects it`, s.Transport)
	case reach == "lender" && s.Required:
		d.errorf(n.key(), `"required" is true, but a server with "lender" can be connected only once serve has started`)
	case s.Transport == "" || reach == "url" && s.URL == "":
	case reach == "command" && s.Transport != "stdio":
		d.errorf(n.key(), `has type %q, but a server with "command" has type "stdio"`, s.Transport)
	case reach == "url" && (s.Transport == "stdio" || (s.Transport == "ws") != strings.HasPrefix(strings.ToLower(scheme), "ws")):
		d.errorf(n.key(), `has type %q, which does not fit its "url": http and sse need http(s)://, ws needs ws(s)://`, s.Transport)
	}
	if s.Forward {
		d.checkForward(n, s)
	}
	s.Lazy = s.Lazy && !s.Required
	if s.Single && s.Required {
		d.placed = append(d.placed, n.key())
	}
	switch {
	case s.PerIdentity && s.Sharing == "shared":
		d.errorf(n.key(), `"sharing" is "shared", but with "credentials": "identity" no two principals share a connection: use "identity" or "session"`)
	case s.OAuth.OfCaller && (s.Sharing == "shared" || s.Sharing == "identity"):
		d.errorf(n.key(), `"sharing" can only be "session", as no two callers share a connection: its "oauth" exchanges their own tokens`)
	case s.PerIdentity && s.OAuth.Grant != "":
		d.errorf(n.key(), `"credentials": "identity" needs persons who log in: "grant" in its "oauth" is for the bridge itself`)
	}
	if s.MaxTimeout > 0 && s.Timeout > s.MaxTimeout {
		d.errorf(n.key(), `"maxTimeout" (%v) is less than "timeout" (%v)`, s.MaxTimeout, s.Timeout)
	}
	if strings.ContainsAny(s.Command, " \t") && len(s.Args) == 0 {
		if _, err := os.Stat(s.Command); err != nil {
			d.warnf(n.key(), `command is run without a shell: put its arguments in "args"`)
		}
	}
}
