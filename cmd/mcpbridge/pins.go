package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// pinFolder is the folder of definitions, in that of the program's state.
const pinFolder = "pins"

// pinStore returns where the definitions of a server are kept on this machine.
func pinStore(config, server string) (pins.Store, error) {
	dir, err := file.State(pinFolder)
	if err != nil {
		return nil, fmt.Errorf("no folder for pins: %w", err)
	}
	return stack.PinStore(dir, config, server), nil
}

// forgetPins makes what a server lists next what is accepted, on this machine. restore undoes that.
func forgetPins(config, server string) (restore func() error, err error) {
	store, err := pinStore(config, server)
	if err != nil {
		return nil, err
	}
	var before []byte
	err = store.Update(func(text []byte) ([]byte, error) {
		before = text
		return forgotten(text)
	})
	return func() error { return store.Update(func([]byte) ([]byte, error) { return before, nil }) }, err
}

func forgotten([]byte) ([]byte, error) { return nil, nil }

// pinnedServer is a server with "pin", as pins --json prints it.
type pinnedServer struct {
	Name    string     `json:"name"`
	Tools   int        `json:"tools"` // accepted
	Prompts int        `json:"prompts"`
	Held    []heldBack `json:"held"`
	Fault   string     `json:"fault,omitempty"` // why it is not known what was accepted
	book    *pins.Book // nil after a fault
	store   pins.Store
}

// heldBack is a definition that is held back, or was until now.
type heldBack struct {
	Kind     string          `json:"kind"` // tool, prompt or text
	Name     string          `json:"name"`
	Accepted json.RawMessage `json:"accepted,omitempty"` // none if it is new, or too long to be kept
	Now      json.RawMessage `json:"now,omitempty"`
	change   pins.Change
}

func heldBacks(changes []pins.Change) []heldBack {
	all := []heldBack{}
	for _, c := range changes {
		h := heldBack{Kind: c.Noun(), Name: c.Name, Now: c.Held.Raw, change: c}
		if c.Accepted != nil {
			h.Accepted = c.Accepted.Raw
		}
		all = append(all, h)
	}
	return all
}

// pinnedServers returns the servers of a config with "pin", or the one with a name. What is held back counts
// as shown if show is true.
func pinnedServers(cfg *config.Config, name string, show bool) (all []pinnedServer, err error) {
	var names []string
	for _, server := range cfg.Servers {
		names = append(names, server.Name)
		if name != "" && name != server.Name || name == "" && !server.Pin {
			continue
		}
		if !server.Pin {
			return nil, usagef(`pins: %s has no "pin": true in %s`, name, cfg.Path)
		}
		p := pinnedServer{Name: server.Name, Held: []heldBack{}}
		if p.store, err = pinStore(cfg.Path, server.Name); err != nil {
			return nil, err
		}
		if cfg.Cluster.Name != "" {
			p.store = newClusterPins(cfg).store(server.Name, p.store)
		}
		if err := p.read(show); err != nil {
			p.Fault = err.Error()
		}
		all = append(all, p)
	}
	if name != "" && all == nil {
		return nil, usagef("pins: %s has no enabled server %s%s", cfg.Path, hint.Quote(name), hint.DidYouMean(name, names))
	}
	return all, nil
}

// read reads what is known of the server. What is held back counts as shown if show is true.
func (s *pinnedServer) read(show bool) error {
	var text []byte
	var err error
	if show {
		err = s.store.Update(func(before []byte) (after []byte, err error) {
			after, _, err = pins.Show(before)
			text = after
			return after, err
		})
	} else {
		text, err = s.store.Read()
	}
	if err != nil {
		return err
	}
	if s.book, err = pins.Parse(text); err != nil {
		return err
	}
	s.Held = heldBacks(s.book.Held())
	s.Tools, s.Prompts = accepted(s.book.Tools), accepted(s.book.Prompts)
	return nil
}

func accepted(all map[string]*pins.Pin) (n int) {
	for _, p := range all {
		if p.Accepted != nil {
			n++
		}
	}
	return n
}

const pinsAbout = `Shows which definitions of servers with "pin": true have changed since they were
accepted, and which are new. Both are held back: a client sees a changed tool as it
was, does not see a new one, and can call neither. pins accept SERVER accepts them.`

func runPins(_ context.Context, args []string, std streams) error {
	f := newFlags("pins", "pins [SERVER] [flags]", pinsAbout, std)
	asJSON := f.Bool("json", false, "print a JSON array")
	cfg, words, err := f.parsePins(args, 0, 1)
	if err != nil {
		return err
	}
	servers, err := pinnedServers(cfg, strings.Join(words, ""), true)
	switch {
	case err != nil:
		return err
	case *asJSON:
		return printJSON(std.out, append([]pinnedServer{}, servers...))
	case len(servers) == 0:
		output.Item(std.out, "", fmt.Sprintf(`no server of %s has "pin": true`, cfg.Path))
	}
	for _, s := range servers {
		s.print(std.out, f.sameConfig())
	}
	return nil
}

// parsePins parses the arguments, which may have from least to most words.
func (f *sourceFlags) parsePins(args []string, least, most int) (*config.Config, []string, error) {
	f.inConfig = true
	f.check = func(words []string) error {
		switch {
		case len(words) > most:
			return usagef("%s: unexpected argument %s", f.Name(), hint.Quote(words[most]))
		case len(words) < least:
			return usagef("%s: expected the name of a server (mcpbridge pins shows them)", f.Name())
		case f.upstream != "":
			return usagef("%s: a server without a config has no pins", f.Name())
		}
		return nil
	}
	return f.parse(args)
}

// print prints how much a server has, and what is held back. Proposed commands end with same.
func (s *pinnedServer) print(w io.Writer, same string) {
	switch {
	case s.Fault != "":
		output.Item(w, "", fmt.Sprintf("%s: all is held back, as what was accepted cannot be read: %s (mcpbridge pins accept %s accepts what it lists next)", s.Name, terminal.Inline(s.Fault), hint.ShellWord(s.Name)+same))
		return
	case s.book.Tools == nil && s.book.Prompts == nil:
		output.Item(w, "", s.Name+": not seen yet")
		return
	}
	about := plural(s.Tools, "tool") + " accepted"
	if s.Prompts > 0 {
		about = plural(s.Tools, "tool") + " and " + plural(s.Prompts, "prompt") + " accepted"
	}
	if len(s.Held) > 0 {
		about += fmt.Sprintf(", %d held back (mcpbridge pins accept %s [TOOL]%s)", len(s.Held), hint.ShellWord(s.Name), same)
	}
	output.Item(w, "", terminal.Inline(s.Name+": "+about))
	for _, h := range s.Held {
		h.print(w)
	}
}

// print prints the difference between a definition and the accepted one.
func (h *heldBack) print(w io.Writer) {
	what := "has changed"
	if h.change.Accepted == nil {
		what = "is new"
	}
	fmt.Fprintf(w, "\n%s %s %s\n", h.Kind, terminal.Inline(h.Name), what)
	text := difference("accepted", []byte(h.change.Accepted.Text()), []byte(h.change.Held.Text()))
	columns, paint := output.Width(w), terminal.Paint(false)
	if screen := output.NewScreen(w); screen != nil {
		paint = screen.Paint
		w, _ = output.File(w) // what is written is clean
	}
	for n, line := range slices.Collect(strings.Lines(text)) {
		line = terminal.Clean(strings.TrimRight(line, "\n"))
		if n < 2 || strings.HasPrefix(line, "@@") {
			continue // the names of two files, of which there are none, and places in them
		}
		front, parts := line[:min(1, len(line))], []string{line[min(1, len(line)):]}
		if columns > 20 {
			parts = terminal.Wrap(parts[0], columns-3)
		}
		for _, part := range parts {
			shown := front + " " + part
			switch front {
			case "+":
				shown = paint.Bold(shown) // green cannot be read on white
			case "-":
				shown = paint.Red(shown)
			}
			fmt.Fprintf(w, "  %s\n", shown)
		}
	}
}

const acceptAbout = `Accepts what a server defines now: one tool or prompt, by the server's own name for
it, or all that is held back. Clients of running programs see it at once. A definition that has
changed since pins showed it is shown, and not accepted: the same command accepts it then.`

func runPinsAccept(ctx context.Context, args []string, std streams) error {
	f := newFlags("pins accept", "pins accept SERVER [TOOL] [flags]", acceptAbout, std)
	asJSON := f.Bool("json", false, "print a JSON array of what is accepted")
	cfg, words, err := f.parsePins(args, 1, 2)
	if err != nil {
		return err
	}
	servers, err := pinnedServers(cfg, words[0], false)
	if err != nil {
		return err
	}
	s, name := servers[0], strings.Join(words[1:], "")
	var changes, unseen []pins.Change
	if s.Fault != "" && name == "" {
		err = s.store.Update(forgotten)
	} else {
		err = s.store.Update(func(text []byte) (after []byte, err error) {
			after, changes, unseen, err = pins.Accept(text, name)
			return after, err
		})
	}
	if err != nil {
		return &exitError{exitFailed, fmt.Sprintf("pins accept: %s: %v", s.Name, err)}
	}
	if name != "" && len(changes)+len(unseen) == 0 {
		var names []string
		for _, h := range s.Held {
			names = append(names, h.Name)
		}
		return usagef("pins accept: no %s of %s is held back%s", hint.Quote(name), s.Name, hint.DidYouMean(name, names))
	}
	if len(changes) > 0 || s.Fault != "" {
		f.tellReload(ctx, cfg.Path)
	}
	if err := s.printAccepted(std.out, heldBacks(changes), *asJSON); err != nil || len(unseen) == 0 {
		return err
	}
	for _, h := range heldBacks(unseen) {
		h.print(std.err)
	}
	return &exitError{exitFailed, fmt.Sprintf("pins accept: the above of %s had not been shown as it is now, and is not accepted yet: the same command accepts it", s.Name)}
}

// printAccepted prints what has been accepted.
func (s *pinnedServer) printAccepted(w io.Writer, all []heldBack, asJSON bool) error {
	switch {
	case asJSON:
		return printJSON(w, all)
	case s.Fault != "":
		output.Item(w, "", "what "+s.Name+" lists next is accepted")
	case len(s.Held) == 0:
		output.Item(w, "", "nothing of "+s.Name+" is held back")
	}
	for _, h := range all {
		output.Item(w, "", "accepted "+h.Kind+" "+terminal.Inline(h.Name))
	}
	return nil
}

// tellReload makes what runs for the config in a file read it anew, which is not an error where nothing runs. What is
// too busy for that now does so later.
func (f *sourceFlags) tellReload(ctx context.Context, config string) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r := &remote{sourceFlags: f, config: config, patience: tellTime}
	_, _ = r.ask(ctx, &daemon.Command{Name: "reload", Notice: true}, func([]byte) error { return nil })
}
