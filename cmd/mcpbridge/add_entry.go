package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/registry"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// read makes the entry from the arguments.
func (a *addition) read(ctx context.Context) (err error) {
	if a.text, err = readConfig(a.path); err != nil {
		return err
	}
	if err := a.isFree(a.text); err != nil {
		return err
	}
	a.server = &clients.Server{Name: a.flags.name}
	env, err := pairs("--env", a.flags.env, "=")
	if err != nil {
		return err
	}
	headers, err := pairs("--header", a.flags.headers, "=:")
	if err != nil {
		return err
	}
	if a.flags.from != "" {
		err = a.readRegistry(ctx, env, headers)
	} else {
		a.readCommand(env, headers)
	}
	if err != nil {
		return err
	}
	if text := a.server.Hidden(); text != "" {
		return usagef("add: %s has hidden characters: nothing is started and written; type it anew", hint.Shorten(text))
	}
	beside, err := readConfig(besideConfig(a.path))
	if err != nil {
		return err
	}
	return a.makeEntry(beside)
}

// readCommand takes a command or a URL.
func (a *addition) readCommand(env, headers []pair) {
	a.server.URL, a.server.Type = given(a.flags.url), a.flags.transport
	if command := a.flags.command; len(command) > 0 {
		command = a.absolute(command)
		a.server.Command, a.server.Args = command[0], texts(command[1:])
	}
	a.server.Env, a.server.Headers = clientPairs(env), clientPairs(headers)
}

// readRegistry takes what a server.json describes.
func (a *addition) readRegistry(ctx context.Context, env, headers []pair) error {
	values, err := pairs("--value", a.flags.values, "=")
	if err != nil {
		return err
	}
	var data []byte
	if a.flags.from == "-" {
		data, err = readInput(ctx, a.std.in, func(in io.Reader) ([]byte, error) { return file.ReadAll(in, registry.MaxSize) })
	} else {
		data, err = file.Read(a.flags.from, registry.MaxSize)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return usagef("add: %s: %v", a.flags.from, err)
	}
	described, err := registry.Parse(data)
	if err != nil {
		return usagef("add: %s: %v", a.flags.from, err)
	}
	e, err := described.Entry(registry.Options{Name: a.flags.name, Has: isInstalled, Env: mapOf(env), Headers: mapOf(headers), Values: mapOf(values)})
	if err != nil {
		return usagef("add: %s: %v", a.flags.from, err)
	}
	a.server.Command, a.server.Args, a.server.Env = e.Command, texts(e.Args), clientPairs(e.Env)
	a.server.URL, a.server.Type, a.server.Headers = given(e.URL), e.Type, clientPairs(e.Headers)
	for _, secret := range e.Secrets {
		a.asked = append(a.asked, clients.Variable(secret))
	}
	for _, what := range e.Missing {
		a.note("set in %s %s", besideConfig(a.path), what)
	}
	a.notes = append(a.notes, e.Notes...)
	if a.server.Command != "" {
		output.Item(a.std.err, "mcpbridge: ", terminal.Inline("add: runs "+strings.Join(append([]string{e.Command}, e.Args...), " ")))
	}
	return nil
}

func isInstalled(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// readConfig returns the text of a config, or nil if there is none.
func readConfig(path string) ([]byte, error) {
	text, err := file.ReadRegular(path, maxConfig)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, usagef("config %s: %v", path, err)
	case text == nil:
		return []byte{}, nil
	}
	return text, nil
}

// isFree returns an error if the config has a server of that name.
func (a *addition) isFree(text []byte) error {
	_, servers, err := serversIn(a.path, text)
	if err != nil {
		return err
	}
	if old, ok := servers.At(a.flags.name); ok && !a.flags.force {
		return usagef("add: %s:%d has a server %s (--force replaces it)", a.path, old.Line, hint.Quote(a.flags.name))
	}
	return nil
}

// given returns an argument. One with ${NAME} is as the config has it.
func given(s string) clients.Text { return clients.Text{Text: s, Variable: strings.Contains(s, "${")} }

func texts(words []string) (list []clients.Text) {
	for _, word := range words {
		list = append(list, given(word))
	}
	return list
}

type pair = registry.Pair

// pairs parses NAME=VALUE arguments.
func pairs(flag string, words []string, separators string) (list []pair, err error) {
	for _, word := range words {
		at := strings.IndexAny(word, separators)
		if at <= 0 {
			return nil, usagef("add: %s: expected NAME=VALUE", flag) // what it has may be a secret
		}
		list = append(list, pair{Name: strings.TrimSpace(word[:at]), Value: strings.TrimSpace(word[at+1:])})
	}
	return list, nil
}

func clientPairs(list []pair) (out []clients.Pair) {
	for _, p := range list {
		out = append(out, clients.Pair{Name: p.Name, Value: given(p.Value)})
	}
	return out
}

func mapOf(list []pair) map[string]string {
	m := map[string]string{}
	for _, p := range list {
		m[p.Name] = p.Value
	}
	return m
}

// absolute makes relative paths in a command absolute if the config is elsewhere, as they would start there.
func (a *addition) absolute(command []string) []string {
	here, err := filepath.Abs(".")
	there, err2 := filepath.Abs(filepath.Dir(a.path))
	if err != nil || err2 != nil || here == there {
		return command
	}
	command = slices.Clone(command)
	for i, word := range command {
		slashed := filepath.ToSlash(word)
		if word == "." && i > 0 || word == ".." && i > 0 || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../") {
			command[i] = filepath.Join(here, word)
			a.note("%s is written as %s, since the config is in another folder", word, command[i])
		}
	}
	return command
}

func (a *addition) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// makeEntry writes the entry. Secrets become variables, whose names depend on the text of the env file, or
// references to sealed ones.
func (a *addition) makeEntry(env []byte) error {
	known, err := envfile.Parse(env)
	if err != nil {
		return usagef("%s: %v", besideConfig(a.path), err)
	}
	front, where := "", besideConfig(a.path)
	look := func(name string) (string, bool) { value, set := known[name]; return value, set }
	if *a.flags.keychain {
		front, where, look = "keychain:", "mcpbridge secret list", sealedSecrets()
	}
	taken := func(name string) (string, bool) {
		value, set := look(name)
		return value, set && !a.owns(front+name)
	}
	i, err := clients.NewImport(clients.ImportOptions{
		Variable: func(name string) (string, bool) {
			if value, set := taken(name); set {
				return value, true
			}
			value, set := os.LookupEnv(name) // which would win over the env file
			return value, set && !a.gives(value)
		},
		Sealed: taken, Seal: *a.flags.keychain,
		IsBridge: func(string) bool { return false },
	})
	if err != nil {
		return err
	}
	for _, v := range a.asked {
		if old, set := taken(v.Name); set && old != v.Value {
			return usagef("add: %s has another %s: change it there, or rename it", where, v.Name)
		}
	}
	a.entry = i.Entry(a.server)
	for _, v := range a.asked {
		a.entry = bytes.ReplaceAll(a.entry, []byte("${"+v.Name+"}"), []byte("${"+front+v.Name+"}"))
	}
	a.vars = append(slices.Clone(a.asked), i.Vars...)
	if a.session {
		return a.setSession()
	}
	return nil
}

// owns reports whether only the entry that is replaced has a reference.
func (a *addition) owns(expr string) bool {
	_, servers, err := serversIn(a.path, a.text)
	old, ok := servers.At(a.flags.name)
	if err != nil || !ok {
		return false
	}
	ref := "${" + expr + "}"
	in := strings.Count(string(old.JSON()), ref)
	return in > 0 && in == strings.Count(string(a.text), ref)
}

// gives reports whether the arguments have a value, so that the same one in the environment is no obstacle.
func (a *addition) gives(value string) bool {
	return slices.ContainsFunc(slices.Concat(a.flags.env, a.flags.headers, a.flags.command, []string{a.flags.url}), func(arg string) bool {
		return value != "" && strings.HasSuffix(arg, value)
	})
}
