package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

const addAbout = `Adds a server to the config: a command, a URL, or what a server.json of the MCP
Registry describes. All else in the config stays as it is. Secrets go into .env
beside it, as variables. The server is connected once, to say what it offers, asks
and costs. One that cannot be connected is written all the same, with exit code 1.
On a terminal you can log in at once to one that wants that.`

// addFlags are the arguments of add.
type addFlags struct {
	*sourceFlags
	name, url, from string
	command         []string
	env, headers    []string
	values          []string
	transport       string
	force, asJSON   bool
	keychain        *bool
}

func runAdd(ctx context.Context, args []string, std streams) error {
	f := &addFlags{sourceFlags: newFlags("add", "add NAME [flags] URL | -- COMMAND [ARG…] | --from FILE", addAbout, std)}
	path := f.configFlag("add to this `FILE`")
	f.StringArrayVar(&f.env, "env", nil, "an environment variable of the command, as `NAME=VALUE`; may be repeated")
	f.StringArrayVar(&f.headers, "header", nil, "a header of each request to the URL, as `NAME=VALUE`; may be repeated")
	f.StringVar(&f.transport, "transport", "", "`KIND` of the URL: http (the default, with sse where that is refused), sse or ws")
	f.StringVar(&f.from, "from", "", "read the server from a server.json `FILE` of the MCP Registry (- is standard input)")
	f.StringArrayVar(&f.values, "value", nil, "a value that the server.json asks for, as `NAME=VALUE`; may be repeated")
	f.keychain = f.keychainFlag()
	f.onceFlag()
	f.BoolVar(&f.force, "force", false, "replace a server of that name")
	f.BoolVar(&f.asJSON, "json", false, "print what was found and written as JSON")
	if err := f.parseAdd(args); err != nil {
		return err
	}
	if *path == "" {
		var err error
		if *path, err = config.DefaultPath(); err != nil {
			return err
		}
	}
	a := &addition{flags: f, std: std, path: *path}
	if err := a.read(ctx); err != nil {
		return err
	}
	return a.run(ctx)
}

// parseAdd parses the arguments.
func (f *addFlags) parseAdd(args []string) error {
	if err := f.parseOwn(args); err != nil {
		if at := slices.Index(args, "--"); at < 0 && strings.Contains(err.Error(), "unknown") {
			return usagef("%v; a command comes after --, as in: mcpbridge add NAME -- npx -y some-server", err)
		}
		return err
	}
	words := f.Args()
	if dash := f.ArgsLenAtDash(); dash >= 0 {
		words, f.command = words[:dash], words[dash:]
	}
	if len(words) > 0 {
		f.name, words = words[0], words[1:]
	}
	if len(words) == 1 && config.IsServerURL(words[0]) {
		f.url, words = words[0], nil
	}
	given := 0
	for _, is := range []bool{len(f.command) > 0, f.url != "", f.from != ""} {
		if is {
			given++
		}
	}
	switch {
	case f.name == "" || strings.Contains(f.name, "://"):
		return usagef("add: expected a name for the server: mcpbridge add NAME URL, or mcpbridge add NAME -- COMMAND")
	case !isServerName(f.name):
		return usagef("add: the name %s: expected letters, digits and . _ - / @, at most 100", hint.Quote(f.name))
	case isBundle(f.url), isBundle(f.from), len(words) == 1 && isBundle(words[0]):
		return usagef(`add: a bundle is not installed: unpack it, as in: unzip NAME.mcpb -d FOLDER, and add what "mcp_config" in its manifest.json starts, as in: mcpbridge add %s -- node FOLDER/server/index.js`, f.name)
	case len(words) > 0:
		return usagef("add: %s is no URL (http://, https://, ws:// or wss://); a command comes after --: mcpbridge add %s -- %s", hint.Quote(words[0]), f.name, hint.Shorten(strings.Join(words, " ")))
	case given != 1:
		return usagef("add: expected one of a URL, -- COMMAND and --from FILE")
	case len(f.command) > 0 && len(f.headers) > 0, f.url != "" && len(f.env) > 0:
		return usagef("add: --env is for a command, and --header for a URL")
	case len(f.values) > 0 && f.from == "":
		return usagef("add: --value is for a server.json: expected --from FILE")
	case f.transport != "" && (f.url == "" || !slices.Contains([]string{"http", "sse", "ws"}, f.transport)):
		return usagef("add: --transport %s: expected http, sse or ws, and a URL", hint.Quote(f.transport))
	}
	return f.checkTimeout()
}

// isBundle reports whether a file or a URL is a desktop extension: a ZIP file with a server in it.
func isBundle(path string) bool {
	path = strings.ToLower(path)
	return strings.HasSuffix(path, ".mcpb") || strings.HasSuffix(path, ".dxt")
}

func isServerName(name string) bool {
	return len(name) <= 100 && regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}._@/ -]*$`).MatchString(name)
}

// An addition is a server on its way into a config.
type addition struct {
	flags   *addFlags
	std     streams
	path    string // of the config
	text    []byte // of the config, nil if there is none
	server  *clients.Server
	entry   json.RawMessage
	asked   []clients.Variable // secrets that a server.json has asked for
	vars    []clients.Variable // all secrets, which belong into the env file, or are to be sealed
	sealed  string             // where they are sealed; "" for the env file
	session bool               // its clients do not share it
	notes   []string           // what was written and why
	checked checkedServer
}

// with returns the text of the config with the entry.
func (a *addition) with(text []byte) ([]byte, error) {
	key, _, err := serversIn(a.path, text)
	if err != nil {
		return nil, err
	}
	out, err := edit.Set(edit.JSON, text, []string{key, a.flags.name}, a.entry)
	if err != nil {
		return nil, usagef("%s: %v", a.path, err)
	}
	return out, nil
}

// run connects the server, writes it, and prints what was found.
func (a *addition) run(ctx context.Context) error {
	cfg, err := a.alone()
	if err != nil {
		return err
	}
	restore, err := forgetPins(a.path, a.flags.name) // those of another server of that name
	if err != nil {
		return err
	}
	if err = a.connect(ctx, cfg); err == nil {
		err = a.write()
	}
	if err != nil { // the other one stays
		return errors.Join(err, restore())
	}
	if len(a.vars) > 0 && !*a.flags.keychain {
		if warning := exposed(ctx, besideConfig(a.path)); warning != "" {
			a.note("%s", warning)
		}
	}
	if err := a.print(); err != nil {
		return err
	}
	switch {
	case a.checked.WantsLogin && a.mayLogIn():
		return runLogin(ctx, []string{a.flags.name, "--config", a.path}, a.std)
	case !a.checked.OK:
		return &exitError{code: exitFailed}
	}
	return nil
}

// mayLogIn reports whether add goes on with the login that a server wants.
func (a *addition) mayLogIn() bool { return !a.flags.asJSON && output.IsTerminal(a.std.in) }

// alone returns the config with the new server only.
func (a *addition) alone() (*config.Config, error) {
	text, err := a.with(a.text)
	if err != nil {
		return nil, err
	}
	for _, v := range a.vars { // which are not sealed yet
		text = bytes.ReplaceAll(text, []byte("${keychain:"+v.Name+"}"), []byte("${"+v.Name+"}"))
	}
	lookup := func(name string) (string, bool) {
		if i := slices.IndexFunc(a.vars, func(v clients.Variable) bool { return v.Name == name }); i >= 0 {
			return a.vars[i].Value, true
		}
		return os.LookupEnv(name)
	}
	cfg, err := config.Loader{Getenv: lookup, ProviderTypes: stack.ProviderTypes(), References: &a.flags.references}.Parse(a.path, text)
	if err != nil {
		return nil, &exitError{exitUsage, err.Error()}
	}
	cfg.Path = a.path
	return only(cfg, func(name string) bool { return name == a.flags.name }), nil
}

// connect connects the server once, and decides whether its clients can share it.
func (a *addition) connect(ctx context.Context, cfg *config.Config) error {
	server := cfg.Servers[0]
	std := a.std
	if a.flags.asJSON {
		std.out = io.Discard
	}
	checked, err := connectOnce(ctx, a.flags.sourceFlags, cfg, std, a.mayLogIn())
	if err != nil {
		return err
	}
	a.checked = checked[0]
	switch state := server.KeepsState(); {
	case server.Sharing != "" || server.Command == "":
	case state != "":
		err = a.share("%s keeps a state for each client", state)
	case len(a.checked.Asks) > 0:
		err = a.share("it asks its client (%s)", strings.Join(a.checked.Asks, ", "))
	}
	a.note(`"trust": false: what its tools say about themselves, such as being read-only, decides nothing until you set it to true`)
	seen := "now"
	if !a.checked.OK {
		seen = "first seen"
	}
	a.note(`"pin": true: its tools, prompts and instructions stay as they are %s; what is new or has changed is held back until mcpbridge pins accept %s`, seen, hint.ShellWord(a.flags.name)+a.flags.sameConfig())
	return err
}

// share writes that each client has a process of its own.
func (a *addition) share(why string, args ...any) error {
	a.session = true
	a.note(`"sharing": "session", as %s: each client has a process of its own`, fmt.Sprintf(why, args...))
	return a.setSession()
}

func (a *addition) setSession() (err error) {
	a.entry, err = edit.Set(edit.JSON, a.entry, []string{"sharing"}, json.RawMessage(`"session"`))
	return err
}

// write writes the secrets and the config. Another program may have changed either meanwhile.
func (a *addition) write() error {
	var err error
	switch {
	case len(a.vars) == 0:
	case *a.flags.keychain:
		a.sealed, err = seal(a.vars)
	default:
		err = a.writeVariables()
	}
	if err != nil {
		return err
	}
	err = file.Update(a.path, func(text []byte) ([]byte, error) {
		if err := a.isFree(text); err != nil {
			return nil, err
		}
		return a.with(text)
	}, nil)
	return namedError(a.path, err)
}

// writeVariables writes the secrets into the env file, which others cannot read then.
func (a *addition) writeVariables() error {
	path := besideConfig(a.path)
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, info.Mode().Perm()&^0o077); err != nil {
			return err
		}
	}
	return namedError(path, file.Update(path, func(text []byte) ([]byte, error) {
		err := a.makeEntry(text) // another program may have taken a name
		if err != nil {
			return nil, err
		}
		for _, v := range a.vars {
			if text, err = envfile.Set(text, v.Name, v.Value); err != nil {
				return nil, err
			}
		}
		return text, nil
	}, nil))
}

// An added is what add --json prints.
type added struct {
	Name      string          `json:"name"`
	Config    string          `json:"config"`
	Entry     json.RawMessage `json:"entry"`
	Variables []string        `json:"variables"` // in the env file, or sealed
	Notes     []string        `json:"notes"`
	Server    checkedServer   `json:"server"`
}

func (a *addition) print() error {
	if a.flags.asJSON {
		out := added{a.flags.name, a.path, a.entry, []string{}, a.notes, a.checked}
		for _, v := range a.vars {
			out.Variables = append(out.Variables, v.Name)
		}
		return printJSON(a.std.out, out)
	}
	fmt.Fprintf(a.std.out, "added %s to %s\n", a.flags.name, a.path)
	for _, v := range a.vars {
		output.Item(a.std.out, "     ", fmt.Sprintf("%s is %s, to which the config refers", v.Name, cmp.Or(a.sealed, "in "+besideConfig(a.path))))
	}
	for _, note := range a.notes {
		output.Item(a.std.out, "     ", terminal.Inline(note))
	}
	if !a.checked.OK && !a.checked.WantsLogin {
		same := a.flags.sameConfig()
		output.Item(a.std.err, "", fmt.Sprintf("mcpbridge: %s is in the config, and could not be connected: mend it and run mcpbridge check%s, or mcpbridge remove %s%s", a.flags.name, same, hint.ShellWord(a.flags.name), same))
	}
	return nil
}
