package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/diagnosis"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// onceFlag adds the flag --connect-timeout of a command that connects what it adds to the config.
func (f *sourceFlags) onceFlag() {
	f.DurationVar(&f.timeout, "connect-timeout", 0, "wait for each added server to connect for this `DURATION` (default 30s)")
}

// only returns a config with those of the servers that keep says, and nothing else to connect.
func only(cfg *config.Config, keep func(name string) bool) *config.Config {
	out := &config.Config{Path: cfg.Path, Dir: cfg.Dir, CA: cfg.CA, Limits: cfg.Limits}
	for _, s := range cfg.Servers {
		if keep(s.Name) {
			out.Servers = append(out.Servers, s)
		}
	}
	return out
}

// connectOnce connects the servers of a config, which have been added to it, as a client that lets
// them ask everything. It prints what check does, and returns that in the order of the config. Of a server that wants
// a login it prints nothing if that comes next.
func connectOnce(ctx context.Context, f *sourceFlags, cfg *config.Config, std streams, loginNext bool) ([]checkedServer, error) {
	alone := *cfg
	alone.Servers = slices.Clone(cfg.Servers)
	for i := range alone.Servers {
		s := &alone.Servers[i]
		s.ConnectTimeout = cmp.Or(f.timeout, s.ConnectTimeout)
		s.Sharing = "session" // so that check does not advise it
	}
	p, err := newWaiting(f, &alone, stack.Options{Once: true}, std.err)
	if err != nil {
		return nil, err
	}
	defer p.close()
	c := &checker{program: p, machine: diagnosis.This(), out: std.out, loginNext: loginNext}
	c.servers(ctx, std.err)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.awaitAsks(ctx)
	c.problems()
	return c.report.Servers, nil
}

// problems prints what is wrong with the lists of the servers, such as hidden characters.
func (c *checker) problems() {
	for _, problem := range c.Problems() {
		output.Item(c.out, "     ", "note: "+terminal.Inline(problem.Text))
		for i := range c.report.Servers {
			s := &c.report.Servers[i]
			if text, is := strings.CutPrefix(problem.Text, s.Name+": "); is {
				s.Notes = append(s.Notes, text)
			}
		}
	}
}

// Some servers ask a moment after the handshake.
const (
	askWait  = 500 * time.Millisecond
	askPause = 20 * time.Millisecond
)

// awaitAsks waits for the connected servers to ask their client, and adds to the report what for.
func (c *checker) awaitAsks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	for {
		waiting := false
		for i, st := range c.Servers() {
			checked := &c.report.Servers[i]
			if checked.OK && c.cfg.Servers[i].Command != "" {
				checked.Asks = st.Asks
				waiting = waiting || len(st.Asks) == 0
			}
		}
		if !waiting {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(askPause):
		}
	}
}

// connectAdded connects what an import has added to the config. A server that asks its client gets a
// process for each; one that cannot be connected is not moved out of its client.
func (e *clientEditor) connectAdded(ctx context.Context, i *clients.Import, result *imported) error {
	switch {
	case len(i.Added) == 0:
		return nil
	case e.project: // their commands may be anyone's
		names := make([]string, len(i.Added))
		for n, a := range i.Added {
			names[n] = terminal.Inline(e.redact(a.Name)) // whoever wrote the file chose it, and the secrets
			i.Keep(a)
		}
		be := ""
		if e.dryRun {
			be = "would be "
		}
		e.note(fmt.Sprintf("%sdisabled until you have read in %s what they run, and run this:", be, result.Config))
		// Not wrapped: a shell takes what follows a line break for a command, and that would be a name from the file.
		fmt.Fprintf(e.std.err, "  %s\n", hint.Command("mcpbridge enable", e.flags.sameConfig(), names...))
		return nil
	case e.dryRun:
		return nil
	}
	cfg, checked, err := e.tryServers(ctx, i, i.Added, result)
	if err != nil {
		return err
	}
	var asking, failed, logins []string
	for n, s := range checked {
		switch {
		case s.WantsLogin:
			logins = append(logins, s.Name)
		case !s.OK:
			failed = append(failed, s.Name)
		case len(s.Asks) > 0 && cfg.Servers[n].Sharing == "":
			asking = append(asking, s.Name)
			text := fmt.Sprintf(`%s: it asks its client (%s): written with "sharing": "session", a process for each window`, s.Name, strings.Join(s.Asks, ", "))
			result.Notes = append(result.Notes, importNote{File: result.Config, Text: text})
			e.note(text)
		}
	}
	if len(logins) > 0 {
		e.failed = true
		e.note(fmt.Sprintf("in %s, and you have to log in once to each of: %s (mcpbridge login NAME%s)", result.Config, strings.Join(logins, ", "), e.flags.sameConfig()))
	}
	if len(failed) > 0 {
		e.failed = true
		e.note(fmt.Sprintf("not connected, and in %[1]s all the same: %[2]s: mend them and run mcpbridge check%[3]s, or mcpbridge remove NAME%[3]s", result.Config, strings.Join(failed, ", "), e.flags.sameConfig()))
	}
	if len(asking) == 0 {
		return nil
	}
	return updateConfig(result.Config, func(text []byte) ([]byte, error) {
		key, _, err := serversIn(result.Config, text)
		if err != nil {
			return nil, err
		}
		for _, name := range asking {
			if text, err = edit.Set(edit.JSON, text, []string{key, name, "sharing"}, json.RawMessage(`"session"`)); err != nil {
				return nil, err
			}
		}
		return text, nil
	})
}

// connectKnown connects what the config had before and an import would move out of a client: it may never
// have worked. What fails, or is disabled in the config, stays in its client.
func (e *clientEditor) connectKnown(ctx context.Context, i *clients.Import, result *imported) error {
	if len(i.Had) == 0 {
		return nil
	}
	_, checked, err := e.tryServers(ctx, i, i.Had, result)
	if err != nil {
		return err
	}
	var failed []string
	for _, s := range checked {
		if !s.OK {
			failed = append(failed, s.Name)
		}
	}
	if len(failed) > 0 {
		e.failed = true
		e.note(fmt.Sprintf("not connected, and still on in their clients: %s: mend them in %s and run this command again", strings.Join(failed, ", "), result.Config))
	}
	return nil
}

// tryServers connects servers of the config once, as those of clients, but not in a dry run. Those that are
// disabled or fail are kept in the clients.
func (e *clientEditor) tryServers(ctx context.Context, i *clients.Import, list []clients.Addition, result *imported) (*config.Config, []checkedServer, error) {
	cfg, err := loadForClients(e.flags, result.Config)
	if err != nil {
		return nil, nil, err
	}
	cfg = only(cfg, func(name string) bool {
		return slices.ContainsFunc(list, func(a clients.Addition) bool { return a.Name == name })
	})
	std := e.std
	if e.asJSON {
		std.out = io.Discard
	}
	works := map[string]bool{} // in a dry run all that would be connected
	for _, s := range cfg.Servers {
		works[s.Name] = e.dryRun
	}
	var checked []checkedServer
	if len(cfg.Servers) > 0 && !e.dryRun {
		if checked, err = connectOnce(ctx, e.flags, cfg, std, false); err != nil {
			return nil, nil, err
		}
	}
	result.Checked = append(result.Checked, checked...)
	for _, s := range checked {
		works[s.Name] = s.OK
	}
	for _, a := range list {
		if !works[a.Name] {
			i.Keep(a)
		}
	}
	return cfg, checked, nil
}
