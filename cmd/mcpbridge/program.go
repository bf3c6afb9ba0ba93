package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/logbook"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/watch"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// A program is the stack of a config, and the session of a command on it.
type program struct {
	*stack.Stack
	cfg     *config.Config
	log     *slog.Logger
	logging *logging
	lines   *output.Queue // of log: no call waits for its reader
	opts    stack.Options // of Stack
	pins    *clusterPins  // nil without a cluster
	warn    func(text string)
	lost    func(text string) // warns of what is lost, whatever the level of log
	caller  *bridge.Caller    // as which the servers are connected
	own     bridge.Session    // sees the tools of all callers; nil before open
	stops   *watch.Watcher    // nil where mcpbridge stop --all-calls asks the program itself

	connected []stack.ServerState // by openWaiting, with what they define
}

// newProgram returns the program of a config. level is the default level of its log, and "" means
// that warnings go to stderr as plain lines.
func newProgram(f *sourceFlags, cfg *config.Config, level string, opts stack.Options, stderr io.Writer) (*program, error) {
	if len(cfg.Servers) == 0 && !cfg.HasNatives() && !f.toolless && !(f.gateway && (len(cfg.Providers) > 0 || cfg.Lending.Enabled)) {
		return nil, usagef("%s: no enabled server in mcpServers and no native tool in tools (mcpbridge add or mcpbridge import adds servers, mcpbridge enable turns one on)", cfg.Path)
	}
	lines := output.NewQueue(stderr)
	p := &program{cfg: cfg, caller: self(), lines: lines}
	p.caller.Profile = f.profile
	if p.log, p.logging = newLog(cfg.Log, level, lines); f.book != nil {
		p.log = slog.New(f.book.Handler(p.log.Handler()))
	}
	p.warn, p.lost = func(text string) { p.log.Warn(text) }, func(text string) { p.log.Error(text) }
	if cmp.Or(cfg.Log.Level, level) == "" {
		p.warn = func(text string) { output.Item(stderr, "", "mcpbridge: warning: "+terminal.Inline(text)) }
		p.lost = p.warn
	}
	opts.Log, opts.Strict = p.log, f.strict
	opts.Version, _ = build()
	opts.Logins, opts.Credentials, _ = credentialStores(cfg) // without them servers say that they want a login, and login why that cannot be kept
	opts.Pins, _ = file.State(pinFolder)                     // without a home the Stack warns
	if cfg.Cluster.Name != "" {
		p.pins = newClusterPins(cfg)
		opts.SharePins = p.pins.store
	}
	opts.Ledger, _ = ledgerFile(cfg)
	if cfg.Path != "" {
		opts.Quotas, _ = stateOf(cfg, "quotas", ".json")
	}
	p.opts = opts
	var err error
	if p.Stack, err = stack.New(cfg, opts); err != nil {
		lines.Close()
		var wrong stack.ConfigError
		if errors.As(err, &wrong) {
			err = &exitError{exitUsage, wrong.Error()}
		}
		return nil, err
	}
	if opts.Alone && !opts.Once {
		p.watchStops()
	}
	heedStop(p.Approvals, p.log)
	return p, nil
}

// newWaiting returns the program of a command that waits for every server and reports their states.
func newWaiting(f *sourceFlags, cfg *config.Config, opts stack.Options, stderr io.Writer) (*program, error) {
	opts.OneCaller, opts.WaitAll, opts.Owner, opts.Alone = true, true, true, true
	p, err := newProgram(f, cfg, "", opts, stderr)
	if err == nil && cfg.Log.Level == "" {
		for _, warning := range cfg.Warnings {
			p.warn(warning)
		}
	}
	return p, err
}

// self returns the program as a caller. Its sessions share links, so that a server starts once.
func self() *bridge.Caller {
	version, _ := build()
	info, _ := json.Marshal(map[string]string{"name": "mcpbridge", "version": version}) // cannot fail: strings
	return &bridge.Caller{ID: "mcpbridge", Info: info}
}

// model returns the program as the caller of a model's calls.
func (p *program) model() *bridge.Caller {
	caller := self()
	caller.Profile = p.caller.Profile
	return caller
}

func (p *program) open(ctx context.Context) (err error) {
	operator := *p.caller
	operator.Operator = true
	p.own, err = p.Open(ctx, &operator)
	return err
}

// close ends the program, and warns of lost messages. It does nothing to a nil program.
func (p *program) close() {
	if p == nil {
		return
	}
	if p.own != nil {
		p.own.Close()
	}
	p.endStops()
	if err := p.Close(); err != nil {
		p.lost(err.Error())
	}
	p.lines.Close()
}

// stateLine returns the state of a server on one line.
func stateLine(st *stack.ServerState) string {
	return strings.ReplaceAll(strings.TrimSpace(terminal.Clean(st.Detail())), "\n", "; ")
}

// report prints servers that are down and problems with tools. It fails if a tool is missing.
func (p *program) report(w io.Writer) error {
	missing := false
	for _, st := range p.Servers() {
		missing = p.reportServer(w, &st) || missing
	}
	if p.reportTools(w) || missing {
		return &exitError{code: exitFailed}
	}
	return nil
}

// reportServer prints the state of a server that is down, and reports whether it is.
func (p *program) reportServer(w io.Writer, st *stack.ServerState) (down bool) {
	if down = !st.Up(); down {
		output.Item(w, "", "mcpbridge: "+stateLine(st))
	}
	return down
}

// reportTools prints problems with tools, and reports whether one is missing.
func (p *program) reportTools(w io.Writer) (missing bool) {
	for _, problem := range p.Problems() {
		missing = missing || problem.LeftOut
		output.Item(w, "", "mcpbridge: "+terminal.Clean(problem.Text))
	}
	return missing
}

// sourceFlags are a command's flags, and those that choose a config or a single server.
type sourceFlags struct {
	*pflag.FlagSet
	config   string
	upstream string
	logLevel string
	strict   bool
	timeout  time.Duration                // --connect-timeout; 0 leaves the config's
	hidden   []string                     // --context of the commands that have it
	profile  string                       // --profile of the commands that have it
	gateway  bool                         // the command also works with a config that has only providers
	toolless bool                         // the command also works without tools, and without a config
	inConfig bool                         // the command is only about servers in a config: its help has no --upstream
	book     *logbook.Book                // keeps what is logged; may be nil
	file     *string                      // the command reads its tools from this file, and loads no config
	check    func(words []string) error   // checks the arguments and the command's own flags; may set upstream and file
	split    func(args []string) []string // returns the arguments without those that are not the command's; may be nil
	inspect  func(*sourceFlags)           // gets the flags in place of the command; nil to run it
	prepare  func(command []string) error // runs before the config is loaded; command is what follows --

	std   streams                        // of the command
	again func() (*config.Config, error) // loads the config again; set by parse

	references config.References // of all loads
}

// newFlags returns the flags of a command, to which the caller adds its own before it parses.
func newFlags(name, usage, about string, std streams) *sourceFlags {
	f := &sourceFlags{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError), inspect: std.inspect, std: std}
	f.check, f.prepare = f.noWords, func([]string) error { return nil }
	f.SetOutput(std.err)
	f.SortFlags = false
	f.Usage = func() {
		output.Help(std.out, about+"\n\n")
		output.Usage(std.out, "Usage: mcpbridge ", usage)
		if f.HasFlags() {
			fmt.Fprintln(std.out)
			output.Flags(std.out, f.FlagUsages())
		}
	}
	return f
}

// addContext adds the flag --context, which parse applies to the config.
func (f *sourceFlags) addContext() {
	f.StringArrayVar(&f.hidden, "context", nil, "a hidden value, as `NAME=VALUE`; may be repeated, and overrides the config")
}

// addProfile adds the flag --profile.
func (f *sourceFlags) addProfile() {
	f.StringVar(&f.profile, "profile", "", "see only what this `PROFILE` of the config has")
}

// checkProfile returns an error unless a config has a profile; "" means none.
func checkProfile(cfg *config.Config, name string) error {
	var known []string
	for _, p := range cfg.Profiles {
		known = append(known, p.Name)
	}
	if name == "" || slices.Contains(known, name) {
		return nil
	}
	if len(known) == 0 {
		return usagef("--profile %s: there are no profiles (\"profiles\" in the config)", hint.Quote(name))
	}
	return usagef("--profile %s: no such profile in %s%s", hint.Quote(name), cfg.Path, hint.DidYouMean(name, known))
}

// checkStdioProfile is checkProfile for clients on stdio, which are all the principal local.
func checkStdioProfile(cfg *config.Config, name string) error {
	if err := checkProfile(cfg, name); err != nil || name == "" {
		return err
	}
	if profileOf(cfg, &bridge.Caller{Principal: bridge.Principal{Name: local}, Profile: name}) != "" {
		return nil
	}
	return usagef("--profile %s: it is not for clients on stdio, whose principal is %q: its principals in %s have to match that, and it can want no claims", hint.Quote(name), local, cfg.Path)
}

// profileOf returns the profile that serve gives a caller; "" means none.
func profileOf(cfg *config.Config, caller *bridge.Caller) string {
	of := profile.Options{}
	for _, p := range cfg.Profiles {
		of.Profiles = append(of.Profiles, profile.Profile{Name: p.Name, Principals: p.Principals, Claims: p.Claims})
	}
	return of.Of(caller)
}

// parseOwn parses the arguments of a command that needs no source of tools.
func (f *sourceFlags) parseOwn(args []string) error {
	if f.inspect != nil {
		f.inspect(f)
		return pflag.ErrHelp
	}
	err := f.Parse(args)
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		return usagef("%s: %v (see mcpbridge %s --help)", f.Name(), plainly(err), f.Name())
	}
	return err
}

// plainly returns an error of pflag, without that of the function which has parsed a value.
func plainly(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	expected := map[string]string{"int": "a whole number", "duration": "a time such as 90s or 2m", "bool": "true or false"}[flag.Value.Type()]
	if expected == "" {
		return fmt.Errorf("--%s: %w", flag.Name, invalid.Unwrap())
	}
	return fmt.Errorf("--%s: expected %s, not %s", flag.Name, expected, hint.Quote(invalid.GetValue()))
}

// parse parses the arguments, loads the config that they name, and returns it with the words before
// "--" that are not flags.
func (f *sourceFlags) parse(args []string) (*config.Config, []string, error) {
	f.StringVar(&f.config, "config", "", "read the config from this `FILE` (default ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder)")
	f.StringVar(&f.upstream, "upstream", "", "use only the server at this `URL`, http(s):// or ws(s)://, and no config")
	f.Lookup("upstream").Hidden = f.inConfig
	f.BoolVar(&f.strict, "strict", false, "exit if any native tool is unusable, instead of skipping it")
	f.StringVar(&f.logLevel, "log-level", "", "log to standard error from this `LEVEL`: debug, info, warn or error")
	f.DurationVar(&f.timeout, "connect-timeout", 0, "wait for each server to connect for this `DURATION`, such as 90s or 2m (default: its \"connectTimeout\", else 30s)")
	if f.split != nil {
		args = f.split(args)
	}
	if err := f.parseOwn(args); err != nil {
		return nil, nil, err
	}
	words, command := f.Args(), []string(nil)
	if dash := f.ArgsLenAtDash(); dash >= 0 {
		words, command = words[:dash], words[dash:]
		if len(command) == 0 {
			return nil, nil, usagef("%s: expected a server's command after --, as in: mcpbridge %s -- npx -y some-server", f.Name(), f.Name())
		}
	}
	for _, pair := range f.hidden {
		if name, _, ok := strings.Cut(pair, "="); !ok || name == "" {
			return nil, nil, usagef("%s: --context %s: expected NAME=VALUE", f.Name(), hint.Quote(name))
		}
	}
	if err := f.check(words); err != nil {
		return nil, nil, err
	}
	if _, ok := logLevels[f.logLevel]; !ok && f.logLevel != "" {
		return nil, nil, usagef("%s: --log-level %s: expected debug, info, warn or error", f.Name(), f.logLevel)
	}
	if err := f.checkTimeout(); err != nil {
		return nil, nil, err
	}
	if err := f.prepare(command); err != nil {
		return nil, nil, err
	}
	f.again = func() (*config.Config, error) { return f.loadWithFlags(command) }
	cfg, err := f.again()
	if err != nil {
		return nil, nil, err
	}
	f.config = cfg.Path // it is loaded again from there alone
	return cfg, words, checkProfile(cfg, f.profile)
}

// checkTimeout checks --connect-timeout.
func (f *sourceFlags) checkTimeout() error {
	if f.Changed("connect-timeout") && f.timeout <= 0 {
		return usagef("%s: --connect-timeout %s: expected more than 0s", f.Name(), f.timeout)
	}
	return nil
}

// loadWithFlags loads the config, in which the flags override what they are for.
func (f *sourceFlags) loadWithFlags(command []string) (*config.Config, error) {
	cfg, err := f.load(command)
	if err != nil {
		return nil, err
	}
	f.override(cfg)
	return cfg, nil
}

// override makes a config what the flags say.
func (f *sourceFlags) override(cfg *config.Config) {
	for i := range cfg.Servers {
		cfg.Servers[i].ConnectTimeout = cmp.Or(f.timeout, cfg.Servers[i].ConnectTimeout)
	}
	cfg.SetHidden(f.hidden)
	cfg.Log.Level = cmp.Or(f.logLevel, cfg.Log.Level)
}

// load loads the config, or returns one with only the given server.
func (f *sourceFlags) load(command []string) (*config.Config, error) {
	given := 0
	for _, yes := range []bool{f.config != "", f.upstream != "", command != nil, f.file != nil} {
		if yes {
			given++
		}
	}
	switch {
	case given > 1 && f.file != nil:
		return nil, usagef("%s: a FILE, --config, --upstream and -- COMMAND are mutually exclusive", f.Name())
	case given > 1:
		return nil, usagef("%s: --config, --upstream and -- COMMAND are mutually exclusive", f.Name())
	case f.file != nil:
		return &config.Config{}, nil
	case command != nil:
		return &config.Config{Servers: []config.Server{{Name: filepath.Base(command[0]), Command: command[0], Args: command[1:]}}}, nil
	case f.upstream != "" && !config.IsServerURL(f.upstream):
		return nil, usagef("%s: --upstream %s: expected a URL that begins with http://, https://, ws:// or wss://", f.Name(), f.upstream)
	case f.upstream != "":
		u, _ := url.Parse(f.upstream) // IsServerURL has
		return &config.Config{Servers: []config.Server{{Name: u.Host, URL: f.upstream}}}, nil
	}
	cfg, err := config.Loader{ProviderTypes: stack.ProviderTypes(), References: &f.references}.Load(f.config)
	switch {
	case f.toolless && f.config == "" && errors.Is(err, fs.ErrNotExist):
		return &config.Config{}, nil
	case f.inConfig && f.config == "" && errors.Is(err, fs.ErrNotExist): // nothing takes its place
		if _, missing := findConfig(f.Name(), ""); missing != nil {
			return nil, missing
		}
		return nil, &exitError{exitUsage, err.Error()} // it has just come
	case err != nil:
		return nil, &exitError{exitUsage, err.Error()}
	}
	return cfg, nil
}

func (f *sourceFlags) noWords(words []string) error {
	if len(words) > 0 {
		return usagef("%s: unexpected argument %q (put a server's command after --)", f.Name(), words[0])
	}
	return nil
}
