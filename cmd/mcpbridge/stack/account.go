package stack

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/account"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth/weblogin"
)

// accounts are those of the principals at a server where each has its own. It implements account.Logins.
type accounts struct {
	server   string
	desk     *weblogin.Desk
	operator *oauth.Client
	login    func(identity string) (*oauth.Client, error)
	client   *use // set before a session is opened
}

// accountsAt returns the accounts at a server.
func (s *Stack) accountsAt(server *config.Server, operator *oauth.Client, logins, tokens oauth.Store) *accounts {
	return &accounts{server: server.Name, desk: &s.pool.Desk, operator: operator, login: func(identity string) (*oauth.Client, error) {
		return NewLogin(s.cfg, server, logins, tokens, identity)
	}}
}

var errNoAccounts = errors.New(`"credentials": "identity" needs OAuth: an https url, and neither an Authorization header nor "oauth": false in its config`)

// included returns the patterns of the tools of a server that are offered, with the one by which callers log in.
func (s *Stack) included(server *config.Server) []string {
	if s.accounts[server.Name] == nil || len(server.Include) == 0 {
		return server.Include
	}
	return append(slices.Clone(server.Include), account.Tool)
}

// isOperator reports whether a principal is on the side of who runs the bridge: a client on stdio, or one of
// a serve without tokens. What the holder of a token logs in to would be everyone's.
func isOperator(principal bridge.Principal) bool {
	return principal.Name == "" || principal.Name == "local"
}

// Own implements account.Logins.
func (a *accounts) Own(principal bridge.Principal) bool { return !isOperator(principal) }

// Helps implements account.Logins.
func (a *accounts) Helps(cause error) bool { return errors.As(cause, new(*oauth.LoginError)) }

// of returns an OAuth client of a principal.
func (a *accounts) of(principal bridge.Principal) (*oauth.Client, error) {
	if isOperator(principal) {
		return a.operator, nil
	}
	return a.login(principal.Name)
}

// own is mcpclient.Config.Own.
func (a *accounts) own(cfg *mcpclient.Config, caller *bridge.Caller) {
	if c, err := a.of(caller.Principal); err == nil { // else it would be the operator's that has none
		cfg.Auth = c
	}
}

func (a *accounts) account(principal bridge.Principal) weblogin.Account {
	return weblogin.Account{Server: a.server, Principal: principal.Name}
}

// Begin implements account.Logins.
func (a *accounts) Begin(_ context.Context, principal bridge.Principal, cause error) (string, error) {
	c, err := a.of(principal)
	if err != nil {
		return "", err
	}
	return a.desk.Begin(a.account(principal), c, cause)
}

// Finish implements account.Logins.
func (a *accounts) Finish(ctx context.Context, principal bridge.Principal, code string) (string, error) {
	who, err := a.desk.Finish(ctx, a.account(principal), code)
	if err == nil {
		a.client.Reconnect(ctx, principal)
	}
	return who, err
}
