package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A sandboxed is "sandbox" of a server, which is applied when its arguments are known.
type sandboxed struct {
	on     bool
	preset string
	sandbox.Policy
	network *bool
	memory  int
}

// readSandbox reads true, the name of a preset, or an object.
func readSandbox(d *decoder, n node) (s sandboxed, ok bool) {
	if on, isBool := n.boolean(); isBool {
		return sandboxed{on: on}, true
	}
	s.on = true
	switch n.value.Kind() {
	case '"':
		s.preset, ok = readPreset(d, n)
		return s, ok
	case '{':
	default:
		d.expected(n, `true, the name of a preset, or an object such as {"read": ["~/notes"]}`)
		return s, false
	}
	if isSandboxOfVSCode(n) {
		d.warnf(n.key(), `ignored: a setting of VS Code; here it is {"read": [FOLDER…], "write": [FOLDER…], "network": false}`)
		return sandboxed{}, true
	}
	d.object(n, keySet{
		"preset":    {take: into(&s.preset, readPreset)},
		"read":      {take: into(&s.Read, listOf(readPath))},
		"write":     {take: into(&s.Write, listOf(readPath))},
		"network":   {take: into(&s.network, readFlag)},
		"processes": {take: into(&s.Processes, readCount)},
		"memory":    {take: into(&s.memory, readSize)},
	})
	return s, true
}

// isSandboxOfVSCode reports whether an object is VS Code's, which has the same name.
func isSandboxOfVSCode(n node) bool {
	return slices.ContainsFunc(membersIn(n), func(m node) bool {
		return m.name == "filesystem" || m.name == "network" && m.value.Kind() == '{'
	})
}

func readFlag(d *decoder, n node) (*bool, bool) {
	value, ok := readBool(d, n)
	return &value, ok
}

func readPreset(d *decoder, n node) (string, bool) {
	name, ok := readText(d, n)
	if _, known := sandbox.Presets[name]; !ok || known {
		return name, ok
	}
	names := slices.Sorted(maps.Keys(sandbox.Presets))
	text := "unknown preset " + hint.Quote(name)
	if near := toolformat.Closest(name, names); near != "" {
		text += ` (did you mean "` + near + `"?)`
	}
	d.wrongf(n, "%s: expected %s", text, strings.Join(names, ", "))
	return "", false
}

// policy returns the policy for a server, nil if it has no sandbox.
func (s *sandboxed) policy(server *Server) *sandbox.Policy {
	if !s.on {
		return nil
	}
	p := sandbox.Presets[s.preset].For(server.Args, server.Env)
	p.Read, p.Write = append(p.Read, s.Read...), append(p.Write, s.Write...)
	if s.network != nil {
		p.Network = *s.network
	}
	if s.Processes > 0 {
		p.Processes = s.Processes
	}
	if s.memory > 0 {
		p.Memory = int64(s.memory)
	}
	for _, paths := range [][]string{p.Read, p.Write} {
		for i := range paths {
			paths[i] = filepath.Clean(paths[i])
		}
	}
	return &p
}

// boxed is a server with a sandbox.
type boxed struct {
	n      node
	policy *sandbox.Policy
}

// checkSandboxes warns of a sandbox in which a server can change the config, and with it the sandbox, definitions of
// tools, which run commands without it, or pins and tokens.
func (c *Config) checkSandboxes(d *decoder) {
	if len(d.boxed) == 0 {
		return
	}
	own := c.Own()
	for _, b := range d.boxed {
		if path := b.policy.Changes(own); path != "" {
			d.warnf(b.n.key(), "its sandbox lets it change %s, and so this config, definitions of tools or the state of the bridge, which say what it may do: keep these elsewhere", path)
		}
	}
}

// Own returns absolute files and folders that say what tools may do, and the ways to them, for
// [sandbox.Policy.Changes]: a program that may change one of them can do whatever the user of the bridge can.
func (c *Config) Own() []string {
	all := []string{c.Dir, filepath.Join(c.Dir, filepath.Base(c.Path))}
	if state, err := file.State(""); err == nil { // without a home nothing is kept there
		all = append(all, state)
	}
	for _, d := range c.Tools {
		if d.Files == "" {
			continue
		}
		files, _ := filepath.Glob(file.Below(c.Dir, d.Files))
		folder := filepath.Dir(d.Files) // where others may appear
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(c.Dir, folder)
		}
		all = append(append(all, folder), files...)
	}
	return sandbox.Ways(all)
}

// guardPreset warns of a preset that does not find what its server is to change, which is then nothing.
func (d *decoder) guardPreset(n node, box *sandboxed, policy *sandbox.Policy) {
	preset := sandbox.Presets[box.preset]
	if policy == nil || len(policy.Write)+len(box.Read)+len(d.inside.faults) > 0 {
		return
	}
	switch {
	case preset.WritesArgs:
		d.warnf(n.key(), `its sandbox lets it change nothing: the preset %s is for existing folders that "args" names by absolute paths, each an argument of its own`, box.preset)
	case preset.WritesEnv != "":
		d.warnf(n.key(), `its sandbox lets it change nothing: the preset %s is for the folder of the file that %s in "env" names by an absolute path`, box.preset, preset.WritesEnv)
	}
}
