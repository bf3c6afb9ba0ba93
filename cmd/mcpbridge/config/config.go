package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/tokens"
)

// FileName is the customary name of a config.
const FileName = "mcpbridge.json"

const maxFileSize = 16 << 20 // bytes

// Config is a loaded mcpbridge.json. A zero field was not set: its default belongs to the package
// that uses it.
type Config struct {
	Path           string   // the file as it was named; it begins every error and warning
	Dir            string   // the absolute folder that relative paths start from
	Servers        []Server // the enabled entries of "mcpServers", in file order
	Tools          []Definitions
	APIs           []API
	Context        map[string]ContextValue // hidden values by their lower-case names
	Profiles       []Profile               // of several that fit a caller the first is its own
	Providers      []Provider
	Loop           Loop
	Prices         []Price           // of models, in file order
	Listen         string            // host:port; default 127.0.0.1:7332
	Tokens         map[string]string // bearer tokens by the names of their owners, no two alike; default: no authentication
	AutoToken      bool              // "tokens" is "auto": serve makes a token, for the operator
	Issued         []tokens.Token    // of the file of tokens beside the config
	Auth           Auth
	TLS            TLS
	TrustedProxies []netip.Prefix // that say in X-Forwarded-For where requests come from
	PublicURL      string         // at which clients reach serve through a proxy; "" means that of each request
	AllowedOrigins []string       // as browsers write them (lower case, without a default port), or "null"
	PublicHosts    []string       // lower-case names, with or without a port, that the Host header of a request may have
	CA             string         // absolute path of a PEM file: certificate authorities beside the system's
	Settle         time.Duration  // bounds the wait of the first lists for several servers; default 2 s
	Names          Names
	Limits         Limits
	Lending        lending
	Policy         policy
	Console        console
	Log            Log
	Ledger         ledger
	Audit          audit
	Daemon         Daemon
	Cluster        cluster
	Warnings       []string // settings that were ignored or adapted, each `file:line: …`, in file order

	// Variables names the environment variables that the file refers to, sorted, whether or not they
	// are set. SearchPath is PATH if the [Loader] has an environment of its own: commands are looked up
	// there.
	Variables  []string
	SearchPath string

	// UsesWorkspace says that the file refers to the workspace folder.
	UsesWorkspace bool

	text     []byte   // of the file
	envFiles []string // absolute
	hidden   []hiddenName
	getenv   func(name string) (value string, ok bool)
}

// Names decides how the tool names of several sources are told apart.
type Names struct {
	Conflict  string // "prefix" (default), "first" or "error"
	MaxLength int    // of a name in bytes; default 64
}

// Limits bounds what callers may use. 0 means the default.
type Limits struct {
	MessageBytes      int           // bytes of one message; default 64 MiB
	Sessions          int           // open HTTP and WebSocket sessions
	SessionIdle       time.Duration // time after which a silent HTTP session ends
	Children          int           // running stdio processes
	Starting          int           // stdio processes that start at once; default twice the cores, at least 8
	BatchMessages     int           // messages of one JSON-RPC batch
	ResumeBytes       int           // bytes that a session keeps for Last-Event-ID
	CallsPerSession   int           // concurrent calls of a session
	QueueBytes        int           // bytes queued for a slow reader; default 8 MiB
	Completions       int           // concurrent chat completions; default 100
	Sampling          int           // concurrent sampling requests of one server; default 4
	SamplingPerMinute int           // sampling requests of one server; default 60
	NativeCalls       int           // concurrent calls of native tools; default 256
	NativeQueue       int           // waiting calls of native tools; default 1,000
	NativeResult      int           // characters of text in the result of a native tool; default 8 Mi
	Rates             []Rate        // of the calls of each caller; nil means no limit
}

// Daemon is how the process behaves that the windows of one user share.
type Daemon struct {
	IdleExit time.Duration // it ends after this time without a window; default 5 min
}

// A Loader loads configs. The zero Loader reads the process's environment and accepts any type of
// provider.
type Loader struct {
	Getenv        func(name string) (value string, ok bool) // nil means os.LookupEnv
	Workspace     string                                    // what ${workspaceFolder} is and a relative "cwd" starts from; "" means the config's folder
	ProviderTypes []string                                  // the types that providers may have; nil means any
	References    *References                               // look up ${keychain:NAME} and its like; nil means that Load makes its own, and that Parse fills in a text that stands for any value
}

// Load loads the config at path with the zero [Loader].
func Load(path string) (*Config, error) { return Loader{}.Load(path) }

// Load reads the config at path; "" means ./mcpbridge.json, then mcpbridge/mcpbridge.json in the
// user's config folder. The error names every mistake in the file, one a line, and wraps
// [fs.ErrNotExist] if there is no file.
func (l Loader) Load(path string) (*Config, error) {
	path, err := Find(path)
	if err != nil {
		return nil, err
	}
	if l.References == nil {
		l.References = &References{}
	}
	data, err := file.Read(path, maxFileSize)
	if err != nil {
		return nil, fmt.Errorf("config %s: %w", path, err)
	}
	c, err := l.parse(path, data, mode(path))
	if err != nil {
		return nil, err
	}
	c.Issued, err = tokens.Read(c.TokenFile())
	return c, err
}

// TokenFile returns the path of the file of the tokens that are issued beside those in Tokens.
func (c *Config) TokenFile() string { return tokens.Path(c.Path) }

// Principals returns how many principals there may be, 0 if nobody needs credentials; those of an issuer,
// or with certificates, are many.
func (c *Config) Principals() int {
	n := len(c.Tokens) + len(c.Issued)
	if c.AutoToken && len(c.Tokens) == 0 {
		n++
	}
	if c.Auth.Issuer != "" || c.TLS.ClientCA != "" {
		n += 100
	}
	return n
}

// Find returns the path of the config that Load reads: path itself, or for "" the first file that exists
// in the places of a config.
func Find(path string) (string, error) {
	if path != "" {
		return path, nil
	}
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
	return "", &notFoundError{places}
}

// DefaultPath returns the config that [Load] reads without a path; without one, the path of a new one in
// the user's config folder.
func DefaultPath() (string, error) {
	found, err := Find("")
	if !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no folder for a config: %w", err)
	}
	return filepath.Join(dir, "mcpbridge", FileName), nil
}

// notFoundError says what to do if there is no config in any place.
type notFoundError struct{ places []string }

func (e *notFoundError) Error() string {
	return "no config found at " + strings.Join(e.places, " or ") +
		": mcpbridge init or mcpbridge add makes one; else pass --config FILE, or give one server: `-- COMMAND [ARG...]` or `--upstream URL`"
}

func (e *notFoundError) Unwrap() error { return fs.ErrNotExist }

// Parse is Load for a config that was read already. path begins the errors, and its folder is the
// one of relative paths. The env files that data names are read, the one beside path, and what
// l.References looks up, and no other file.
func (l Loader) Parse(path string, data []byte) (*Config, error) { return l.parse(path, data, 0) }

// parse is Parse that warns of what the mode of the file lets other users do; 0 means nothing.
func (l Loader) parse(path string, data []byte, mode fs.FileMode) (*Config, error) {
	if path == "" {
		path = FileName
	}
	c := &Config{Path: path}
	if l.Getenv == nil {
		l.Getenv = os.LookupEnv
	} else {
		c.SearchPath, _ = l.Getenv("PATH")
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("config %s: %w", path, err)
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("%s: larger than %d MiB", path, maxFileSize>>20)
	}
	d := l.newDecoder(path, dir, data)
	d.guard(mode)
	c.Dir, c.getenv, c.text = dir, d.lookup, data
	if root, ok := d.parse(); ok && !d.foreign(root) {
		d.duplicates(root)
		d.object(root, c.keys())
		for _, check := range d.atEnd {
			check()
		}
		c.checkClaims(d)
		c.checkExchanges(d)
		c.checkPlacement(d)
		c.checkSandboxes(d)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	c.hidden = d.hidden
	c.hideValues()
	if len(d.variables) > 0 {
		d.envFiles = append(d.envFiles, filepath.Join(dir, envfile.Name))
		d.checkBeside()
	}
	c.Warnings = d.warned()
	c.Variables, c.UsesWorkspace, c.envFiles = slices.Sorted(maps.Keys(d.variables)), d.usesWorkspace, d.envFiles
	return c, nil
}

// Files returns absolute patterns ([filepath.Match]) of the files that the config consists of: its own,
// env files, those of references, definitions of tools, OpenAPI documents and the certificate authorities.
func (c *Config) Files() []string {
	own, err := filepath.Abs(c.Path)
	if err != nil {
		own = filepath.Join(c.Dir, filepath.Base(c.Path))
	}
	all := slices.Concat([]string{own, tokens.Path(own)}, c.envFiles, c.definitionFiles())
	if c.CA != "" {
		all = append(all, c.CA)
	}
	return append(all, c.TLS.files()...)
}

// definitionFiles are those of Files that define tools.
func (c *Config) definitionFiles() (all []string) {
	for _, d := range c.Tools {
		if d.Files != "" {
			all = append(all, file.Below(c.Dir, d.Files))
		}
	}
	for _, api := range c.APIs {
		if api.Import != nil && filepath.IsAbs(api.Import.File) {
			all = append(all, api.Import.File)
		}
	}
	return all
}

// IsConfig reports whether data is a config with servers, or such a block of another client.
func IsConfig(data []byte) bool {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) { // a list, however long
		return false
	}
	d := Loader{}.newDecoder("", "", data)
	root, ok := d.parse()
	return ok && hasAny("mcpServers", "servers")(membersIn(root))
}

func (c *Config) keys() keySet {
	return keySet{
		"mcpServers":     {take: into(&c.Servers, readServers)},
		"servers":        {take: into(&c.Servers, readServers), same: "mcpServers", note: `read as "mcpServers"`},
		"listen":         {take: into(&c.Listen, readListen)},
		"tokens":         {take: c.readTokens},
		"allowedOrigins": {take: into(&c.AllowedOrigins, listOf(readOrigin))},
		"publicHosts":    {take: into(&c.PublicHosts, listOf(readPublicHost))},
		"publicUrl":      {take: into(&c.PublicURL, readPublicURL)},
		"trustedProxies": {take: into(&c.TrustedProxies, readProxies)},
		"auth":           {take: c.readAuth},
		"tls":            {take: c.readTLS},
		"settle":         {take: into(&c.Settle, readSettle)},
		"names":          {take: inside(c.Names.keys)},
		"limits":         {take: inside(c.Limits.keys)},
		"lending":        {take: into(&c.Lending, readLending)},
		"console":        {take: inside(c.Console.keys)},
		"log":            {take: inside(c.Log.keys)},
		"ledger":         {take: into(&c.Ledger, readLedger)},
		"audit":          {take: into(&c.Audit, readAudit)},
		"daemon":         {take: inside(c.Daemon.keys)},
		"cluster":        {take: into(&c.Cluster, readCluster)},

		"tools":   {take: into(&c.Tools, readTools)},
		"apis":    {take: into(&c.APIs, readAPIs)},
		"context": {take: into(&c.Context, readContext)},

		"profiles": {take: into(&c.Profiles, readProfiles)},
		"policy":   {take: inside(c.Policy.keys)},

		"providers": {take: into(&c.Providers, readProviders)},
		"loop":      {take: inside(c.Loop.keys)},
		"prices":    {take: into(&c.Prices, readPrices)},

		"$schema":        {quiet: true},
		"inputs":         {note: noInputs},
		"globalShortcut": {note: "a setting of another program"},
		"preferences":    {note: "a setting of another program"},
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
		"starting":          {take: into(&l.Starting, readCount)},
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
		"rate":              {take: into(&l.Rates, readRates)},
	}
}

func (d *Daemon) keys() keySet {
	return keySet{"idleExit": {take: into(&d.IdleExit, readDuration)}}
}
