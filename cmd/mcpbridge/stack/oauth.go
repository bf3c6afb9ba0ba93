package stack

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

// login returns the OAuth client for a server; nil if it has other credentials, or can have none.
func (s *Stack) login(server *config.Server, store oauth.Store) *oauth.Client {
	if store == nil || server.Fault != nil {
		return nil
	}
	c, err := NewLogin(s.cfg, server, store, "")
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
// The error says why it has none.
func NewLogin(cfg *config.Config, server *config.Server, store oauth.Store, identity string) (*oauth.Client, error) {
	o := &server.OAuth
	switch {
	case server.URL == "":
		return nil, fmt.Errorf("it is a program: OAuth is for servers with a url")
	case o.Off:
		return nil, fmt.Errorf(`"oauth" in its config is false`)
	case hasCredentials(server):
		return nil, fmt.Errorf("its config has other credentials: an Authorization header, or a user in its url")
	}
	trusted, err := roots(cfg)
	if err != nil {
		return nil, err
	}
	mayAsk := isOperator
	if identity != "" {
		mayAsk = nil // its login is by a page of the bridge
	}
	return oauth.New(oauth.Config{
		Server: server.URL, Identity: identity, Store: store, Roots: trusted.pool,
		Command: commandFor(cfg, "login", server.Name, "--upstream "+quoted(server.URL)), MayAsk: mayAsk,
		Grant: oauth.Grant(o.Grant), Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, PrivateKey: o.PrivateKey,
		ClientMetadata: o.ClientMetadata, Scopes: o.Scopes, CallbackPort: o.CallbackPort, Assertion: o.Assertion,
	})
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
	command += quoted(server)
	dir, err := os.UserConfigDir()
	if err == nil && cfg.Path == filepath.Join(dir, "mcpbridge", config.FileName) {
		return command
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		path = cfg.Path
	}
	return command + " --config " + quoted(path)
}

// quoted returns a word for a shell.
func quoted(word string) string {
	if strings.ContainsAny(word, " \t\"'\\$&|;<>()*?[]{}~`!#") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
