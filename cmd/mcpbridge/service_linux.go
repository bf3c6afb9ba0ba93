package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
)

// A unit is a service of systemd for the daemon of a config, which starts with its first window.
type unit struct {
	name   string // without a suffix
	folder string // for units of the user
	place  daemon.Place
}

func runService(ctx context.Context, args []string, std streams) error {
	f := newFlags("service", "service install|uninstall|status [--config FILE] [--json]",
		"Lets systemd listen for the daemon of a config, and start it with the first client\nof mcpbridge stdio. Without it that client starts the daemon itself.", std)
	path := f.String("config", "", "the config in this `FILE` (default ./mcpbridge.json, then mcpbridge/mcpbridge.json in the user's config folder)")
	asJSON := f.Bool("json", false, "print JSON: whether units are installed, and their states")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	actions := map[string]func(*unit, context.Context) (done string, err error){
		"install": (*unit).install, "uninstall": (*unit).uninstall, "status": (*unit).status,
	}
	act := actions[f.Arg(0)]
	if act == nil || f.NArg() != 1 {
		return usagef("service: expected install, uninstall or status")
	}
	u, err := newUnit(*path)
	if err != nil {
		return err
	}
	done, err := act(u, ctx)
	switch {
	case *asJSON:
		return errors.Join(err, json.NewEncoder(std.out).Encode(u.state(ctx)))
	case err != nil:
		return err
	}
	_, err = fmt.Fprintln(std.out, done)
	return err
}

func newUnit(path string) (*unit, error) {
	path, err := findConfig("service", path)
	if err != nil {
		return nil, err
	}
	place, err := daemon.PlaceOf(path)
	if err != nil {
		return nil, &exitError{exitUsage, err.Error()}
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return nil, err
	}
	return &unit{"mcpbridge-" + place.Key(), filepath.Join(folder, "systemd", "user"), place}, nil
}

func (u *unit) socket() string  { return u.name + ".socket" }
func (u *unit) service() string { return u.name + ".service" }

// texts returns the unit files by their names.
func (u *unit) texts(executable string) map[string]string {
	about := "Description=mcpbridge for " + escape(u.place.Config)
	return map[string]string{
		u.socket(): "[Unit]\n" + about + "\n\n[Socket]\nListenStream=" + escape(u.place.Socket()) +
			"\nSocketMode=0600\nDirectoryMode=0700\n\n[Install]\nWantedBy=sockets.target\n",
		u.service(): "[Unit]\n" + about + "\n\n[Service]\nExecStart=" + quoted(executable) + " daemon --config " + quoted(u.place.Named) + "\nKillMode=mixed\n",
	}
}

// escape writes text for a unit file, in which % begins a specifier.
func escape(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// quoted writes an argument of a command, in which $ begins a variable.
func quoted(arg string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", "$$", "%", "%%").Replace(arg) + `"`
}

func (u *unit) install(ctx context.Context) (done string, err error) {
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	for name, text := range u.texts(executable) {
		path := filepath.Join(u.folder, name)
		if err := file.Update(path, func([]byte) ([]byte, error) { return []byte(text), nil }, nil); err != nil {
			return "", namedError(path, err)
		}
	}
	if err := systemctl(ctx, "daemon-reload"); err != nil { // there is no systemd that could use them
		return "", errors.Join(err, u.remove())
	}
	if err := u.endDaemon(ctx); err != nil { // systemd has to have the socket
		return "", err
	}
	if err := systemctl(ctx, "enable", "--now", u.socket()); err != nil {
		return "", err
	}
	return fmt.Sprintf("systemd listens for %s (%s)", u.place.Config, u.socket()), nil
}

// endDaemon ends a daemon that nobody but a window has started.
func (u *unit) endDaemon(ctx context.Context) error {
	conn, err := daemon.Dial(ctx, u.place, &daemon.Hello{Command: &daemon.Command{Name: "stop"}})
	if errors.Is(err, daemon.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := eachLine(ctx, conn, func([]byte) error { return nil }); err != nil {
		return err
	}
	return awaitEnd(ctx, conn.PID)
}

func (u *unit) uninstall(ctx context.Context) (done string, err error) {
	if !u.installed() {
		return "no service is installed for " + u.place.Config, nil
	}
	failed := errors.Join(systemctl(ctx, "disable", "--now", u.socket()), systemctl(ctx, "stop", u.service()))
	if err := u.remove(); err != nil {
		return "", err
	}
	if failed = errors.Join(failed, systemctl(ctx, "daemon-reload")); failed != nil {
		return "", failed
	}
	return fmt.Sprintf("removed %s and %s", u.socket(), u.service()), nil
}

// remove removes the unit files.
func (u *unit) remove() error {
	for _, name := range []string{u.socket(), u.service()} {
		if err := os.Remove(filepath.Join(u.folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (u *unit) status(ctx context.Context) (text string, err error) {
	st := u.state(ctx)
	if !st.Installed {
		return "", &exitError{exitFailed, "no service is installed for " + u.place.Config + " (mcpbridge service install)"}
	}
	text = fmt.Sprintf("%s: %s\n%s: %s", u.socket(), st.Socket, u.service(), st.Service)
	if st.Socket != "active" {
		text += "\nsystemd does not listen (mcpbridge service install makes it)"
	}
	return text, nil
}

// unitState is a unit, as service --json prints it.
type unitState struct {
	Config    string `json:"config"`
	Unit      string `json:"unit"` // without a suffix
	Installed bool   `json:"installed"`
	Socket    string `json:"socket,omitempty"`  // active, inactive, failed, as systemctl has it, or unknown
	Service   string `json:"service,omitempty"` // the same
}

func (u *unit) state(ctx context.Context) unitState {
	st := unitState{Config: u.place.Config, Unit: u.name, Installed: u.installed()}
	if st.Installed {
		out, _ := exec.CommandContext(ctx, "systemctl", "--user", "is-active", u.socket(), u.service()).Output()
		states := append(strings.Fields(string(out)), "unknown", "unknown")
		st.Socket, st.Service = states[0], states[1]
	}
	return st
}

func (u *unit) installed() bool {
	_, err := os.Stat(filepath.Join(u.folder, u.socket()))
	return err == nil
}

// systemctl runs systemctl for the user. The error has what it says.
func systemctl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl --user %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
