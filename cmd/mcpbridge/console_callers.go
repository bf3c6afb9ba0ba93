package main

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// consoleCaller is a client with a session.
type consoleCaller struct {
	Session   int64     `json:"session"`
	Principal string    `json:"principal,omitempty"`
	Profile   string    `json:"profile,omitempty"`
	Client    string    `json:"client,omitempty"`
	Version   string    `json:"version,omitempty"`
	Carrier   string    `json:"carrier,omitempty"`
	Revision  string    `json:"revision,omitempty"` // of MCP
	Since     time.Time `json:"since"`
	Calls     int       `json:"calls"`
	Watched   []string  `json:"watched,omitempty"` // resources
	Own       bool      `json:"own,omitempty"`     // it is the program itself
}

func (c *ownConsole) callers(*http.Request) (any, error) {
	all := []consoleCaller{}
	for _, caller := range c.live.Calls().Callers() {
		of := c.live.Calls().Of(caller.Session)
		if of == nil { // it has gone meanwhile
			continue
		}
		calls, watched := caller.Used()
		all = append(all, consoleCaller{
			Session: caller.Session, Principal: caller.Principal, Profile: c.live.Live.Stack().Profile(of), Client: caller.Client, Version: caller.Version,
			Carrier: caller.Carrier, Revision: caller.Revision, Since: caller.Since, Calls: calls, Watched: watched, Own: of.ID == self().ID,
		})
	}
	return all, nil
}

// consolePage is a page, or another client that lends tools.
type consolePage struct {
	Principal string `json:"principal,omitempty"`
	web.Tab
}

func (c *ownConsole) pages(*http.Request) (any, error) {
	all := []consolePage{}
	for _, t := range c.live.opts.Pool.Lending().Tabs() {
		all = append(all, consolePage{t.Principal, t})
	}
	return all, nil
}

// why says why a caller has a tool or does not: that of a session, or one that has a principal's token and asks
// for a profile.
func (c *ownConsole) why(r *http.Request) (any, error) {
	tool := r.FormValue("tool")
	if tool == "" {
		return nil, errors.New("tool: expected a name")
	}
	current := c.live.Live.Stack()
	caller := &bridge.Caller{ID: "why", Principal: bridge.Principal{Name: r.FormValue("principal")}, Profile: r.FormValue("profile")}
	if session := r.FormValue("client"); session != "" {
		number, _ := strconv.ParseInt(session, 10, 64)
		if caller = c.live.Calls().Of(number); caller == nil {
			return nil, errors.New("client: this session has ended")
		}
	}
	return current.Why(r.Context(), caller, tool), nil
}
