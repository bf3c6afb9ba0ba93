package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

const (
	// FileName is the customary name of a config.
	FileName      = "mcpbridge.json"
	maxConfigSize = 16 << 20 // bytes
	minTokenSize  = 16       // bytes
)

// Config is mcpbridge.json as loaded. Zero values mean "not said": defaults belong to whoever uses a value.
type Config struct {
	Path           string        // the file as it was named; it begins every error and warning
	Dir            string        // absolute: the folder that relative paths start from
	Servers        []Server      // mcpServers in file order, disabled ones left out
	Tools          []Definitions // native tools, in the order of the file
	APIs           []API
	Context        map[string]ContextField // hidden values by their names in lower case
	Providers      []ModelProvider         // language models, in the order of the file
	Loop           Loop
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
	MessageBytes      int           // largest message taken, bytes; default 64 MiB
	Sessions          int           // sessions over HTTP and WebSocket at once
	SessionIdle       time.Duration // an HTTP session that is silent for so long ends
	Children          int           // stdio processes at once
	BatchMessages     int           // messages in one JSON-RPC batch
	ResumeBytes       int           // bytes kept per session for Last-Event-ID
	CallsPerSession   int           // calls in flight per session
	QueueBytes        int           // bytes queued for a consumer that does not read; default 8 MiB
	Completions       int           // chat completions at once; default 100
	Sampling          int           // sampling requests of one server at once; default 4
	SamplingPerMinute int           // sampling requests of one server; default 60
	NativeCalls       int           // calls of native tools at once; default 256
	NativeQueue       int           // calls of native tools that wait; default 1,000
	NativeResult      int           // characters of text in the result of a native tool; default 8 Mi
}

// Log says what is logged to standard error, and how.
type Log struct {
	Level  string // "debug", "info" (default), "warn" or "error"
	Format string // "text" (default) or "json"
}

// A Loader loads configs. The zero Loader reads the environment of the process and accepts any type of provider.
type Loader struct {
	Getenv        func(name string) (value string, ok bool) // nil means os.LookupEnv
	ProviderTypes []string                                  // the types that providers may have; nil means any
}

// Load loads the config at path with the zero [Loader].
func Load(path string) (*Config, error) { return Loader{}.Load(path) }

// Load reads the config at path; "" means ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder.
// Its error names every mistake in the file, one a line, and wraps [fs.ErrNotExist] when there is no file.
func (l Loader) Load(path string) (*Config, error) {
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
	return l.Parse(path, data)
}

// findConfig is the first config that exists where configs are looked for.
func findConfig() (string, error) {
	places := []string{FileName}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "mcpbridge", FileName))
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

// Parse is Load for a config that was read already. path gives errors their name and relative paths their folder;
// nothing is read but the env files that data names.
func (l Loader) Parse(path string, data []byte) (*Config, error) {
	if path == "" {
		path = FileName
	}
	if l.Getenv == nil {
		l.Getenv = os.LookupEnv
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("config %s: %w", path, err)
	}
	if len(data) > maxConfigSize {
		return nil, fmt.Errorf("%s: larger than %d MiB, which no config should be", path, maxConfigSize>>20)
	}
	d := l.newDecoder(path, dir, data)
	c := &Config{Path: path, Dir: dir}
	if root, ok := d.parse(); ok {
		d.duplicates(root)
		d.object(root, c.keys())
		for _, check := range d.atEnd {
			check()
		}
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	c.Warnings = d.warned()
	return c, nil
}

func (c *Config) keys() keySet {
	return keySet{
		"mcpServers":     {take: into(&c.Servers, readServers)},
		"servers":        {take: into(&c.Servers, readServers), same: "mcpServers", note: `read as "mcpServers"`},
		"listen":         {take: into(&c.Listen, readListen)},
		"tokens":         {take: into(&c.Tokens, readTokens)},
		"allowedOrigins": {take: into(&c.AllowedOrigins, listOf(readOrigin))},
		"publicHosts":    {take: into(&c.PublicHosts, listOf(readPublicHost))},
		"names":          {take: inside(c.Names.keys)},
		"limits":         {take: inside(c.Limits.keys)},
		"log":            {take: inside(c.Log.keys)},

		"tools":   {take: into(&c.Tools, readDefinitionsList)},
		"apis":    {take: into(&c.APIs, readAPIs)},
		"context": {take: into(&c.Context, readContext)},

		"providers": {take: into(&c.Providers, readProviders)},
		"loop":      {take: inside(c.Loop.keys)},

		"$schema":        {quiet: true},
		"inputs":         {note: "the bridge asks for nothing; use ${VAR}"},
		"globalShortcut": {note: "for another program"},
		"preferences":    {note: "for another program"},
	}
}

func (n *Names) keys() keySet {
	return keySet{
		"conflict":  {take: into(&n.Conflict, oneOf(words("prefix", "first", "error")))},
		"maxLength": {take: into(&n.MaxLength, readCount)},
	}
}

func (l *Limits) keys() keySet {
	return keySet{
		"messageBytes":      {take: into(&l.MessageBytes, readSize)},
		"sessions":          {take: into(&l.Sessions, readCount)},
		"sessionIdle":       {take: into(&l.SessionIdle, readDuration)},
		"children":          {take: into(&l.Children, readCount)},
		"batchMessages":     {take: into(&l.BatchMessages, readCount)},
		"resumeBytes":       {take: into(&l.ResumeBytes, readSize)},
		"callsPerSession":   {take: into(&l.CallsPerSession, readCount)},
		"queueBytes":        {take: into(&l.QueueBytes, readSize)},
		"completions":       {take: into(&l.Completions, readCount)},
		"sampling":          {take: into(&l.Sampling, readCount)},
		"samplingPerMinute": {take: into(&l.SamplingPerMinute, readCount)},
		"nativeCalls":       {take: into(&l.NativeCalls, readCount)},
		"nativeQueue":       {take: into(&l.NativeQueue, readCount)},
		"nativeResult":      {take: into(&l.NativeResult, readCount)},
	}
}

func (l *Log) keys() keySet {
	return keySet{
		"level":  {take: into(&l.Level, oneOf(words("debug", "info", "warn", "error")))},
		"format": {take: into(&l.Format, oneOf(words("text", "json")))},
	}
}

func readListen(d *decoder, n node) (string, bool) {
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
func readOrigin(d *decoder, n node) (string, bool) {
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

func readPublicHost(d *decoder, n node) (string, bool) {
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
func readTokens(d *decoder, n node) (map[string]string, bool) {
	owners := map[string]string{}
	return mapOf(checkName, func(d *decoder, m node) (string, bool) {
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
			d.errorf(m, "the same token as %s: each needs its own", hint.Quote(other))
		}
		owners[token] = m.name
		return token, true
	})(d, n)
}

func checkName(name string) string {
	if name == "" {
		return "expected a name"
	}
	return ""
}
