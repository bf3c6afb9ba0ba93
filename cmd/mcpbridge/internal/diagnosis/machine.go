package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
)

// probeTime bounds each program that is run to find something out.
const probeTime = 3 * time.Second

// A Machine is the computer that servers run on. Its methods may be called from many goroutines.
type Machine struct {
	desktop func() string // the PATH of programs that the desktop starts; "" if it is the shell's
	node    func(ctx context.Context, path string, env []string) string

	mu       sync.Mutex // guards what follows
	versions map[string]string
}

// This returns the machine that the program runs on.
func This() *Machine {
	return &Machine{desktop: sync.OnceValue(desktopPath), node: nodeVersion, versions: map[string]string{}}
}

// A Command is how a server is started.
type Command struct {
	Path string
	Args []string
	Env  map[string]string // added to the variables that a server gets
	Dir  string
}

func (c *Command) process() process.Command {
	return process.Command{Path: c.Path, Args: c.Args, Env: process.Environ(c.Env), Dir: c.Dir}
}

// program returns the name of the command's program, such as npx.
func (c *Command) program() string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(c.Path), ".exe"), ".cmd")
}

// ShellOnly returns the folder in which the shell's PATH finds a command that the desktop's does not, or
// finds elsewhere; "" if both find the same. Editors that the desktop starts have its PATH, as they do
// not read the profile of a shell.
func (m *Machine) ShellOnly(c *Command) (folder string) {
	path := m.desktop()
	if path == "" || c.Env["PATH"] != "" || filepath.Base(c.Path) != c.Path {
		return ""
	}
	found, err := c.process().Lookup()
	if err != nil {
		return ""
	}
	other := *c
	other.Env = map[string]string{"PATH": path}
	if there, err := other.process().Lookup(); err == nil && there == found {
		return ""
	}
	return filepath.Dir(found)
}

// usualPath is what the desktop of a Linux system has if nobody tells.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// desktopPath returns the PATH of programs that the desktop starts; "" if it is that of shells.
func desktopPath() string {
	switch runtime.GOOS {
	case "windows":
		return ""
	case "darwin":
		return "/usr/bin:/bin:/usr/sbin:/sbin" // of launchd
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	variables, err := exec.CommandContext(ctx, "systemctl", "--user", "show-environment").Output()
	if err != nil {
		return usualPath
	}
	for line := range strings.Lines(string(variables)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "PATH="); ok {
			return path
		}
	}
	return usualPath
}

// oldestNode is the oldest major version of Node.js that the MCP SDK for it supports.
const oldestNode = 18

// Node returns the version of Node.js that a command runs on, such as "v22.1.0", and whether that is too
// old for most servers. It is "" for a command of another kind.
func (m *Machine) Node(ctx context.Context, c *Command) (version string, old bool) {
	if !slices.Contains([]string{"node", "npx", "npm", "pnpm", "yarn"}, c.program()) {
		return "", false
	}
	node := c.process()
	node.Path, node.Args = "node", nil
	path, err := node.Lookup()
	if err != nil {
		return "", false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	version, known := m.versions[path]
	if !known {
		version = m.node(ctx, path, node.Env)
		m.versions[path] = version
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	n, err := strconv.Atoi(major)
	return version, err == nil && n < oldestNode
}

// nodeVersion asks an executable of Node.js for its version.
func nodeVersion(ctx context.Context, path string, env []string) string {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = env
	out, err := cmd.Output()
	if version := strings.TrimSpace(string(out)); err == nil && strings.HasPrefix(version, "v") && len(version) < 40 {
		return version
	}
	return ""
}

// TooOld says that a version of Node.js is too old, and what to do.
func TooOld(version string) string {
	return fmt.Sprintf("Node.js %s is too old for most servers: install %d or later from https://nodejs.org", version, oldestNode)
}

// InUse says that an address to listen on is in use; "" means that it is free.
func InUse(address string) string {
	l, err := net.Listen("tcp", address)
	if err == nil {
		l.Close()
		return ""
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Sprintf("listen: %s is in use, perhaps by a serve that runs: another one would not start there", address)
	}
	return fmt.Sprintf("listen: %v", err)
}

// WithPath returns the advice for servers whose programs, by folder, only the shell's PATH has.
func WithPath(programs, folders []string) string {
	return fmt.Sprintf(`%s: only the PATH of your shell has it. An editor that the desktop starts does not read the shell's profile: `+
		`give the server "env": {"PATH": "%s%c${PATH}"}, or start the editor in a terminal`,
		strings.Join(programs, ", "), strings.Join(folders, string(os.PathListSeparator)), os.PathListSeparator)
}
