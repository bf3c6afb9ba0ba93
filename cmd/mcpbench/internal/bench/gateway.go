package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A Gateway describes a gateway: how to install it, start it and speak to it. In all its strings these
// are replaced: {home} the folder that gateways are installed in, {dir} an empty one, {port} a free
// port, {config} the file that Config is written to, {servers} (a whole value) an object with Server
// for each upstream, {n} the number of the upstream, {url} its URL, {command} its program, {args} (a
// whole element of an array) its arguments, {upstream} its command line, {urls} the URLs of all upstreams
// with commas between, {times} how many upstreams there are.
type Gateway struct {
	Name    string   `json:"name"`
	Project string   `json:"project,omitempty"` // its page
	Version string   `json:"version,omitempty"` // that Install installs
	Ask     []string `json:"version_command,omitempty"`
	Install string   `json:"install,omitempty"` // a line for a shell
	Command []string `json:"command,omitempty"`
	Env     []string `json:"env,omitempty"` // KEY=VALUE

	Config    json.RawMessage     `json:"config,omitempty"`
	Upstreams map[string]Upstream `json:"upstreams"`        // by carrier: stdio, http, ws
	Addresses map[string]string   `json:"addresses"`        // by carrier: http, sse, ws
	Stdio     []string            `json:"stdio,omitempty"`  // the command that serves on its standard input and output
	Tool      string              `json:"tool"`             // the name of "echo" as it shows it; with a leading * the end of it
	Modern    bool                `json:"modern,omitempty"` // it speaks revision 2026-07-28
	Note      string              `json:"note,omitempty"`
}

// An Upstream describes how a gateway is told of an upstream.
type Upstream struct {
	Server  json.RawMessage `json:"server,omitempty"`  // in the config
	Command []string        `json:"command,omitempty"` // in place of the gateway's
}

// ReadGateways reads {"gateways": […]} of gateways that are installed below a folder.
func ReadGateways(text []byte, home string) ([]Gateway, error) {
	var file struct {
		Gateways []Gateway `json:"gateways"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("gateways: %w", err)
	}
	filled, err := fill(file, values{"home": home})
	if err != nil {
		return nil, err
	}
	for i, g := range filled.Gateways {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("gateways: %d (%q): %w", i+1, g.Name, err)
		}
	}
	return filled.Gateways, nil
}

func (g Gateway) check() error {
	if g.Name == "" || g.Tool == "" || len(g.Upstreams) == 0 || len(g.Addresses)+len(g.Stdio) == 0 {
		return errors.New("expected a name, a tool, upstreams, and addresses or stdio")
	}
	for carrier := range g.Upstreams {
		c := Cell{Client: g.Client(), Upstream: carrier}
		if len(g.command(c)) == 0 {
			return fmt.Errorf("upstream %s: no command", carrier)
		}
		if _, err := g.fill(c, []string{"echo", "--era", "x"}, []string{""}, "dir", "1"); err != nil {
			return err
		}
	}
	return nil
}

// command returns the command that starts a gateway for a cell.
func (g Gateway) command(c Cell) []string {
	own := g.Upstreams[c.Upstream].Command
	switch {
	case c.Client == "stdio":
		return g.Stdio
	case len(own) > 0:
		return own
	}
	return g.Command
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
func (g Gateway) Find() (version string, err error) {
	commands := [][]string{g.Command, g.Stdio}
	for _, u := range g.Upstreams {
		commands = append(commands, u.Command)
	}
	for _, command := range commands {
		if len(command) == 0 {
			continue
		}
		if _, err := exec.LookPath(command[0]); err != nil {
			return "", fmt.Errorf("%s: %s is not there; install it with: %s", g.Name, command[0], cmp.Or(g.Install, "(it does not say)"))
		}
	}
	if len(g.Ask) == 0 {
		return g.Version, nil
	}
	out, err := exec.Command(g.Ask[0], g.Ask[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", g.Name, strings.Join(g.Ask, " "), err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}

// fill returns a gateway as it is started in front of echo servers, a URL each, with its config in a
// folder. The config is not yet written.
func (g Gateway) fill(c Cell, echo, urls []string, dir, port string) (Gateway, error) {
	v := values{"command": echo[0], "args": echo[1:], "upstream": strings.Trim(fmt.Sprintf("%q", echo), "[]")}
	all := map[string]json.RawMessage{}
	for i, url := range urls {
		v["n"], v["url"] = strconv.Itoa(i), url
		u, err := fill(g.Upstreams[c.Upstream], v)
		if err != nil {
			return g, err
		}
		all["s"+strconv.Itoa(i)] = u.Server
	}
	v["urls"], v["times"] = strings.Join(urls, ","), strconv.Itoa(len(urls))
	v["url"], v["dir"], v["port"], v["config"], v["servers"] = urls[0], dir, port, filepath.Join(dir, "config.json"), all
	return fill(g, v)
}

// values are what stands in place of names in braces: a string within one, the elements of an array
// and an object in place of one.
type values map[string]any

func fill[T any](description T, v values) (filled T, err error) {
	text, err := json.Marshal(description)
	if err != nil {
		return filled, err
	}
	var pairs []string
	for name, value := range v {
		with, err := json.Marshal(value)
		if err != nil {
			return filled, err
		}
		switch value.(type) {
		case string:
			pairs = append(pairs, "{"+name+"}", string(with[1:len(with)-1]))
		case []string:
			pairs = append(pairs, `"{`+name+`}"`, string(with[1:len(with)-1]))
		default:
			pairs = append(pairs, `"{`+name+`}"`, string(with))
		}
	}
	err = json.Unmarshal([]byte(strings.NewReplacer(pairs...).Replace(string(text))), &filled)
	return filled, err
}
