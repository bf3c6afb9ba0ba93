package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// An imported is the result of import as JSON.
type imported struct {
	Config    string          `json:"config"`
	Servers   []takenServer   `json:"servers"`
	Variables []string        `json:"variables"` // in the env file, or sealed
	Notes     []importNote    `json:"notes"`
	Checked   []checkedServer `json:"checked"` // the new servers, which have been connected once
	Moved     []clientResult  `json:"moved"`
	Connected []clientResult  `json:"connected,omitempty"` // by init
}

type takenServer struct {
	Name   string `json:"name"`
	Client string `json:"client"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

type importNote struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

func runImport(ctx context.Context, args []string, std streams) error {
	f := newFlags("import", "import [CLIENT…] [flags]", "Copies the servers of MCP clients into the config, of all clients unless some are named.\n"+
		"Secrets become variables in .env beside it. Each server that is new is connected once, to say whether it\n"+
		"works and what it offers, asks and costs. Those of a project are disabled until you enable them, since others\n"+
		"may have written them. The clients keep their servers unless they are moved.\n\nClients: "+clientNames()+".", std)
	path := f.String("config", "", "copy into this `FILE` (default ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder)")
	move := f.Bool("move", false, "turn the servers off in the clients, so that nothing runs twice; a copy of each file is kept beside it")
	keychain := f.keychainFlag()
	f.onceFlag()
	e, named, err := newClientEditor(f, args, std)
	if err != nil {
		return err
	}
	e.keychain = *keychain
	if named == nil {
		named = clients.All()
	}
	i, files, result, err := e.importServers(ctx, *path, named)
	if err != nil {
		return err
	}
	if *move {
		if err := e.moveServers(ctx, i, files, result); err != nil {
			return err
		}
		result.Moved = append(result.Moved, e.results...)
	}
	return e.end(result)
}

// importServers copies the servers of clients into the config, connects the new ones, and returns the
// files that have been read.
func (e *clientEditor) importServers(ctx context.Context, path string, from []*clients.Client) (*clients.Import, []*clients.File, *imported, error) {
	path, err := configPath(path)
	if err != nil {
		return nil, nil, nil, err
	}
	i, err := e.newImport(path)
	if err != nil {
		return nil, nil, nil, err
	}
	result := &imported{Config: path, Servers: []takenServer{}, Variables: []string{}, Notes: []importNote{}, Checked: []checkedServer{}, Moved: []clientResult{}}
	var files []*clients.File
	for _, c := range from {
		for _, f := range e.files(c, func(f *clients.File) bool { return f.Exists }) {
			if e.readServers(i, f, result) {
				files = append(files, f)
			}
		}
	}
	e.report(i, result)
	if err := e.write(i, path); err != nil {
		return nil, nil, nil, err
	}
	if len(i.Vars) > 0 && !e.dryRun && !e.keychain {
		e.warnExposed(ctx, result)
	}
	return i, files, result, e.connectAdded(ctx, i, result)
}

// warnExposed warns of secrets that git would commit.
func (e *clientEditor) warnExposed(ctx context.Context, result *imported) {
	path := besideConfig(result.Config)
	if warning := exposed(ctx, path); warning != "" {
		e.note(warning)
		result.Notes = append(result.Notes, importNote{File: path, Text: warning})
	}
}

// moveServers turns off in the clients' files what the config has now and can be connected.
func (e *clientEditor) moveServers(ctx context.Context, i *clients.Import, files []*clients.File, result *imported) error {
	if err := e.connectKnown(ctx, i, result); err != nil {
		return err
	}
	for _, f := range files {
		if names := i.Movable(f); len(names) > 0 {
			e.change(f, "moved "+strings.Join(names, ", ")+" out of", "unchanged", names, func(text []byte) ([]byte, error) { return f.Move(text, names) })
		}
	}
	return nil
}

// configPath returns the absolute path of a config, by default that of all commands.
func configPath(path string) (string, error) {
	if path == "" {
		var err error
		if path, err = config.DefaultPath(); err != nil {
			return "", &exitError{exitUsage, err.Error()}
		}
	}
	return filepath.Abs(path)
}

// newImport returns an import into the config at path, which may not exist.
func (e *clientEditor) newImport(path string) (*clients.Import, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, usagef("%s: %v", path, err)
	}
	cfg := &config.Config{}
	if text != nil {
		if cfg, err = (config.Loader{ProviderTypes: stack.ProviderTypes()}).Parse(path, text); err != nil {
			return nil, &exitError{exitUsage, err.Error()}
		}
	}
	envFile := filepath.Join(filepath.Dir(path), envfile.Name)
	env, err := readFile(envFile)
	if err != nil {
		return nil, usagef("%s: %v", envFile, err)
	}
	vars, err := envfile.Parse(env)
	if err != nil {
		return nil, usagef("%s: %v", envFile, err)
	}
	own, _ := executable()
	i, err := clients.NewImport(clients.ImportOptions{
		Config: path, Text: text,
		Variable: func(name string) (string, bool) {
			if value, set := os.LookupEnv(name); set {
				return value, true
			}
			value, set := vars[name]
			return value, set
		},
		Sealed: sealedSecrets(), Seal: e.keychain,
		IsBridge: func(program string) bool { return isBridge(program, own, cfg) },
		Disabled: e.project,
	})
	if err != nil {
		return nil, usagef("%s: %v", path, err)
	}
	return i, nil
}

// isBridge reports whether a program or a URL is this bridge.
func isBridge(program, own string, cfg *config.Config) bool {
	if u, err := url.Parse(program); err == nil && u.Host != "" {
		at, err := serveURL(cfg, false)
		return err == nil && (strings.EqualFold(u.Host, at.Host) || u.Port() == at.Port() && isLoopback(u.Hostname()) && isLoopback(at.Hostname()))
	}
	name := strings.TrimSuffix(strings.ToLower(program[strings.LastIndexAny(program, `/\`)+1:]), ".exe")
	return name == "mcpbridge" || program != "" && program == own
}

// isLoopback reports whether a host is this computer by any of its names for itself.
func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// readServers takes the servers of a file.
func (e *clientEditor) readServers(i *clients.Import, f *clients.File, result *imported) bool {
	text, err := readFile(f.Open())
	if err == nil {
		err = i.Add(f, text)
	}
	if err != nil {
		e.fault(f.Path, err)
		result.Notes = append(result.Notes, importNote{File: f.Path, Text: err.Error()})
	}
	return err == nil
}

// report says what is taken, and what is not.
func (e *clientEditor) report(i *clients.Import, result *imported) {
	for _, v := range i.Vars {
		e.secrets = append(e.secrets, v.Value)
		result.Variables = append(result.Variables, v.Name)
	}
	for _, n := range i.Notes {
		e.note(n.String())
		e.failed = e.failed || n.LeftOut
		result.Notes = append(result.Notes, importNote{n.File.Path, n.Line, n.Text})
	}
	for _, a := range i.Added {
		result.Servers = append(result.Servers, takenServer{a.Name, a.Server.File.Client.Name, a.Server.File.Path, a.Server.Line})
		if !e.asJSON {
			fmt.Fprintf(e.std.out, "%s: from %s, %s:%d\n", a.Name, a.Server.File.Title, a.Server.File.Path, a.Server.Line)
		}
	}
}

// write writes the variables and the servers.
func (e *clientEditor) write(i *clients.Import, path string) error {
	say := func(format string, args ...any) {
		if !e.asJSON {
			fmt.Fprintf(e.std.out, format+"\n", args...)
		}
	}
	if i.There > 0 {
		say("%d already in %s", i.There, path)
	}
	switch {
	case len(i.Added) == 0 && i.There == 0 && len(i.Notes) == 0 && !e.failed:
		say("found no servers to add to %s", path)
		return nil
	case len(i.Added) == 0:
		say("nothing to add to %s", path)
		return nil
	}
	if err := e.writeVariables(i.Vars, filepath.Join(filepath.Dir(path), envfile.Name), say); err != nil {
		return err
	}
	_, err := e.update(path, path, func(text []byte) ([]byte, error) {
		out, err := i.Apply(text)
		if err != nil {
			return nil, err
		}
		if _, err = (config.Loader{ProviderTypes: stack.ProviderTypes()}).Parse(path, out); err != nil {
			return nil, &exitError{exitUsage, e.redact(err.Error())}
		}
		return out, nil
	}, nil)
	if err != nil {
		return namedError(path, err)
	}
	for _, a := range i.Added {
		if !e.dryRun {
			_, failed := forgetPins(path, a.Name) // those of another server of that name
			err = cmp.Or(err, failed)
		}
	}
	if err != nil {
		return err
	}
	if !e.dryRun {
		say("%d added to %s", len(i.Added), path)
	}
	return nil
}

// writeVariables writes secrets into the env file, which is then only for the user, or seals them.
func (e *clientEditor) writeVariables(vars []clients.Variable, envFile string, say func(string, ...any)) error {
	if len(vars) == 0 {
		return nil
	}
	names := make([]string, len(vars))
	for n, v := range vars {
		names[n] = v.Name
	}
	slices.Sort(names)
	switch {
	case e.dryRun && e.keychain:
		say("would be sealed: %s", strings.Join(names, ", "))
		return nil
	case e.dryRun:
		say("would write to %s: %s", envFile, strings.Join(names, ", "))
		return nil
	case e.keychain:
		where, err := seal(vars)
		if err != nil {
			return &exitError{exitUsage, e.redact(err.Error())}
		}
		say("secrets are %s: %s", where, strings.Join(names, ", "))
		return nil
	}
	if err := os.Chmod(envFile, file.Private); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &exitError{exitUsage, err.Error()}
	}
	err := file.Update(envFile, func(text []byte) (out []byte, err error) {
		out = text
		for _, v := range vars {
			if out, err = envfile.Set(out, v.Name, v.Value); err != nil {
				return nil, err
			}
		}
		return out, nil
	}, nil)
	if err != nil {
		return &exitError{exitUsage, e.redact(fmt.Sprintf("%s: %v", envFile, err))}
	}
	say("secrets are now in %s: %s", envFile, strings.Join(names, ", "))
	return nil
}

// keychainFlag returns the flag --keychain of a command that finds secrets.
func (f *sourceFlags) keychainFlag() *bool {
	return f.Bool("keychain", false, "keep secrets sealed, as mcpbridge secret set does, in place of .env")
}

// sealedSecrets returns a function that looks up what the user keeps sealed. What cannot be read is not there.
func sealedSecrets() func(name string) (string, bool) {
	open := sync.OnceValues(func() (*secret.Store, error) { return secret.Of(secret.Config) })
	return func(name string) (string, bool) {
		store, err := open()
		if err != nil {
			return "", false
		}
		text, err := store.Load(name)
		return string(text), text != nil && err == nil
	}
}

// seal keeps secrets sealed, and says where.
func seal(vars []clients.Variable) (where string, err error) {
	store, err := secret.Of(secret.Config)
	if err != nil {
		return "", err
	}
	for _, v := range vars {
		if err := store.Save(v.Name, []byte(v.Value)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("sealed in %s with the key %s", store.Path(), store.KeyPlace()), nil
}
