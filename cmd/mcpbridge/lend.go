package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

const (
	hubVariable  = "MCPBRIDGE_TOKEN"
	maxTokenFile = 64 << 10 // bytes
)

// lentTo is the principal of all callers of a hub: who they are, the hub alone knows.
const lentTo = "hub"

func runLend(ctx context.Context, args []string, std streams) error {
	f := newFlags("lend", "lend --to URL [flags] [-- COMMAND [ARG…]]", "Lends servers of this machine to a serve elsewhere, the hub, over a link that is\n"+
		"opened from here, again whenever it is lost. The hub's config has an entry with\n\"lender\" for them, and its token is in "+hubVariable+" (the token, or\n"+
		"${keychain:NAME} for one that mcpbridge secret set NAME has kept), or in a file.", std)
	to := f.String("to", "", "the `URL` of the hub, as in wss://bridge.example.com")
	name := f.String("name", "", "the `NAME` of the entry in the hub's config (default: the only one with the token's holder as its lender)")
	tokenFile := f.String("token-file", "", "read the hub's token from this `FILE`")
	insecure := f.Bool("insecure", false, "send the token and all calls without TLS, also to another machine")
	f.addProfile()
	f.Lookup("profile").Usage = "lend only what this `PROFILE` of the config has"
	var hub *url.URL
	f.prepare = func([]string) (err error) {
		if hub, err = hubURL(*to, *insecure); err == nil {
			_, err = hubToken(*tokenFile)
		}
		return err
	}
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	roots, err := rootsOf(cfg)
	if err != nil {
		return err
	}
	l, err := newLive(f, cfg, stack.Options{Alone: true, Owner: true}, f.again, std.err)
	if err != nil {
		return err
	}
	defer l.close()
	defer keepMemoryLow()()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	begin, stop := l.follow()
	defer stop()
	if err := l.openRequired(ctx); err != nil {
		return err
	}
	l.options = func(cfg *config.Config) mcpserver.Options {
		o := streamOptions(cfg, l.pool, l.log) // without Access: the hub decides who its callers are
		o.Lend = nil
		return o
	}
	defer l.noteDefinitions(ctx)()
	l.front = mcpserver.New(lent{l, f.profile}, l.options(cfg))
	begin()
	if cfg.Path != "" {
		defer onHangup(l.applyAnew, end)()
	}
	link := fleet.NewLender(fleet.LenderOptions{
		Hub: hub, Name: *name, TLS: outbound.TLS(roots),
		Token:  func() (string, error) { return hubToken(*tokenFile) },
		Report: func(name string, reason error) { fmt.Fprintln(std.err, reportLent(hub, name, reason)) },
	})
	defer link.End()
	err = l.front.Serve(ctx, link)
	if refused := (*fleet.RefusedError)(nil); errors.As(err, &refused) {
		return &exitError{exitAway, fmt.Sprintf("lend: %s: %s", hub, terminal.Inline(refused.Reason))}
	}
	return err
}

// reportLent returns the line for a change of a link: name is that of the server while there is one.
func reportLent(hub *url.URL, name string, reason error) string {
	if reason != nil {
		return fmt.Sprintf("not lent to %s: %s; trying again", hub, terminal.Inline(reason.Error()))
	}
	return fmt.Sprintf("lent to %s as %s", hub, terminal.Inline(name))
}

// hubURL returns the URL of --to as that of a WebSocket.
func hubURL(to string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(to)
	schemes := map[string]string{"wss": "wss", "https": "wss", "ws": "ws", "http": "ws"}
	switch {
	case to == "":
		return nil, usagef("lend: --to URL is needed: that of the hub, as in wss://bridge.example.com")
	case err != nil || schemes[u.Scheme] == "" || u.Host == "":
		return nil, usagef("lend: --to: expected a URL such as wss://bridge.example.com")
	case u.User != nil || u.RawQuery != "":
		return nil, usagef("lend: --to: a URL without a user and a query is needed: others see command lines; put the token into %s or a file", hubVariable)
	}
	u.Scheme = schemes[u.Scheme]
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "ws" && !insecure && u.Hostname() != "localhost" && !(err == nil && ip.IsLoopback()) {
		return nil, usagef("lend: --to %s would send the token and all calls without TLS: use wss://, or add --insecure", u)
	}
	return u, nil
}

// hubToken returns the token of the hub: that of a file unless that is "".
func hubToken(path string) (string, error) {
	where, text := hubVariable, os.Getenv(hubVariable)
	if path != "" {
		raw, err := file.ReadRegular(path, maxTokenFile)
		if err != nil {
			return "", usagef("lend: --token-file %s: %v", path, err)
		}
		where, text = path, string(raw)
	}
	text = strings.TrimSpace(text)
	if name, is := strings.CutPrefix(text, "${keychain:"); is {
		kept, err := keychainText(strings.TrimSuffix(name, "}"))
		if err != nil {
			return "", usagef("lend: %s: %v", where, err)
		}
		text = kept
	}
	switch {
	case text == "" && path == "":
		return "", usagef("lend: the hub's token is needed: in %s, or with --token-file FILE (mcpbridge token create NAME makes one at the hub)", hubVariable)
	case text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", usagef("lend: %s: expected a token, which consists of printable ASCII characters without spaces", where)
	}
	return text, nil
}

// keychainText returns a secret that mcpbridge secret set has kept.
func keychainText(name string) (string, error) {
	if !secret.IsName(name) {
		return "", fmt.Errorf("${keychain:%s}: expected %s", hint.Shorten(name), secret.NameRule)
	}
	store, err := secret.Of(secret.Config)
	if err != nil {
		return "", err
	}
	text, err := store.Load(name)
	if err == nil && text == nil {
		err = fmt.Errorf("no such secret: %s (mcpbridge secret set %s)", name, name)
	}
	return string(text), err
}

// lent is a source for the callers of a hub, all of which have one profile; "" means none.
type lent struct {
	bridge.Source
	profile string
}

// Open implements bridge.Source.
func (s lent) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	own := *caller
	own.Principal, own.Profile, own.Operator = bridge.Principal{Name: lentTo}, s.profile, false
	return s.Source.Open(ctx, &own)
}
