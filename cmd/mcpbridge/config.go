package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	configName    = "mcpbridge.json"
	maxConfigSize = 16 << 20 // bytes
	minTokenSize  = 16       // bytes
)

// Config is mcpbridge.json as loaded. Zero values mean "not said": defaults belong to whoever uses a value.
type Config struct {
	Path           string            // the file as it was named; it begins every error and warning
	Dir            string            // absolute: the folder that relative paths start from
	Servers        []Server          // mcpServers in file order, disabled ones left out
	Listen         string            // host:port; default 127.0.0.1:7332
	Tokens         map[string]string // who may connect: name → bearer token, never two alike; default: none needed
	AllowedOrigins []string          // as browsers write them: lower case, no default port; or "null"
	PublicHosts    []string          // names in a Host header under which the bridge is reached, lower case, with or without port
	Names          Names
	Limits         Limits
	Log            Log
	Warnings       []string // what was ignored or met halfway, each `file:line: …`, in file order
}

// Names says how tool names of several sources live together.
type Names struct {
	Conflict  string // "prefix" (default), "first" or "error"
	MaxLength int    // characters; default 64
}

// Limits bounds what callers may take. Zero is the default, which the user of each value sets.
type Limits struct {
	MessageBytes    int           // largest message taken, bytes; default 64 MiB
	Sessions        int           // HTTP sessions at once
	SessionIdle     time.Duration // an HTTP session that is silent for so long ends
	Children        int           // stdio processes at once
	BatchMessages   int           // messages in one JSON-RPC batch
	ResumeBytes     int           // bytes kept per session for Last-Event-ID
	CallsPerSession int           // calls in flight per session
	QueueBytes      int           // bytes queued for a consumer that does not read; default 8 MiB
}

// Log says what is logged to standard error, and how.
type Log struct {
	Level  string // "debug", "info" (default), "warn" or "error"
	Format string // "text" (default) or "json"
}

// Server is one entry of mcpServers: an upstream with either Command or URL.
// Variables are filled in, paths absolute where the config says they are paths.
type Server struct {
	Name  string // its key
	Line  int    // of its key in the file, from 1
	Fault error  // why this server cannot start while the others can: a missing variable, a bad env file; nil: it can

	Command string            // a program name, or a path
	Args    []string          // handed over as they are: no shell
	Env     map[string]string // added to the bridge's environment: env over envFile
	Dir     string            // "cwd"; default: where the bridge runs

	URL     string            // http, https, ws or wss
	Headers map[string]string // sent with each request, or with the WebSocket handshake

	Transport string // "stdio", "http", "sse" or "ws"; "": what Command or URL tell

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
}

// Load reads the config at path; "" means ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder.
// Its error names every mistake in the file, one a line, and wraps [fs.ErrNotExist] when there is no file.
func Load(path string) (*Config, error) {
	if path == "" {
		found, err := findConfig()
		if err != nil {
			return nil, err
		}
		path = found
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigSize+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return LoadBytes(path, data, os.LookupEnv)
}

// findConfig is the first config that exists where configs are looked for.
func findConfig() (string, error) {
	places := []string{configName}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "mcpbridge", configName))
	}
	for _, place := range places {
		if _, err := os.Stat(place); err == nil {
			return place, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("config: %w", err)
		}
	}
	return "", &noConfigError{places}
}

// noConfigError says what to do when there is no config at all.
type noConfigError struct{ places []string }

func (e *noConfigError) Error() string {
	return "no config: put one at " + strings.Join(e.places, " or ") + ", name one with --config FILE, " +
		"or go without: one upstream is `-- COMMAND [ARG...]` or `--upstream URL`"
}

func (e *noConfigError) Unwrap() error { return fs.ErrNotExist }

// LoadBytes is Load for a config that was read already. path gives errors their name and relative paths their folder;
// nothing is read but the env files that data names. A nil getenv is [os.LookupEnv].
func LoadBytes(path string, data []byte, getenv func(string) (string, bool)) (*Config, error) {
	if path == "" {
		path = configName
	}
	if getenv == nil {
		getenv = os.LookupEnv
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("config %s: %w", path, err)
	}
	if len(data) > maxConfigSize {
		return nil, fmt.Errorf("%s: larger than %d MiB, which no config should be", path, maxConfigSize>>20)
	}
	d := newConfigDecoder(path, dir, data, getenv)
	c := &Config{Path: path, Dir: dir}
	if root, ok := d.parse(); ok {
		d.duplicates(root)
		d.object(root, c.keys())
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	c.Warnings = d.warned()
	return c, nil
}

// later marks what the config format has but no code here reads.
const later = "not supported by this version"

func (c *Config) keys() configKeys {
	return configKeys{
		"mcpServers":     {take: into(&c.Servers, readServers)},
		"servers":        {take: into(&c.Servers, readServers), same: "mcpServers", note: `read as "mcpServers"`},
		"listen":         {take: into(&c.Listen, readListen)},
		"tokens":         {take: into(&c.Tokens, readTokens)},
		"allowedOrigins": {take: into(&c.AllowedOrigins, listOf(readOrigin))},
		"publicHosts":    {take: into(&c.PublicHosts, listOf(readPublicHost))},
		"names":          {take: inside(c.Names.keys)},
		"limits":         {take: inside(c.Limits.keys)},
		"log":            {take: inside(c.Log.keys)},

		"tools":     {note: later},
		"apis":      {note: later},
		"context":   {note: later},
		"providers": {note: later},
		"loop":      {note: later},

		"$schema":        {quiet: true},
		"inputs":         {note: "the bridge asks for nothing; use ${VAR}"},
		"globalShortcut": {note: "for another program"},
		"preferences":    {note: "for another program"},
	}
}

func (n *Names) keys() configKeys {
	return configKeys{
		"conflict":  {take: into(&n.Conflict, oneOf(words("prefix", "first", "error")))},
		"maxLength": {take: into(&n.MaxLength, readCount)},
	}
}

func (l *Limits) keys() configKeys {
	return configKeys{
		"messageBytes":    {take: into(&l.MessageBytes, readSize)},
		"sessions":        {take: into(&l.Sessions, readCount)},
		"sessionIdle":     {take: into(&l.SessionIdle, readDuration)},
		"children":        {take: into(&l.Children, readCount)},
		"batchMessages":   {take: into(&l.BatchMessages, readCount)},
		"resumeBytes":     {take: into(&l.ResumeBytes, readSize)},
		"callsPerSession": {take: into(&l.CallsPerSession, readCount)},
		"queueBytes":      {take: into(&l.QueueBytes, readSize)},
	}
}

func (l *Log) keys() configKeys {
	return configKeys{
		"level":  {take: into(&l.Level, oneOf(words("debug", "info", "warn", "error")))},
		"format": {take: into(&l.Format, oneOf(words("text", "json")))},
	}
}

// transports are the spellings of a transport that clients use.
var transports = map[string]string{
	"stdio": "stdio", "local": "stdio",
	"http": "http", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http",
	"sse": "sse",
	"ws":  "ws", "websocket": "ws",
}

// keys are those of a server block: ours, and those that other clients put there.
func (s *Server) keys(envFile *string) configKeys {
	off := func(*configDecoder, configNode) {} // read before, by isOff
	return configKeys{
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

		"validate": {note: later},
		"context":  {note: later},

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
func readServers(d *configDecoder, n configNode) ([]Server, bool) {
	var servers []Server
	members, ok := d.members(n, "an object of servers")
	prefixes := map[string]string{} // derived prefix → the server that has it
	for _, m := range members {
		if m.name == "" {
			d.errorf(m.key(), "a server needs a name")
			continue
		}
		if isOff(d, m) {
			continue
		}
		s := d.server(m)
		servers = append(servers, s)
		if s.Prefix != nil {
			continue
		}
		if other, taken := prefixes[derivedPrefix(s.Name)]; taken {
			d.warnf(m.key(), `same prefix as server %s; set "prefix" on one of them`, quoteShort(other))
		} else {
			prefixes[derivedPrefix(s.Name)] = s.Name
		}
	}
	return servers, ok
}

// isOff: a server that is switched off is looked at no further, so that switching off helps against any mistake in it.
func isOff(d *configDecoder, server configNode) (off bool) {
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
func (d *configDecoder) server(n configNode) Server {
	s := Server{Name: n.name, Line: d.line(n.key().offset)}
	d.inside = &serverScope{path: n.path}
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
func (d *configDecoder) reach(n configNode, keys configKeys) string {
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
			keys[name] = configKey{note: "not for a server with " + reach}
		}
	}
	return reach
}

// checkServer holds what no single key can tell.
func (d *configDecoder) checkServer(n configNode, s *Server, reach string) {
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

func readListen(d *configDecoder, n configNode) (string, bool) {
	text, ok := readText(d, n)
	if !ok {
		return "", false
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil || !isPort(port) {
		d.wrongf(n, `expected host:port, as in "127.0.0.1:7332"`)
		return "", false
	}
	return text, true
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// readOrigin reads an origin and writes it as a browser does, since it is compared with what browsers send.
func readOrigin(d *configDecoder, n configNode) (string, bool) {
	text, ok := readText(d, n)
	if !ok || text == "null" {
		return text, ok
	}
	if text == "*" {
		d.wrongf(n, `"*" would let in every page that the user visits: name the origins`)
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || !isHost(u.Host) || !strings.EqualFold(text, u.Scheme+"://"+u.Host) {
		d.wrongf(n, `expected an origin, scheme://host[:port] without a path, as in "https://app.example.com"`)
		return "", false
	}
	host := strings.ToLower(u.Host)
	if defaultPort := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; defaultPort != "" {
		host = strings.TrimSuffix(host, defaultPort)
	}
	return u.Scheme + "://" + host, true
}

func readPublicHost(d *configDecoder, n configNode) (string, bool) {
	text, ok := readText(d, n)
	if ok && !isHost(text) {
		d.wrongf(n, `expected a host name with or without port, as in "bridge.example.com"`)
		return "", false
	}
	return strings.ToLower(text), ok
}

// isHost: a name or address as it stands in a Host header, and never a pattern.
func isHost(s string) bool {
	u, err := url.Parse("//" + s)
	if err != nil || u.Host != s || u.Hostname() == "" || strings.ContainsAny(s, "*,%\"<> ") {
		return false
	}
	return !strings.HasSuffix(s, ":") && (u.Port() == "" || isPort(u.Port()))
}

// readTokens holds that a token is long enough and tells who it is that comes with it.
func readTokens(d *configDecoder, n configNode) (map[string]string, bool) {
	owners := map[string]string{}
	return mapOf(checkName, func(d *configDecoder, m configNode) (string, bool) {
		token, ok := readText(d, m)
		other, taken := owners[token]
		switch {
		case !ok:
			return "", false
		case len(token) < minTokenSize:
			d.errorf(m, "a token needs at least %d characters", minTokenSize)
		case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
			d.errorf(m, "a token is of printable ASCII characters without spaces")
		case taken:
			d.errorf(m, "the same token as %s: each needs its own", quoteShort(other))
		}
		owners[token] = m.name
		return token, true
	})(d, n)
}

func readHeaders(d *configDecoder, n configNode) (map[string]string, bool) {
	seen := map[string]string{} // headers do not know letter case, JSON does
	return mapOf(checkHeaderName, func(d *configDecoder, m configNode) (string, bool) {
		fold := strings.ToLower(m.name)
		if other, twice := seen[fold]; twice && other != m.name {
			d.errorf(m.key(), "is the same header as %s: keep one", quoteShort(other))
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

func checkName(name string) string {
	if name == "" {
		return "expected a name"
	}
	return ""
}

func readURL(d *configDecoder, n configNode) (string, bool) {
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

func readPrefix(d *configDecoder, n configNode) (*string, bool) {
	text, ok := readText(d, n)
	return &text, ok
}

func readName(d *configDecoder, n configNode) (string, bool) {
	text, ok := readText(d, n)
	if ok && text == "" {
		d.wrongf(n, "expected a name, got nothing")
	}
	return text, ok && text != ""
}

func readGlob(d *configDecoder, n configNode) (string, bool) {
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
