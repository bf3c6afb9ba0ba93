package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// A configServer is a server as the config has it, with variables and without defaults.
type configServer struct {
	Name    string   `json:"name"`
	Enabled bool     `json:"enabled"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
	Lender  string   `json:"lender,omitempty"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
}

func runListServers(_ context.Context, args []string, std streams) error {
	f := newFlags("list", "list [flags]", "Lists the servers of the config, whether or not they can be connected (which check\nsays). The tools of the servers are what tools list prints.", std)
	path := f.configFlag("list the servers of this `FILE`")
	asJSON := f.Bool("json", false, "print an array, an object for each server")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("list: unexpected argument %s", hint.Quote(f.Arg(0)))
	}
	found, err := findConfig("list", *path)
	if err != nil {
		return err
	}
	text, err := file.ReadRegular(found, maxConfig)
	if err != nil {
		return usagef("config %s: %v", found, err)
	}
	_, servers, err := serversIn(found, text)
	if err != nil {
		return err
	}
	list := []configServer{}
	for _, m := range servers.Members {
		list = append(list, describe(found, m))
	}
	if *asJSON {
		return printJSON(std.out, list)
	}
	return printServers(std.out, found, list)
}

// configFlag adds the flag --config of a command that does not load the config.
func (f *sourceFlags) configFlag(what string) *string {
	return f.String("config", "", what+" (default ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder)")
}

// sameConfig returns the end of a proposed command: the --config of the command line, if it has one.
func (f *sourceFlags) sameConfig() string {
	if !f.Changed("config") {
		return ""
	}
	return " --config " + hint.ShellWord(f.Lookup("config").Value.String())
}

// sameView returns the end of a proposed command that shows what this one sees.
func (f *sourceFlags) sameView() string {
	if f.profile == "" {
		return f.sameConfig()
	}
	return " --profile " + hint.ShellWord(f.profile) + f.sameConfig()
}

// findConfig returns the path of the config that is there.
func findConfig(command, given string) (string, error) {
	path, err := config.Find(given)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usagef("%s: there is no config: mcpbridge import or mcpbridge add makes one", command)
	case err != nil:
		return "", &exitError{exitUsage, err.Error()}
	}
	return path, nil
}

// maxConfig bounds the size of a config, in bytes.
const maxConfig = 16 << 20

// serversIn returns the servers of a config and the key that they are under.
func serversIn(path string, text []byte) (key string, servers edit.Node, err error) {
	root, err := edit.Read(edit.JSON, text)
	if err != nil {
		return "", servers, usagef("%s: %v", path, err)
	}
	key = "mcpServers"
	servers, ok := root.At(key)
	if other, has := root.At("servers"); !ok && has && other.Value == nil {
		key, servers = "servers", other
	}
	for _, d := range root.Duplicates(key) {
		return "", servers, usagef("%s:%d: duplicate key %s (again in line %d): remove one of them", path, d.Line, hint.Quote(d.Key), d.Later)
	}
	if servers.Value != nil && string(servers.Value) != "null" {
		return "", servers, usagef("%s:%d: %s: expected an object of servers", path, servers.Line, key)
	}
	return key, servers, nil
}

// describe returns what is shown of a server, without secrets.
func describe(path string, m edit.Node) configServer {
	s := configServer{Name: m.Key, Enabled: !isOff(m), File: path, Line: m.Line}
	if n, ok := m.At("command"); ok {
		s.Command = clients.Redact("", textOf(n), hidden)
	}
	if n, ok := m.At("args"); ok && json.Unmarshal(n.Value, &s.Args) == nil {
		s.Args = clients.RedactArgs(s.Args, hidden)
	}
	if n, ok := m.At("lender"); ok {
		s.Lender = textOf(n)
	}
	for _, key := range []string{"url", "serverUrl", "httpUrl", "baseUrl"} {
		if n, ok := m.At(key); ok {
			s.URL = clients.Redact("", textOf(n), hidden)
			break
		}
	}
	return s
}

// lentBy says who lends the server, "" if it is not lent.
func (s *configServer) lentBy() string {
	if s.Lender == "" {
		return ""
	}
	return "lent by " + s.Lender
}

// isOff reports whether a server is disabled.
func isOff(m edit.Node) bool {
	disabled, _ := m.At("disabled")
	enabled, _ := m.At("enabled")
	return string(disabled.Value) == "true" || string(enabled.Value) == "false"
}

func textOf(n edit.Node) (s string) {
	_ = json.Unmarshal(n.Value, &s) // another value is shown as nothing
	return s
}

// hidden stands for a secret.
const hidden = "•••"

// printServers prints a table.
func printServers(w io.Writer, path string, list []configServer) error {
	rows := [][]string{{"NAME", "STATE", "LINE", "COMMAND OR URL"}}
	for _, s := range list {
		state := "enabled"
		if !s.Enabled {
			state = "disabled"
		}
		command := strings.Join(append([]string{s.Command}, s.Args...), " ")
		if s.Command == "" {
			command = cmp.Or(s.URL, s.lentBy())
		}
		rows = append(rows, []string{s.Name, state, fmt.Sprint(s.Line), command})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "no servers in %s\n", path)
		return err
	}
	fmt.Fprintln(w, path)
	return output.Table(w, output.Width(w), rows)
}

// A changedServer is what became of a server of the config.
type changedServer struct {
	Name   string `json:"name"`
	Action string `json:"action"` // such as "enabled", or "unchanged"
	File   string `json:"file"`
}

func runRemove(_ context.Context, args []string, std streams) error {
	return changeServers("remove", "removed", "Removes servers from the config, with their comments. All else stays as it is.", args, std,
		func(text []byte, path []string, _ edit.Node) ([]byte, error) {
			return edit.Remove(edit.JSON, text, path)
		})
}

func runEnable(_ context.Context, args []string, std streams) error {
	return changeServers("enable", "enabled", "Turns servers of the config on.", args, std,
		func(text []byte, path []string, server edit.Node) (_ []byte, err error) {
			if n, ok := server.At("enabled"); ok && string(n.Value) == "false" {
				if text, err = edit.Set(edit.JSON, text, append(path, "enabled"), json.RawMessage("true")); err != nil {
					return nil, err
				}
			}
			return edit.Remove(edit.JSON, text, append(path, "disabled"))
		})
}

func runDisable(_ context.Context, args []string, std streams) error {
	return changeServers("disable", "disabled", "Turns servers of the config off: they stay in the config, and nothing starts them.", args, std,
		func(text []byte, path []string, server edit.Node) ([]byte, error) {
			if isOff(server) {
				return text, nil
			}
			if _, ok := server.At("enabled"); ok {
				return edit.Set(edit.JSON, text, append(path, "enabled"), json.RawMessage("false"))
			}
			return edit.Set(edit.JSON, text, append(path, "disabled"), json.RawMessage("true"))
		})
}

// changeServers changes the servers that the arguments name: all of them, or none. done says what was
// done to one.
func changeServers(command, done, about string, args []string, std streams, change func(text []byte, path []string, server edit.Node) ([]byte, error)) error {
	f := newFlags(command, command+" NAME… [flags]", about, std)
	given := f.configFlag("change this `FILE`")
	asJSON := f.Bool("json", false, "print an array, an object for each server")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("%s: expected the name of a server (mcpbridge list has the names)", command)
	}
	path, err := findConfig(command, *given)
	if err != nil {
		return err
	}
	var changed []changedServer
	err = updateConfig(path, func(text []byte) ([]byte, error) {
		changed = nil
		for _, name := range f.Args() {
			key, servers, err := serversIn(path, text)
			if err != nil {
				return nil, err
			}
			server, ok := servers.At(name)
			if !ok {
				return nil, unknownServer(command, path, name, servers)
			}
			out, err := change(text, []string{key, name}, server)
			if err != nil {
				return nil, usagef("%s: %v", path, err)
			}
			action := done
			if bytes.Equal(text, out) {
				action = "unchanged"
			}
			changed = append(changed, changedServer{name, action, path})
			text = out
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	if *asJSON {
		return printJSON(std.out, changed)
	}
	for _, s := range changed {
		switch name := terminal.Inline(s.Name); {
		case s.Action == "unchanged":
			fmt.Fprintf(std.out, "%s is %s already in %s\n", name, done, path)
		case command == "remove":
			fmt.Fprintf(std.out, "%s %s from %s\n", done, name, path)
		default:
			fmt.Fprintf(std.out, "%s %s in %s\n", done, name, path)
		}
	}
	return nil
}

func unknownServer(command, path, name string, servers edit.Node) error {
	var names []string
	for _, m := range servers.Members {
		names = append(names, m.Key)
	}
	if len(names) == 0 {
		return usagef("%s: %s has no servers", command, path)
	}
	return usagef("%s: no server %s in %s%s", command, hint.Quote(name), path, hint.DidYouMean(name, names))
}

// updateConfig changes a config that is there.
func updateConfig(path string, change func(text []byte) ([]byte, error)) error {
	err := file.Update(path, func(text []byte) ([]byte, error) {
		if text == nil {
			return nil, usagef("config %s: %v", path, fs.ErrNotExist)
		}
		return change(text)
	}, nil)
	return namedError(path, err)
}

// namedError names the file of an error that does not.
func namedError(path string, err error) error {
	if exit := (*exitError)(nil); err == nil || errors.As(err, &exit) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// besideConfig returns the path of the env file beside a config.
func besideConfig(path string) string {
	return filepath.Join(filepath.Dir(path), envfile.Name)
}
