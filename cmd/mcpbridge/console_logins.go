package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth/weblogin"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// consoleLogin is a server to which one can log in.
type consoleLogin struct {
	Server   string                   `json:"server"`
	URL      string                   `json:"url"`
	Wanted   bool                     `json:"wanted"` // the server has asked for a login
	Login    *oauth.Status            `json:"login,omitempty"`
	Fault    string                   `json:"fault,omitempty"` // why the login is not known
	Accounts map[string]*oauth.Status `json:"accounts"`        // by principal; nil unless each has its own
}

func (c *ownConsole) logins(*http.Request) (any, error) {
	current, all := c.live.Live.Stack(), []consoleLogin{}
	for _, server := range current.Config().Servers {
		client := current.Login(server.Name)
		if client == nil {
			continue
		}
		own := consoleLogin{Server: server.Name, URL: client.Server(), Wanted: client.Wanted() != nil, Accounts: accountsAt(current, server.Name)}
		var err error
		if own.Login, err = client.Status(); err != nil {
			own.Fault = err.Error()
		}
		all = append(all, own)
	}
	return all, nil
}

// loginOf returns what is connected when the operator logs in to a server at the page of the bridge.
func (c *ownConsole) loginOf(r *http.Request) (weblogin.Account, *oauth.Client, error) {
	name := r.FormValue("server")
	client := c.live.Live.Stack().Login(name)
	if client == nil {
		return weblogin.Account{}, nil, fmt.Errorf("server %q has no login of this kind", name)
	}
	return weblogin.Account{Server: name, Principal: auth.OperatorName}, client, nil
}

// beginLogin returns the link to the page where the operator logs in to a server for all callers.
func (c *ownConsole) beginLogin(r *http.Request) (any, error) {
	of, client, err := c.loginOf(r)
	if err != nil {
		return nil, err
	}
	link, err := c.live.pool.Desk.Begin(of, client, nil)
	return map[string]string{"link": link}, err
}

// finishLogin takes the code that the page has shown.
func (c *ownConsole) finishLogin(r *http.Request) (any, error) {
	of, _, err := c.loginOf(r)
	if err != nil {
		return nil, err
	}
	who, err := c.live.pool.Desk.Finish(r.Context(), of, r.FormValue("code"))
	if err != nil {
		return nil, err
	}
	text := "logged in to " + of.Server
	if who != "" {
		text += " as " + who
	}
	_, err = c.control.manage(of.Server, "", (*mcpclient.Client).Restart)
	return c.done(text, err)
}

// logout ends the login of the operator, or of a principal, to a server.
func (c *ownConsole) logout(r *http.Request) (any, error) {
	of, client, err := c.loginOf(r)
	if err != nil {
		return nil, err
	}
	if principal := r.FormValue("principal"); principal != "" {
		if client, err = c.loginAs(of.Server, principal); err != nil {
			return nil, err
		}
	}
	left := client.Logout(r.Context())
	_, err = c.control.manage(of.Server, "", (*mcpclient.Client).Restart)
	return c.done("logged out of "+of.Server, errors.Join(left, err))
}

// loginAs returns the login of a principal to a server at which each has its own.
func (c *ownConsole) loginAs(name, principal string) (*oauth.Client, error) {
	cfg := c.live.Live.Stack().Config()
	for i := range cfg.Servers {
		if cfg.Servers[i].Name == name && cfg.Servers[i].PerIdentity {
			return loginTo(cfg, &cfg.Servers[i], principal)
		}
	}
	return nil, fmt.Errorf("principals have no accounts of their own at %s", name)
}
