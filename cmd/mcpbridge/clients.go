package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// backupSuffix is that of the copy of a client's file from before the bridge changed it.
const backupSuffix = ".mcpbridge-backup"

// A clientEditor changes the files of clients, and the config that they are to use.
type clientEditor struct {
	std      streams
	flags    *sourceFlags
	dryRun   bool
	asJSON   bool
	project  bool
	keychain bool // secrets are sealed
	machines []*clients.Machine
	secrets  []string // values that are not shown
	results  []clientResult
	noted    []string
	failed   bool   // something was left out
	tokensOf string // the config whose file of tokens was changed
}

// A clientResult is what became of one file.
type clientResult struct {
	Client string   `json:"client,omitempty"`
	Title  string   `json:"title,omitempty"`
	File   string   `json:"file"`
	Action string   `json:"action"` // such as "connected"
	Names  []string `json:"servers,omitempty"`
	Backup string   `json:"backup,omitempty"`
	Note   string   `json:"note,omitempty"`
}

// newClientEditor returns the editor of a command, and the clients that its arguments name.
func newClientEditor(f *sourceFlags, args []string, std streams) (*clientEditor, []*clients.Client, error) {
	e := &clientEditor{std: std, flags: f}
	f.BoolVar(&e.dryRun, "dry-run", false, "change nothing and print the differences")
	f.BoolVar(&e.project, "project", false, "the clients' files of the project in this folder, not those of the user")
	f.BoolVar(&e.asJSON, "json", false, "print what was done as JSON")
	err := f.parseOwn(args)
	if err == nil {
		err = f.checkTimeout()
	}
	if err != nil {
		return nil, nil, err
	}
	var named []*clients.Client
	for _, name := range f.Args() {
		c, err := clients.Find(name)
		if err != nil {
			return nil, nil, usagef("%s: %v", f.Name(), err)
		}
		if !slices.ContainsFunc(named, func(other *clients.Client) bool { return other.Name == c.Name }) {
			named = append(named, c)
		}
	}
	e.machines, err = clients.Machines()
	return e, named, err
}

// files returns the files of a client on all machines that keep says.
func (e *clientEditor) files(c *clients.Client, keep func(*clients.File) bool) (files []*clients.File) {
	for _, m := range e.machines {
		for _, f := range m.Files(c, e.project) {
			if keep(f) {
				files = append(files, f)
			}
		}
	}
	return files
}

// found returns the clients that have files which keep says.
func (e *clientEditor) found(keep func(*clients.File) bool) (list []*clients.Client) {
	for _, c := range clients.All() {
		if len(e.files(c, keep)) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// choose asks which of the clients are meant. Without a terminal that is an error.
func (e *clientEditor) choose(ctx context.Context, list []*clients.Client, what string) ([]*clients.Client, error) {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	switch {
	case len(list) == 0:
		return nil, usagef("%s: no client found to %s (known: %s)", e.flags.Name(), what, clientNames())
	case !output.IsTerminal(e.std.in) || e.asJSON:
		return nil, usagef("%s: name the clients, as in: mcpbridge %s %s", e.flags.Name(), e.flags.Name(), strings.Join(names, " "))
	}
	for _, c := range list {
		fmt.Fprintf(e.std.err, "  %-15s %s\n", c.Name, c.Title)
	}
	in := terminal.NewLines(e.std.in)
	for {
		output.Question(e.std.err, "Which ones to "+what+"? (names, Enter for all, n for none)")
		line, err := in.Read(ctx)
		switch words := strings.Fields(strings.ReplaceAll(line, ",", " ")); {
		case err != nil && ctx.Err() == nil, err == nil && len(words) == 1 && strings.EqualFold(words[0], "n"):
			return nil, nil
		case err != nil:
			return nil, err
		case len(words) == 0:
			return list, nil
		default:
			chosen, err := chosenOf(words)
			if err == nil {
				return chosen, nil
			}
			output.Item(e.std.err, "", err.Error())
		}
	}
}

func chosenOf(words []string) (chosen []*clients.Client, err error) {
	for _, word := range words {
		c, err := clients.Find(word)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

func clientNames() string {
	var names []string
	for _, c := range clients.All() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// maxClientFile bounds a file of a client that is read.
const maxClientFile = 64 << 20 // bytes

// readFile returns the text of a file, or nil if there is none.
func readFile(name string) ([]byte, error) { return file.ReadIfExists(name, maxClientFile) }

// change changes a client's file and keeps a backup of it. With --dry-run it prints the difference.
// done is the action of a change, and unchanged that of none.
func (e *clientEditor) change(f *clients.File, done, unchanged string, names []string, change func(text []byte) ([]byte, error)) bool {
	r := clientResult{Client: f.Client.Name, Title: f.Title, File: f.Path, Action: unchanged, Names: names}
	changed, err := e.update(f.Open(), f.Path, change, func(c file.Change, put func() error) error {
		if c.Before != nil && !c.IsNone() {
			r.Backup = f.Path + backupSuffix
			err := file.Update(f.Open()+backupSuffix, func(old []byte) ([]byte, error) { return f.Backup(c.Before, old), nil }, nil)
			if err != nil {
				return fmt.Errorf("no backup: %w", err)
			}
		}
		return put()
	})
	if err != nil {
		e.fault(f.Path, err)
		r.Action, r.Note = "failed", err.Error()
	} else if changed {
		r.Action = done
	}
	e.add(r)
	return err == nil
}

// update changes a file, as file.Update does. With --dry-run it prints the difference instead.
func (e *clientEditor) update(name, shown string, change func([]byte) ([]byte, error), around func(file.Change, func() error) error) (changed bool, err error) {
	if !e.dryRun {
		err := file.Update(name, change, func(c file.Change, put func() error) error {
			changed = !c.IsNone()
			if around == nil {
				return put()
			}
			return around(c, put)
		})
		return changed && err == nil, err
	}
	text, err := readFile(name)
	if err != nil {
		return false, err
	}
	out, err := change(text)
	if err != nil || (file.Change{Before: text, After: out}).IsNone() {
		return false, err
	}
	if !e.asJSON {
		e.hide(name, text)
		_, err = io.WriteString(e.std.out, e.redact(difference(shown, text, out)))
	}
	return true, err
}

// difference returns a unified diff of a file.
func difference(name string, before, after []byte) string {
	old, now := name, name
	if before == nil {
		old = "/dev/null"
	}
	if after == nil {
		now = "/dev/null"
	}
	_, text, _ := strings.Cut(string(diff.Diff(old, before, now, after)), "\n") // less the line with a command
	return text
}

// minHidden is the length below which a value is not hidden, as it would be found everywhere.
const minHidden = 4 // bytes

// redact replaces the secrets in a text.
func (e *clientEditor) redact(text string) string {
	slices.SortFunc(e.secrets, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	for _, secret := range e.secrets {
		if len(secret) < minHidden {
			continue
		}
		quoted, _ := json.Marshal(secret)
		text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), hidden)
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

// fault prints why a file was left as it is.
func (e *clientEditor) fault(name string, err error) {
	e.failed = true
	output.Item(e.std.err, "", fmt.Sprintf("mcpbridge: %s: %s: %s", e.flags.Name(), name, terminal.Inline(e.redact(err.Error()))))
}

// note prints a remark, once.
func (e *clientEditor) note(text string) {
	if slices.Contains(e.noted, text) {
		return
	}
	e.noted = append(e.noted, text)
	output.Item(e.std.err, "", fmt.Sprintf("mcpbridge: %s: %s", e.flags.Name(), terminal.Inline(e.redact(text))))
}

// add adds a result, and prints it.
func (e *clientEditor) add(r clientResult) {
	e.results = append(e.results, r)
	if e.asJSON || r.Action == "failed" {
		return
	}
	action := r.Action
	if e.dryRun && r.Action != "unchanged" {
		action = "would be " + r.Action
		if len(r.Names) > 0 {
			action = strings.Join(r.Names, ", ") + " would be moved out of"
		}
	}
	line := fmt.Sprintf("%s: %s: %s", r.Title, action, r.File)
	switch {
	case r.Backup != "":
		line += " (before: " + filepath.Base(r.Backup) + ")"
	case e.dryRun && len(r.Names) > 0:
		line += " (what cannot be connected stays)"
	}
	output.Item(e.std.out, "", terminal.Inline(line))
}

// end prints the results as JSON if that is wanted, and returns the command's error.
func (e *clientEditor) end(all any) error {
	if e.asJSON {
		text, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(e.std.out, "%s\n", text)
	}
	if e.failed {
		return &exitError{code: exitFailed}
	}
	return nil
}

// hide adds the secrets of a file to those that are not shown.
func (e *clientEditor) hide(name string, text []byte) {
	if filepath.Base(name) != envfile.Name {
		e.secrets = append(e.secrets, clients.Secrets(filepath.ToSlash(name), text)...)
		return
	}
	vars, _ := envfile.Parse(text)
	for _, value := range vars {
		e.secrets = append(e.secrets, value)
	}
}

// executable returns the absolute path of this program: the one in the PATH, which stays the same
// when the program is upgraded, if that is this program.
func executable() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	found, err := exec.LookPath("mcpbridge")
	if err != nil {
		return own, nil
	}
	a, errA := os.Stat(own)
	b, errB := os.Stat(found)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return own, nil
	}
	return filepath.Abs(found)
}

// loadForClients loads the config that clients are to use; its path is absolute.
func loadForClients(f *sourceFlags, path string) (*config.Config, error) {
	path, err := configPath(path)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Loader{ProviderTypes: stack.ProviderTypes(), References: &f.references}.Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%s: there is no config at %s: mcpbridge import or mcpbridge add makes one", f.Name(), path)
	case err != nil:
		return nil, &exitError{exitUsage, err.Error()}
	}
	cfg.Path = path
	return cfg, nil
}
