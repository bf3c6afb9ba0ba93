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
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// sourceFlags say where the tools come from: a config, or one upstream.
type sourceFlags struct {
	*pflag.FlagSet
	config   string
	upstream string
	logLevel string
	strict   bool
	toolless bool                       // the command does without tools, and without a config
	file     bool                       // the tools come from a file that the command reads itself: no config is read
	check    func(words []string) error // what is wrong with the arguments and the command's own flags; may set upstream and file
}

// newFlags makes the flag set of a command. parse adds the flags that every command has,
// behind the command's own.
func newFlags(name, usage, about string, std streams) *sourceFlags {
	f := &sourceFlags{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError)}
	f.check = f.noWords
	f.SetOutput(std.err)
	f.SortFlags = false
	f.Usage = func() {
		fmt.Fprintf(std.out, "%s\n\nUsage: mcpbridge %s\n\n", about, usage)
		fmt.Fprint(std.out, f.FlagUsages())
	}
	return f
}

// parse reads the arguments and the configuration that they name. What stands before
// "--" and is no flag is returned.
func (f *sourceFlags) parse(args []string) (*config.Config, []string, error) {
	f.StringVar(&f.config, "config", "", "read the config from this `FILE` (default ./mcpbridge.json, then\nmcpbridge/mcpbridge.json in the user's config folder)")
	f.StringVar(&f.upstream, "upstream", "", "no config: use the one server at this `URL`, http(s):// or ws(s)://")
	f.BoolVar(&f.strict, "strict", false, "end when a native tool cannot be used, instead of leaving it out")
	f.StringVar(&f.logLevel, "log-level", "", "log from this `LEVEL` on to standard error: debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, nil, err
		}
		return nil, nil, usagef("%s: %v (mcpbridge %s --help tells the flags)", f.Name(), err, f.Name())
	}
	words, command := f.Args(), []string(nil)
	if dash := f.ArgsLenAtDash(); dash >= 0 {
		words, command = words[:dash], words[dash:]
		if len(command) == 0 {
			return nil, nil, usagef("%s: expected a server's command after --, as in: mcpbridge %s -- npx -y some-server", f.Name(), f.Name())
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
	cfg.Log.Level = cmp.Or(f.logLevel, cfg.Log.Level)
	return cfg, words, nil
}

// load reads the config, or makes one of the one upstream.
func (f *sourceFlags) load(command []string) (*config.Config, error) {
	given := 0
	for _, yes := range []bool{f.config != "", f.upstream != "", command != nil, f.file} {
		if yes {
			given++
		}
	}
	if given > 1 {
		return nil, usagef("%s: --config, --upstream and -- COMMAND exclude each other: give one of them", f.Name())
	}
	switch {
	case f.file:
		return &config.Config{}, nil
	case command != nil:
		return &config.Config{Servers: []config.Server{{Name: filepath.Base(command[0]), Command: command[0], Args: command[1:]}}}, nil
	case f.upstream != "":
		u, err := url.Parse(f.upstream)
		if err != nil || u.Host == "" || !strings.Contains(" http https ws wss ", " "+u.Scheme+" ") {
			return nil, usagef("%s: --upstream %s: expected a URL that begins with http://, https://, ws:// or wss://", f.Name(), f.upstream)
		}
		return &config.Config{Servers: []config.Server{{Name: u.Host, URL: f.upstream}}}, nil
	}
	cfg, err := config.Loader{ProviderTypes: stack.ProviderTypes()}.Load(f.config)
	switch {
	case err == nil:
	case f.toolless && f.config == "" && errors.Is(err, fs.ErrNotExist):
		return &config.Config{}, nil
	default:
		return nil, &exitError{exitUsage, err.Error()}
	}
	return cfg, nil
}

// noWords refuses arguments that a command does not take.
func (f *sourceFlags) noWords(words []string) error {
	if len(words) > 0 {
		return usagef("%s: unexpected argument %q (a server's command stands after --)", f.Name(), words[0])
	}
	return nil
}
