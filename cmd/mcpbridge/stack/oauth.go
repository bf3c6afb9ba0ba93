package stack

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/account"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

// login returns the OAuth client for a server; nil if it has other credentials, or can have none.
func (s *Stack) login(server *config.Server, logins, tokens oauth.Store) *oauth.Client {
	if logins == nil || server.Fault != nil {
		return nil
	}
	c, err := NewLogin(s.cfg, server, logins, tokens, "")
	if err != nil {
		if (server.OAuth.ClientID+server.OAuth.ClientMetadata) != "" || server.PerIdentity {
			s.log.Warn(fmt.Sprintf("%s: oauth: %v", server.Name, err))
		}
		return nil
	}
	return c
}

// Login returns the OAuth client of a server; nil if it has none.
func (s *Stack) Login(server string) *oauth.Client { return s.logins[server] }

// NewLogin returns the OAuth client for a server of a config, as an identity has it, "" for the operator.
// What it gets is kept with logins, or, if no person logs in, with tokens. The error says why it has none.
func NewLogin(cfg *config.Config, server *config.Server, logins, tokens oauth.Store, identity string) (*oauth.Client, error) {
	o := &server.OAuth
	switch {
	case server.URL == "":
		return nil, fmt.Errorf("it is a program: OAuth is for servers with a url")
	case o.Off:
		return nil, fmt.Errorf(`"oauth" in its config is false`)
	case o.OfCaller:
		return nil, fmt.Errorf("nobody logs in to it: the access tokens of callers are exchanged")
	case hasCredentials(server):
		return nil, errOtherCredentials
	}
	trusted, err := roots(cfg)
	if err != nil {
		return nil, err
	}
	access := accessTo(server.URL, o, trusted)
	access.Identity, access.Store = identity, logins
	if access.Grant != oauth.Code {
		access.Store = tokens
	}
	access.Command = commandFor(cfg, "login", server.Name, "--upstream "+hint.ShellWord(server.URL))
	if server.PerIdentity {
		access.Tool = account.Tool
	}
	if identity == "" { // else its login is by a page of the bridge
		access.MayAsk = isOperator
	}
	return oauth.New(access)
}

var errOtherCredentials = errors.New("its config has other credentials: an Authorization header, or a user in its url")

// accessTo returns the access to a server or an API, as its config says.
func accessTo(url string, o *config.OAuth, roots trust) oauth.Config {
	return oauth.Config{
		Server: url, Roots: roots.pool, Grant: oauth.Grant(o.Grant), Issuer: o.Issuer, TokenURL: o.TokenURL,
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, PrivateKey: o.PrivateKey, AuthMethod: o.AuthMethod, ClientMetadata: o.ClientMetadata,
		Scopes: o.Scopes, Resource: o.Resource, Audience: o.Audience, CallbackPort: o.CallbackPort, Assertion: o.Assertion,
	}
}

// exchangeAt returns what exchanges the tokens of callers for those of a server.
func (s *Stack) exchangeAt(server *config.Server) (*exchange, error) {
	if hasCredentials(server) {
		return nil, errOtherCredentials
	}
	return newExchange(s.cfg, accessTo(server.URL, &server.OAuth, s.roots))
}

// hasCredentials reports whether a config gives its server credentials that OAuth would replace.
func hasCredentials(server *config.Server) bool {
	for name := range maps.Keys(server.Headers) {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	authority, _, _ := strings.Cut(strings.TrimPrefix(server.URL[strings.Index(server.URL, ":")+1:], "//"), "/")
	return strings.Contains(authority, "@")
}

// commandFor returns the command line for a server of a config. alone is what names it without a config.
func commandFor(cfg *config.Config, command, server, alone string) string {
	command = "mcpbridge " + command + " "
	if cfg.Path == "" {
		return command + alone
	}
	command += hint.ShellWord(server)
	dir, err := os.UserConfigDir()
	if err == nil && cfg.Path == filepath.Join(dir, "mcpbridge", config.FileName) {
		return command
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		path = cfg.Path
	}
	return command + " --config " + hint.ShellWord(path)
}
