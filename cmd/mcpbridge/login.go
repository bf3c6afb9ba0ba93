package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// credentialStores returns where what a config's servers and APIs want is kept: logins of persons, and tokens that
// can be had without one, which each node of a cluster has for itself.
func credentialStores(cfg *config.Config) (logins, tokens oauth.Store, err error) {
	own, err := secret.Of("logins")
	if err == nil && cfg.Cluster.Name != "" {
		logins, err = newClusterLogins(cfg)
	} else {
		logins = own
	}
	if err != nil {
		return nil, nil, fmt.Errorf("no folder for logins: %w", err)
	}
	return logins, own, nil
}

// loginTo returns the login to a server of an identity, "" for the operator.
func loginTo(cfg *config.Config, server *config.Server, identity string) (*oauth.Client, error) {
	logins, tokens, err := credentialStores(cfg)
	if err != nil {
		return nil, err
	}
	return stack.NewLogin(cfg, server, logins, tokens, identity)
}

// loginFlags are what login and logout have in common.
type loginFlags struct {
	*sourceFlags
	json bool
}

// loginReport is what login --json and logout --json print.
type loginReport struct {
	Server string `json:"server"`
	URL    string `json:"url"`
	*oauth.Status
	LoggedIn bool     `json:"loggedIn"`
	Tools    int      `json:"tools,omitempty"`
	Note     string   `json:"note,omitempty"`
	Findings []string `json:"findings,omitempty"` // what its tools should not say, as it was not known before
}

func newLoginFlags(name, usage, about string, std streams) *loginFlags {
	f := &loginFlags{sourceFlags: newFlags(name, usage, about, std)}
	f.BoolVar(&f.json, "json", false, "print one JSON object")
	f.check = func(words []string) error {
		switch {
		case len(words) > 1:
			return usagef("%s: unexpected argument %s", name, hint.Quote(words[1]))
		case f.upstream != "" && len(words) > 0:
			return usagef("%s: expected a server's name or --upstream, and not both", name)
		case f.upstream == "" && len(words) == 0:
			return usagef("%s: expected the name of a server (mcpbridge list shows them)", name)
		}
		return nil
	}
	return f
}

// server parses the arguments and returns the config with the one server that they name.
func (f *loginFlags) server(args []string) (*config.Config, *config.Server, error) {
	cfg, words, err := f.parse(args)
	if err != nil {
		return nil, nil, err
	}
	if f.upstream == "" {
		var names []string
		for _, s := range cfg.Servers {
			names = append(names, s.Name)
		}
		i := slices.Index(names, words[0])
		if i < 0 {
			advice := "mcpbridge list shows the servers"
			if near := toolformat.Closest(words[0], names); near != "" {
				advice = "did you mean " + near + "?"
			}
			return nil, nil, usagef("%s: %s has no enabled server %s (%s)", f.Name(), cfg.Path, hint.Quote(words[0]), advice)
		}
		cfg.Servers = cfg.Servers[i : i+1]
	}
	server := &cfg.Servers[0]
	if server.Lazy = false; server.Fault != nil {
		return nil, nil, usagef("%s: %s: %v", f.Name(), server.Name, server.Fault)
	}
	return cfg, server, nil
}

// tell makes a server of what runs connect anew, which is not an error where nothing runs.
func (f *loginFlags) tell(ctx context.Context, cfg *config.Config, server string) {
	if cfg.Path == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r := &remote{sourceFlags: f.sourceFlags, config: cfg.Path, patience: tellTime}
	_, _ = r.ask(ctx, &daemon.Command{Name: "restart", Server: server}, func([]byte) error { return nil })
}

const loginAbout = `Logs in to a server that wants OAuth: opens the page of its authorization server in
the browser, and keeps what that gives in a sealed file. Without a browser, open the
address elsewhere and paste the one that you are sent to.`

func runLogin(ctx context.Context, args []string, std streams) error {
	f := newLoginFlags("login", "login SERVER [flags]", loginAbout, std)
	noBrowser := f.Bool("no-browser", false, "print the address, and read the one that the browser was sent to from standard input")
	scopes := f.StringArray("scope", nil, "ask for this `SCOPE` (or several, with spaces) beside those that the server wants; may be repeated")
	patience := f.Duration("wait", 5*time.Minute, "give up after this `DURATION`")
	cfg, server, err := f.server(args)
	if err != nil {
		return err
	}
	if _, err := loginTo(cfg, server, ""); err != nil {
		return usagef("login: %s: %v", server.Name, err)
	}
	l := &loginRun{loginFlags: f, cfg: cfg, server: server, std: std, noBrowser: *noBrowser, patience: *patience, scopes: strings.Fields(strings.Join(*scopes, " "))}
	return l.run(ctx)
}

// loginRun is a run of login.
type loginRun struct {
	*loginFlags
	cfg       *config.Config
	server    *config.Server
	std       streams
	noBrowser bool
	patience  time.Duration // within which the person has to log in
	scopes    []string
}

// run asks the server what it wants, lets the person log in, and connects once more.
func (l *loginRun) run(ctx context.Context) error {
	p, st, err := l.connect(ctx)
	defer func() { p.close() }()
	if err != nil {
		return err
	}
	client := p.Login(l.server.Name)
	if st.Up() && len(l.scopes) == 0 {
		return l.report(client, st, "it wants no login")
	}
	if !st.Up() && !client.Challenged() {
		return &exitError{exitAway, l.server.Name + ": " + terminal.Inline(st.Reason)}
	}
	down := !st.Up() // so it is in what runs
	waiting, cancel := context.WithTimeoutCause(ctx, l.patience, fmt.Errorf("nobody has logged in within %s (--wait)", l.patience))
	defer cancel()
	err = client.Login(waiting, l.scopes, l.prompt(waiting))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) { // interrupted
		return ctx.Err()
	}
	if cause := context.Cause(waiting); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return &exitError{exitAway, fmt.Sprintf("login: %s: %v", l.server.Name, err)}
	}
	lost := "" // a login that replaces another one is used without being stored, until p ends
	p.lost = func(text string) { lost = text }
	p.close()
	if p = nil; lost != "" {
		return &exitError{exitAway, fmt.Sprintf("login: %s: %s", l.server.Name, lost)}
	}
	again, st, err := l.connect(ctx)
	defer again.close()
	if err != nil {
		return err
	}
	if down {
		l.tell(ctx, l.cfg, l.server.Name)
	}
	client = again.Login(l.server.Name)
	if !st.Up() {
		return &exitError{exitAway, "login: " + l.inVain(client, st)}
	}
	return l.report(client, st, "")
}

// inVain says why the server is down after a login that has succeeded.
func (l *loginRun) inVain(client *oauth.Client, st *stack.ServerState) string {
	status, err := client.Status()
	if err == nil && status != nil && client.Challenged() && !strings.Contains(st.Reason, "--scope") { // another login would not help
		return fmt.Sprintf("%s refuses the token that %s has just given: whoever runs that server can tell what the token lacks, such as its audience", l.server.Name, status.Issuer)
	}
	return fmt.Sprintf("%s has accepted the login, and yet: %s", l.server.Name, terminal.Inline(st.Reason))
}

// connect connects the server once.
func (l *loginRun) connect(ctx context.Context) (*program, *stack.ServerState, error) {
	p, err := newWaiting(l.sourceFlags, l.cfg, stack.Options{Once: true}, io.Discard)
	if err != nil {
		return nil, nil, err
	}
	if err := p.open(ctx); err != nil {
		return p, nil, err
	}
	var st stack.ServerState
	p.Await(ctx, p.caller, func(s stack.ServerState) { st = s })
	return p, &st, context.Cause(ctx)
}

// report says who is logged in. without is what to say of a server without a login.
func (l *loginRun) report(client *oauth.Client, st *stack.ServerState, without string) error {
	status, err := client.Status()
	if err != nil {
		return err
	}
	report := loginReport{Server: l.server.Name, URL: l.server.URL, Status: status, LoggedIn: status != nil, Tools: st.Items[bridge.Tools], Findings: findingsOf(st)}
	if status == nil {
		report.Note = without
	}
	if l.json {
		return printJSON(l.std.out, report)
	}
	text := without
	if status != nil {
		text = "logged in " + loginLine(status, time.Now())
	}
	output.Item(l.std.out, "", fmt.Sprintf("%s: %s; %s", l.server.Name, text, plural(report.Tools, "tool")))
	for _, found := range report.Findings {
		output.Item(l.std.out, "     ", "note: "+terminal.Inline(found))
	}
	return nil
}

// loginLine says on one line who is logged in where, and until when.
func loginLine(s *oauth.Status, now time.Time) string {
	text := "at " + s.Issuer
	if s.Subject != "" {
		text = "as " + terminal.Inline(s.Subject) + " " + text
	}
	if len(s.Scopes) > 0 {
		text += " for " + terminal.Inline(strings.Join(s.Scopes, " "))
	}
	switch left := s.Expiry.Sub(now); {
	case s.Renews || s.Expiry.IsZero():
	case left > 0:
		text += ", until " + s.Expiry.Local().Format("2006-01-02 15:04")
	default:
		text += ", which has expired"
	}
	return text
}

// accountsAt returns the logins of the principals to a server; nil unless each has its own account there.
func accountsAt(s *stack.Stack, server string) map[string]*oauth.Status {
	each := slices.ContainsFunc(s.Config().Servers, func(of config.Server) bool { return of.Name == server && of.PerIdentity })
	if client := s.Login(server); each && client != nil {
		all, _ := client.Identities()
		return all
	}
	return nil
}

// accountsLine says on one line who has an account of its own at a server.
func accountsLine(accounts map[string]*oauth.Status) string {
	names := slices.Sorted(maps.Keys(accounts))
	if len(names) == 0 {
		return "each principal logs in with its own account: nobody has so far"
	}
	more := ""
	if len(names) > 20 {
		names, more = names[:20], fmt.Sprintf(" and %d more", len(names)-20)
	}
	return "each principal logs in with its own account: " + terminal.Inline(strings.Join(names, ", ")) + more
}

// prompt returns how the person is reached.
func (l *loginRun) prompt(ctx context.Context) oauth.Prompt {
	prompt := oauth.Prompt{Complain: func(err error) { output.Item(l.std.err, "", "mcpbridge: "+err.Error()) }}
	prompt.Open = func(address string) error {
		shown := !l.noBrowser && openBrowser(ctx, address) == nil
		if shown {
			fmt.Fprintf(l.std.err, "Log in to %s in the browser. If it shows no page, open this address:\n\n  %s\n\n", terminal.Inline(l.server.Name), address)
		} else {
			fmt.Fprintf(l.std.err, "Log in to %s at this address:\n\n  %s\n\nIf the browser then cannot show a page of localhost, paste its address here:\n", terminal.Inline(l.server.Name), address)
		}
		return nil
	}
	if l.noBrowser || output.IsTerminal(l.std.in) {
		lines := make(chan string)
		prompt.Paste = lines
		go func() { // until the end of the input, or of this program
			defer close(lines)
			for in := bufio.NewScanner(l.std.in); in.Scan(); {
				if line := strings.TrimSpace(in.Text()); line != "" {
					select {
					case lines <- line:
					case <-ctx.Done():
						return
					}
				}
			}
		}()
	}
	return prompt
}

func runLogout(ctx context.Context, args []string, std streams) error {
	f := newLoginFlags("logout", "logout SERVER [flags]", "Forgets the login to a server, and asks its authorization server to do so, too.", std)
	identity := f.String("identity", "", "end the login of this `PRINCIPAL`, of a server with \"credentials\": \"identity\"")
	cfg, server, err := f.server(args)
	if err != nil {
		return err
	}
	client, err := loginTo(cfg, server, *identity)
	if err != nil {
		return usagef("logout: %s: %v", server.Name, err)
	}
	status, err := client.Status()
	note := ""
	if left := client.Logout(ctx); left != nil {
		note = left.Error()
	}
	if status != nil || err != nil {
		f.tell(ctx, cfg, server.Name)
	}
	if f.json {
		return printJSON(std.out, loginReport{Server: server.Name, URL: server.URL, Note: note})
	}
	whose := ""
	if *identity != "" {
		whose = " as " + terminal.Inline(*identity)
	}
	text := "logged out of " + server.Name + whose
	if status == nil && err == nil {
		text = "there was no login to " + server.Name + whose
	}
	output.Item(std.out, "", text)
	if note != "" {
		output.Item(std.err, "", "mcpbridge: warning: "+note)
	}
	return nil
}
