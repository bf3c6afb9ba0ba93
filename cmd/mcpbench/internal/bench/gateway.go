package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Gateway describes a gateway: how to install it, start it and speak to it. In all its strings these
// are replaced: {home} the folder that gateways are installed in, {dir} an empty one, {port} a free
// port, {config} the file that Config is written to, {servers} (a whole value) an object with Server
// for each upstream, {n} the number of the upstream, {url} its URL, {command} its program, {args} (a
// whole element of an array) its arguments, {upstream} its command line.
type Gateway struct {
	Name    string   `json:"name"`
	Project string   `json:"project,omitempty"` // its page
	Version string   `json:"version,omitempty"` // that Install installs
	Ask     []string `json:"version_command,omitempty"`
	Install string   `json:"install,omitempty"` // a line for a shell
	Command []string `json:"command,omitempty"`
	Env     []string `json:"env,omitempty"` // KEY=VALUE

	Config    any                 `json:"config,omitempty"`
	Upstreams map[string]Upstream `json:"upstreams"`         // by carrier: stdio, http, ws
	Addresses map[string]string   `json:"addresses"`         // by carrier: http, sse, ws
	Stdio     []string            `json:"stdio,omitempty"`   // the command that serves on its standard input and output
	Tool      string              `json:"tool"`              // the name of "echo" as it shows it; with a leading * the end of it
	Modern    bool                `json:"modern,omitempty"`  // it speaks revision 2026-07-28
	Note      string              `json:"note,omitempty"`
}

// An Upstream describes how a gateway is told of an upstream.
type Upstream struct {
	Server  any      `json:"server,omitempty"`  // in the config
	Command []string `json:"command,omitempty"` // in place of the gateway's
}

// ReadGateways reads {"gateways": […]}.
func ReadGateways(r io.Reader) ([]Gateway, error) {
	var file struct {
		Gateways []Gateway `json:"gateways"`
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("gateways: %w", err)
	}
	names := map[string]bool{}
	for i, g := range file.Gateways {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("gateways: %d (%q): %w", i+1, g.Name, err)
		}
		if names[g.Name] {
			return nil, fmt.Errorf("gateways: two have the name %q", g.Name)
		}
		names[g.Name] = true
	}
	return file.Gateways, nil
}

func (g Gateway) check() error {
	switch {
	case g.Name == "":
		return errors.New("it has no name")
	case g.Tool == "":
		return errors.New("it has no tool: the name of \"echo\" as it shows it")
	case len(g.Upstreams) == 0:
		return errors.New("it has no upstreams: at least one of stdio, http and ws")
	case len(g.Addresses) == 0 && len(g.Stdio) == 0:
		return errors.New("it has neither addresses nor stdio: where can it be called?")
	}
	for carrier, u := range g.Upstreams {
		if !slices.Contains([]string{"stdio", "http", "ws"}, carrier) {
			return fmt.Errorf("upstream %q: expected stdio, http or ws", carrier)
		}
		if len(g.Command) == 0 && len(u.Command) == 0 && len(g.Stdio) == 0 {
			return fmt.Errorf("upstream %s: no command", carrier)
		}
	}
	for carrier := range g.Addresses {
		if !slices.Contains([]string{"http", "sse", "ws"}, carrier) {
			return fmt.Errorf("address %q: expected http, sse or ws", carrier)
		}
	}
	return nil
}

// Takes reports whether a gateway can be measured in a cell.
func (g Gateway) Takes(c Cell) bool {
	u, up := g.Upstreams[c.Upstream]
	_, down := g.Addresses[c.Client]
	if c.Client == "stdio" {
		down = len(g.Stdio) > 0
	}
	return up && down && (g.Modern || c.Era != Modern) && (c.Servers <= 1 || u.Server != nil)
}

// Client returns the carrier to measure a gateway on: HTTP, or the one that it has instead.
func (g Gateway) Client() string {
	for _, carrier := range []string{"http", "sse", "ws"} {
		if _, ok := g.Addresses[carrier]; ok {
			return carrier
		}
	}
	return "stdio"
}

// Find returns the version of a gateway; the error says how to install it.
func (g Gateway) Find(home string) (version string, err error) {
	v := values{strings: map[string]string{"home": home}}
	for _, command := range g.programs() {
		if _, err := exec.LookPath(v.text(command)); err != nil {
			hint := ""
			if g.Install != "" {
				hint = "; install it with: " + v.text(g.Install)
			}
			return "", fmt.Errorf("%s: %s is not there%s", g.Name, v.text(command), hint)
		}
	}
	if len(g.Ask) == 0 {
		return g.Version, nil
	}
	ask := v.list(g.Ask)
	out, err := exec.Command(ask[0], ask[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", g.Name, strings.Join(ask, " "), err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}

// programs returns the programs that its commands start.
func (g Gateway) programs() (all []string) {
	for _, command := range [][]string{g.Command, g.Stdio} {
		if len(command) > 0 {
			all = append(all, command[0])
		}
	}
	for _, u := range g.Upstreams {
		if len(u.Command) > 0 {
			all = append(all, u.Command[0])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// values are what stands in place of the names in braces.
type values struct {
	strings map[string]string
	args    []string       // {args}
	servers map[string]any // {servers}
}

func (v values) text(s string) string {
	for name, value := range v.strings {
		s = strings.ReplaceAll(s, "{"+name+"}", value)
	}
	return s
}

func (v values) list(all []string) (filled []string) {
	for _, s := range all {
		if s == "{args}" {
			filled = append(filled, v.args...)
		} else {
			filled = append(filled, v.text(s))
		}
	}
	return filled
}

// any fills decoded JSON.
func (v values) any(x any) any {
	switch x := x.(type) {
	case string:
		if x == "{servers}" {
			return v.servers
		}
		return v.text(x)
	case []any:
		filled := []any{}
		for _, e := range x {
			if e != "{args}" {
				filled = append(filled, v.any(e))
				continue
			}
			for _, arg := range v.args {
				filled = append(filled, arg)
			}
		}
		return filled
	case map[string]any:
		filled := map[string]any{}
		for key, e := range x {
			filled[v.text(key)] = v.any(e)
		}
		return filled
	}
	return x
}

// fill returns the command that starts the gateway in front of upstreams, and writes its config into
// dir.
func (g Gateway) fill(c Cell, ups []echoServer, home, dir, address string) (command []string, v values, err error) {
	u := g.Upstreams[c.Upstream]
	v = ups[0].values()
	v.strings["home"], v.strings["dir"], v.strings["port"] = home, dir, address[strings.LastIndexByte(address, ':')+1:]
	v.strings["config"] = filepath.Join(dir, "config.json")
	v.servers = map[string]any{}
	for i, up := range ups {
		server := up.values()
		server.strings["home"], server.strings["n"] = home, strconv.Itoa(i)
		v.servers["s"+strconv.Itoa(i)] = server.any(u.Server)
	}
	if g.Config != nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(v.any(g.Config)); err != nil {
			return nil, v, err
		}
		if err := os.WriteFile(v.strings["config"], b.Bytes(), 0o600); err != nil {
			return nil, v, err
		}
	}
	command = g.Command
	switch {
	case c.Client == "stdio":
		command = g.Stdio
	case len(u.Command) > 0:
		command = u.Command
	}
	return v.list(command), v, nil
}

// InstallLine returns the line for a shell that installs the gateway.
func (g Gateway) InstallLine(home string) string {
	return values{strings: map[string]string{"home": home}}.text(g.Install)
}
