package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/tokens"
)

// connectFlags are the flags of connect.
type connectFlags struct {
	config   string
	http, ws bool
}

func runConnect(ctx context.Context, args []string, std streams) error {
	f := newFlags("connect", "connect [CLIENT…] [flags]", "Registers the bridge in MCP clients: an entry mcpbridge in the config file of each.\n"+
		"All else in the file stays as it is, and a copy from before is kept beside it.\n\nClients: "+clientNames()+".", std)
	var own connectFlags
	f.StringVar(&own.config, "config", "", "the clients are to use this config `FILE` (default ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder)")
	f.BoolVar(&own.http, "http", false, "write the URL of mcpbridge serve instead of a command, and a token made for the client")
	f.BoolVar(&own.ws, "ws", false, "write a WebSocket URL, likewise")
	e, named, err := newClientEditor(f, args, std)
	switch {
	case err != nil:
		return err
	case own.http && own.ws:
		return usagef("connect: --http and --ws are mutually exclusive")
	case (own.http || own.ws) && e.project:
		return usagef("connect: --project: the file of a project is for others, too, and the token is only for you: leave out --http and --ws")
	}
	cfg, err := loadForClients(f, own.config)
	if err != nil {
		return err
	}
	if named == nil {
		if named, err = e.choose(ctx, e.found(isHome), "connect"); err != nil {
			return err
		}
	}
	if own.http || own.ws {
		for _, c := range named { // before anything is written
			if _, err := e.takesURL(c, cfg, own.ws); err != nil {
				return err
			}
		}
	}
	for _, c := range named {
		if err := e.connect(c, cfg, own); err != nil {
			return err
		}
	}
	e.tellTokens(ctx)
	return e.end(append([]clientResult{}, e.results...))
}

// tellTokens has what runs know of tokens that were made or removed before the command ends.
func (e *clientEditor) tellTokens(ctx context.Context) {
	if e.tokensOf != "" {
		e.flags.tellReload(ctx, e.tokensOf)
	}
}

// isHome reports whether a client is installed where the file lies, which is one to write.
func isHome(f *clients.File) bool { return f.Found && !f.Read }

// connect writes the entry into the files of a client.
func (e *clientEditor) connect(c *clients.Client, cfg *config.Config, flags connectFlags) error {
	files := e.files(c, isHome)
	if len(files) == 0 {
		writable := e.files(c, func(f *clients.File) bool { return !f.Read })
		if len(writable) == 0 {
			return usagef("connect: %s has no file for a project", c.Title)
		}
		files = writable[:1]
		e.note(fmt.Sprintf("%s was not found on this computer: it will read %s once it is installed", c.Title, files[0].Path))
	}
	entry := clients.Entry{Args: []string{"stdio", "--config", cfg.Path}}
	var err error
	issued, held, made := false, "", "" // the token of an entry that is replaced by a command, and the same if connect has made it
	if flags.http || flags.ws {
		entry, issued, err = e.urlEntry(c, cfg, files, flags.ws)
	} else {
		held, made = tokenIn(files, c.Name, cfg.Issued), tokenIn(files, c.Name, madeFor(c, cfg.Issued))
		entry.Command, err = executable()
	}
	if err != nil {
		return err
	}
	written := false
	for _, f := range files {
		if entry.Token != "" && !e.dryRun {
			e.makePrivate(f)
		}
		done := e.change(f, "connected", "unchanged", nil, func(text []byte) ([]byte, error) {
			for _, n := range f.Duplicates(text) {
				e.note(n.String())
			}
			if n := f.Barred(text); n != nil {
				e.note(n.String())
			}
			return f.Connect(text, entry)
		})
		written = written || done
	}
	if issued && !written { // nobody has it
		return tokens.RemoveClient(cfg.TokenFile(), c.Name)
	}
	switch {
	case held == "" || tokenIn(e.files(c, isTouched), c.Name, cfg.Issued) != "": // a file still has it
	case made != "":
		e.endToken(c, cfg.Path)
	default:
		e.noteToken(c, cfg.Path)
	}
	return nil
}

// makePrivate lets only the user read a file, which is to have a token.
func (e *clientEditor) makePrivate(f *clients.File) {
	info, err := os.Stat(f.Open())
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return
	}
	if err := os.Chmod(f.Open(), info.Mode().Perm()&^0o077); err != nil {
		e.note(fmt.Sprintf("other users may be able to read the token in %s: %v", f.Path, err))
	}
}

// takesURL returns the entry with the URL of serve, if the client takes one.
func (e *clientEditor) takesURL(c *clients.Client, cfg *config.Config, ws bool) (clients.Entry, error) {
	u, err := serveURL(cfg, ws)
	if err != nil {
		return clients.Entry{}, err
	}
	entry := clients.Entry{URL: u.String()}
	if files := e.files(c, func(f *clients.File) bool { return !f.Read }); len(files) > 0 {
		if _, err := files[0].Connect(nil, entry); err != nil {
			return entry, usagef("connect: %v", err)
		}
	}
	return entry, nil
}

// urlEntry returns the entry with the URL of serve and a token for the client, and whether that was made now.
func (e *clientEditor) urlEntry(c *clients.Client, cfg *config.Config, files []*clients.File, ws bool) (entry clients.Entry, issued bool, err error) {
	if entry, err = e.takesURL(c, cfg, ws); err != nil {
		return entry, false, err
	}
	if entry.Token = cmp.Or(cfg.Tokens[c.Name], tokenIn(files, c.Name, cfg.Issued)); entry.Token == "" {
		entry.Token, err = e.issue(c, cfg)
		issued = err == nil && !e.dryRun
	}
	e.secrets = append(e.secrets, entry.Token)
	return entry, issued, err
}

// tokenIn returns the token of a client that one of its files has; "" if none has one of those issued.
func tokenIn(files []*clients.File, name string, issued []tokens.Token) string {
	for _, f := range files {
		text, err := readFile(f.Open())
		if err != nil || text == nil {
			continue
		}
		token := f.Token(text)
		if slices.ContainsFunc(issued, func(t tokens.Token) bool { return t.Is(name, token) }) {
			return token
		}
	}
	return ""
}

// serveURL returns the URL at which serve of a config is reached from this computer.
func serveURL(cfg *config.Config, ws bool) (*url.URL, error) {
	host, port, err := net.SplitHostPort(cmp.Or(cfg.Listen, defaultListen))
	if err != nil || port == "0" {
		return nil, usagef("connect: a URL needs a fixed port: write \"listen\": %q into %s", defaultListen, cfg.Path)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/mcp"}
	if ws {
		u.Scheme, u.Path = "ws", "/ws"
	}
	if cfg.TLS.Cert != "" {
		u.Scheme += "s"
	}
	return u, nil
}

// tokenVariable returns the variable of a client's token in the env file, where earlier versions kept it.
func tokenVariable(c *clients.Client) string {
	return "MCPBRIDGE_TOKEN_" + strings.ToUpper(strings.ReplaceAll(c.Name, "-", "_"))
}

// issue makes a token for a client, of which only the client's file has the text.
func (e *clientEditor) issue(c *clients.Client, cfg *config.Config) (string, error) {
	made := tokens.Token{Name: c.Name, Created: time.Now().UTC().Truncate(time.Second), Client: true}
	text, done := rand.Text(), "would make"
	if !e.dryRun {
		var err error
		if text, err = e.flags.issue(cfg, made); err != nil {
			return "", usagef("connect: %v", err)
		}
		done, e.tokensOf = "made", cfg.Path
	}
	e.note(fmt.Sprintf("%s a token for %s, of which %s has the hash", done, c.Title, cfg.TokenFile()))
	if cfg.Principals() == 0 {
		e.note("from then on serve asks every client for a token")
	}
	cfg.Issued = append(cfg.Issued, made)
	return text, nil
}

func runDisconnect(ctx context.Context, args []string, std streams) error {
	f := newFlags("disconnect", "disconnect [CLIENT…] [flags]", "Takes the bridge out of MCP clients. A file that has not changed since is what it was\n"+
		"before, servers that import --move has moved included.\n\nClients: "+clientNames()+".", std)
	path := f.String("config", "", "the config `FILE` that has the tokens of clients (default ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder)")
	e, named, err := newClientEditor(f, args, std)
	if err != nil {
		return err
	}
	if named == nil {
		if named, err = e.choose(ctx, e.found(isTouched), "disconnect"); err != nil {
			return err
		}
	}
	for _, c := range named {
		files := e.files(c, isTouched)
		if len(files) == 0 && !e.asJSON {
			fmt.Fprintf(std.out, "%s: not connected\n", c.Title)
		}
		if len(files) > 0 {
			e.revoke(c, files, *path)
		} else {
			e.noteToken(c, *path)
		}
		for _, f := range files {
			e.disconnect(f)
		}
	}
	e.tellTokens(ctx)
	return e.end(append([]clientResult{}, e.results...))
}

// revoke removes the token of a client that connect has made.
func (e *clientEditor) revoke(c *clients.Client, files []*clients.File, path string) {
	if path == "" {
		var err error
		if path, err = config.DefaultPath(); err != nil {
			return
		}
	}
	removed := false
	text, err := readFile(path)
	at, bad := oldToken(text, c)
	if err = cmp.Or(err, bad); at != nil {
		removed, err = e.update(path, path, func(text []byte) ([]byte, error) {
			at, err := oldToken(text, c)
			if at == nil {
				return text, err
			}
			return edit.Remove(edit.JSON, text, at)
		}, nil)
	}
	switch {
	case err != nil:
		e.fault(path, err)
	case removed && !e.dryRun:
		e.note(fmt.Sprintf("the token of %s is no longer in %s", c.Title, path))
	}
	issued, err := tokens.Read(tokens.Path(path))
	switch {
	case err != nil:
		e.fault(tokens.Path(path), err)
	case e.dryRun:
	case tokenIn(files, c.Name, madeFor(c, issued)) != "", e.hadToken(files, madeFor(c, issued)):
		e.endToken(c, path)
		e.noteToken(c, path) // another one
	default:
		e.noteToken(c, path)
	}
}

// madeFor returns those of the issued tokens that connect has made for a client, and not token create.
func madeFor(c *clients.Client, issued []tokens.Token) (made []tokens.Token) {
	for _, t := range issued {
		if t.Client && t.Name == c.Name {
			made = append(made, t)
		}
	}
	return made
}

// noteToken names a token of a client that is left: a file that is no longer what connect has made of it may have had it, or
// connect has not made it.
func (e *clientEditor) noteToken(c *clients.Client, path string) {
	if path == "" {
		path, _ = config.DefaultPath()
	}
	remove := e.flags.tokenRemoval(c.Name)
	issued, _ := tokens.Read(tokens.Path(path))
	switch {
	case e.project:
	case madeFor(c, issued) != nil:
		e.note(fmt.Sprintf("there is a token for %s: if a file that was deleted or changed had it, %s ends it", c.Name, remove))
	case slices.ContainsFunc(issued, func(t tokens.Token) bool { return t.Name == c.Name }):
		e.note(fmt.Sprintf("there is a token for %s that connect has not made: it is still good, and %s ends it", c.Name, remove))
	}
}

// hadToken reports whether a file of a client that was deleted may have had one of the tokens that were made for it.
func (e *clientEditor) hadToken(files []*clients.File, made []tokens.Token) bool {
	return !e.project && made != nil &&
		slices.ContainsFunc(files, func(f *clients.File) bool {
			text, err := readFile(f.Open())
			return err == nil && text == nil
		})
}

// endToken removes the token that was made for a client from those of the config at a path.
func (e *clientEditor) endToken(c *clients.Client, path string) {
	kept := tokens.Path(path)
	if err := tokens.RemoveClient(kept, c.Name); err != nil {
		e.fault(kept, err)
		return
	}
	e.tokensOf = path
	e.note(fmt.Sprintf("the token of %s is no longer good", c.Title))
	if left := noneLeft(path); left != "" {
		e.note(left)
	}
}

// oldToken returns what a config has of a client's token, as earlier versions wrote it: a path, or nil.
func oldToken(text []byte, c *clients.Client) ([]string, error) {
	root, err := edit.Read(edit.JSON, text)
	tokens, _ := root.At("tokens")
	token, _ := tokens.At(c.Name)
	switch {
	case err != nil || string(token.Value) != `"${`+tokenVariable(c)+`}"`:
		return nil, err
	case len(tokens.Members) == 1:
		return []string{"tokens"}, nil
	}
	return []string{"tokens", c.Name}, nil
}

// isTouched reports whether the bridge has changed a file.
func isTouched(f *clients.File) bool {
	if _, err := os.Stat(f.Open() + backupSuffix); err == nil {
		return true
	}
	text, err := readFile(f.Open())
	return err == nil && text != nil && !f.Read && f.Connected(text)
}

// disconnect takes the entry out of a file, or restores the file, and removes a backup that is no
// longer needed.
func (e *clientEditor) disconnect(f *clients.File) {
	backup := f.Open() + backupSuffix
	r := clientResult{Client: f.Client.Name, Title: f.Title, File: f.Path, Action: "unchanged"}
	var missing []string // servers that only the backup has
	gone := false        // the file, of which only the backup is left
	changed, err := e.update(f.Open(), f.Path, func(text []byte) ([]byte, error) {
		before, err := readFile(backup)
		if gone = text == nil && before != nil; err != nil || text == nil {
			return text, err
		}
		if e.dryRun { // the difference may have it
			e.hide(f.Open(), before)
		}
		out, err := f.Disconnect(text, before)
		if err != nil || before == nil {
			if len(out) == 0 {
				return nil, err
			}
			return out, err
		}
		missing, err = f.Moved(before, out)
		return out, err
	}, func(_ file.Change, put func() error) error {
		if err := put(); err != nil || gone || len(missing) > 0 {
			return err
		}
		if err := os.Remove(backup); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	switch {
	case err != nil:
		e.fault(f.Path, err)
		r.Action, r.Note = "failed", err.Error()
	case changed:
		r.Action = "disconnected"
	}
	if err == nil && gone {
		r.Backup = f.Path + backupSuffix
		r.Note = fmt.Sprintf("does not exist any more: copy %s if you want back what it was before it was connected", r.Backup)
		e.note(f.Path + ": " + r.Note)
	}
	if err == nil && len(missing) > 0 {
		r.Backup = f.Path + backupSuffix
		r.Note = fmt.Sprintf("has changed since it was connected, so that %s stay out: copy them from %s if you want them back", strings.Join(missing, ", "), r.Backup)
		e.note(f.Path + ": " + r.Note)
	}
	e.add(r)
}
