package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// sourceFlags are a command's flags, and those that choose a config or a single server.
type sourceFlags struct {
	*pflag.FlagSet
	config   string
	upstream string
	logLevel string
	strict   bool
	hidden   []string                   // --context of the commands that have it
	toolless bool                       // the command also works without tools, and without a config
	file     *string                    // the command reads its tools from this file, and loads no config
	check    func(words []string) error // checks the arguments and the command's own flags; may set upstream and file
}

// newFlags returns the flags of a command, to which the caller adds its own before it parses.
func newFlags(name, usage, about string, std streams) *sourceFlags {
	f := &sourceFlags{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError)}
	f.check = f.noWords
	f.SetOutput(std.err)
	f.SortFlags = false
	f.Usage = func() {
		fmt.Fprintf(std.out, "%s\n\nUsage: mcpbridge %s\n", about, usage)
		if f.HasFlags() {
			fmt.Fprintf(std.out, "\n%s", f.FlagUsagesWrapped(80))
		}
	}
	return f
}

// addContext adds the flag --context, which parse applies to the config.
func (f *sourceFlags) addContext() {
	f.StringArrayVar(&f.hidden, "context", nil, "a hidden value, as `NAME=VALUE`; may be repeated, and overrides the config")
}

// parseOwn parses the arguments of a command that needs no source of tools.
func (f *sourceFlags) parseOwn(args []string) error {
	err := f.Parse(args)
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		return usagef("%s: %v (see mcpbridge %s --help)", f.Name(), err, f.Name())
	}
	return err
}

// parse parses the arguments, loads the config that they name, and returns it with the words before
// "--" that are not flags.
func (f *sourceFlags) parse(args []string) (*config.Config, []string, error) {
	f.StringVar(&f.config, "config", "", "read the config from this `FILE` (default ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder)")
	f.StringVar(&f.upstream, "upstream", "", "use only the server at this `URL`, http(s):// or ws(s)://, and no config")
	f.BoolVar(&f.strict, "strict", false, "exit if any native tool is unusable, instead of skipping it")
	f.StringVar(&f.logLevel, "log-level", "", "log to standard error from this `LEVEL`: debug, info, warn or error")
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
	cfg, err := f.load(command)
	if err != nil {
		return nil, nil, err
	}
	cfg.SetHidden(f.hidden)
	cfg.Log.Level = cmp.Or(f.logLevel, cfg.Log.Level)
	return cfg, words, nil
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
	cfg, err := config.Loader{ProviderTypes: stack.ProviderTypes()}.Load(f.config)
	switch {
	case f.toolless && f.config == "" && errors.Is(err, fs.ErrNotExist):
		return &config.Config{}, nil
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
