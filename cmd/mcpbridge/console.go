package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/logbook"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
	webconsole "github.com/mcpbridge/mcpbridge/mcpserver/web/console"
)

// ownConsole is the console of serve: what the page in mcpserver/web/console shows, and does.
type ownConsole struct {
	live    *live
	control *control
	address string // of the listener, with the scheme
}

// handler returns the API of the console. A program without one refuses all.
func (c *ownConsole) handler() http.Handler {
	if c == nil {
		return http.NotFoundHandler()
	}
	type call = func(*http.Request) (any, error)
	return webconsole.Handler(webconsole.Options{
		Read: map[string]call{
			"state":   func(*http.Request) (any, error) { return c.state(), nil },
			"items":   c.items,
			"callers": c.callers,
			"pages":   c.pages,
			"why":     c.why,
			"logs":    c.logs,
			"pins":    c.pins,
			"logins":  c.logins,
			"tool":    c.tool,
			"models":  c.models,
			"nodes":   func(r *http.Request) (any, error) { return merge(c.control.everywhere(r.Context())), nil },

			"approvals": c.approvals,
		},
		Do: map[string]call{
			"restart": func(r *http.Request) (any, error) {
				return c.done(c.control.manage(r.FormValue("server"), "restarted", (*mcpclient.Client).Restart))
			},
			"stop": func(r *http.Request) (any, error) {
				return c.done(c.control.manage(r.FormValue("server"), "stopped", (*mcpclient.Client).Stop))
			},
			"reload": func(*http.Request) (any, error) {
				if c.control.reload == nil {
					return nil, errors.New("there is no config to read again")
				}
				return c.done("reloaded "+c.control.about.Config, c.control.reload())
			},
			"pins/accept":  c.acceptPins,
			"login":        c.beginLogin,
			"login/finish": c.finishLogin,
			"logout":       c.logout,

			"approvals/decide": c.decideApproval,
		},
		Calls: c.live.Calls(), Recent: c.control.counts.Recent, Knows: func(r *http.Request) bool { return c.live.front.Knows(r) },
	})
}

func (c *ownConsole) done(text string, err error) (any, error) { return answer{Done: text}, err }

// consoleState is the program as the console shows it.
type consoleState struct {
	processState
	Problems []consoleProblem `json:"problems"` // tools that are left out or changed
	Profiles []string         `json:"profiles"`

	Principals []string `json:"principals"` // of tokens, without the operator

	SandboxOrigin string `json:"sandboxOrigin,omitempty"`
}

// consoleProblem is a tool, or another item, that is left out or changed.
type consoleProblem struct {
	Server  string `json:"server,omitempty"`
	Name    string `json:"name,omitempty"` // at the server
	Text    string `json:"text"`
	LeftOut bool   `json:"leftOut,omitempty"`
}

func (c *ownConsole) state() consoleState {
	current := c.live.Live.Stack()
	st := consoleState{processState: c.control.state(), Problems: []consoleProblem{}, Profiles: []string{}, Principals: principals(current.Config()), SandboxOrigin: current.Config().Console.SandboxOrigin}
	for _, p := range current.Problems() {
		st.Problems = append(st.Problems, consoleProblem{p.Member, p.Key, p.Text, p.LeftOut})
	}
	for _, p := range current.Config().Profiles {
		st.Profiles = append(st.Profiles, p.Name)
	}
	return st
}

// principals returns the names of a config's tokens, without that of the operator.
func principals(cfg *config.Config) []string {
	all := slices.AppendSeq([]string{}, maps.Keys(cfg.Tokens))
	for _, t := range cfg.Issued {
		all = append(all, t.Name)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == auth.OperatorName })
}

// consoleItem is a tool, prompt or resource, as the operator sees it.
type consoleItem struct {
	Name       string          `json:"name"`          // or URI
	Server     string          `json:"server"`        // "" of what clients lend
	Own        string          `json:"own,omitempty"` // name or URI that the server has for it, if that is another
	Untrusted  bool            `json:"untrusted,omitempty"`
	Definition json.RawMessage `json:"definition"`
}

// items lists the tools, prompts, resources or templates of the operator, or the one with a name.
func (c *ownConsole) items(r *http.Request) (any, error) {
	kind := bridge.ListKind(slices.Index([]string{"tools", "prompts", "resources", "templates"}, cmp.Or(r.FormValue("kind"), "tools")))
	if kind >= bridge.ListKinds {
		return nil, errors.New("kind: expected tools, prompts, resources or templates")
	}
	list, err := c.live.own.List(r.Context(), kind)
	if list == nil {
		return nil, err
	}
	all, name := []consoleItem{}, r.FormValue("name")
	for _, it := range list.Items {
		if name != "" && name != it.Key {
			continue
		}
		all = append(all, consoleItem{it.Key, it.Member, it.Own, it.Untrusted, json.RawMessage(it.Raw)})
	}
	return all, nil
}

// shownLines is how many lines of the log are shown.
const shownLines = 300

// logs returns the latest lines of the log, or those about a server.
func (c *ownConsole) logs(r *http.Request) (any, error) {
	all := []logbook.Line{}
	err := c.control.book.Read(r.Context(), r.FormValue("server"), shownLines, false, func(l logbook.Line) error {
		all = append(all, l)
		return nil
	})
	return all, err
}
