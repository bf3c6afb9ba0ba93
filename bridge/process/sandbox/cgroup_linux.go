package sandbox

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A cgroup is the folder of a control group (version 2) that bounds all processes of a sandbox together.
type cgroup string

// groupPrefix begins the names of the cgroups of sandboxes.
const groupPrefix = "mcpbridge-sandbox-"

// groupsFor returns the folder in which a process can have cgroups that bound processes and memory: its own one, or the one
// above that, beside it; "" without one. proc is the process's folder in /proc. Nothing is set up for that, as it is another's
// to give: systemd does for services and programs of a user.
func groupsFor(proc string) string {
	top, below := groupsTop(proc)
	own := ownGroup(proc)
	if top == "" || !strings.HasPrefix(own+"/", strings.TrimSuffix(below, "/")+"/") {
		return ""
	}
	own = filepath.Join(top, strings.TrimPrefix(own, strings.TrimSuffix(below, "/")))
	for _, folder := range []string{own, filepath.Dir(own)} {
		if folder != top && !strings.HasPrefix(folder, top+"/") {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(folder, "cgroup.subtree_control"))
		given := strings.Fields(string(text))
		if slices.Contains(given, "memory") && slices.Contains(given, "pids") &&
			unix.Access(folder, unix.W_OK) == nil && unix.Access(filepath.Join(folder, "cgroup.procs"), unix.W_OK) == nil {
			return folder
		}
	}
	return ""
}

// groupsTop returns where cgroups of version 2 are mounted, and which one of them that is.
func groupsTop(proc string) (top, below string) {
	text, _ := os.ReadFile(filepath.Join(proc, "mountinfo"))
	for line := range strings.Lines(string(text)) {
		at, system, _ := strings.Cut(line, " - ")
		fields := strings.Fields(at)
		if strings.HasPrefix(system, "cgroup2 ") && len(fields) > 4 {
			return fields[4], fields[3]
		}
	}
	return "", ""
}

// ownGroup returns the path of a process's cgroup.
func ownGroup(proc string) string {
	text, _ := os.ReadFile(filepath.Join(proc, "cgroup"))
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(path, "\n")
		}
	}
	return ""
}

// newGroup makes a cgroup in a folder, with limits by the names of their files.
func newGroup(folder string, limits map[string]string) (cgroup, error) {
	clearGroups(folder)
	g := cgroup(filepath.Join(folder, groupPrefix+rand.Text()))
	if err := os.Mkdir(string(g), 0o755); err != nil {
		return "", err
	}
	for name, limit := range limits {
		if err := os.WriteFile(filepath.Join(string(g), name), []byte(limit), 0o644); err != nil {
			_ = os.Remove(string(g))
			return "", err
		}
	}
	// Without swap, where there is some: else what does not fit would go there.
	if err := g.set("memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(string(g))
		return "", err
	}
	return g, nil
}

// set writes into a file that is there.
func (g cgroup) set(name, text string) error {
	f, err := os.OpenFile(filepath.Join(string(g), name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// unusedTime is the age from which on a cgroup without processes is one of a bridge that was killed.
const unusedTime = time.Minute

// clearGroups removes the cgroups that bridges have left which were killed.
func clearGroups(folder string) {
	all, _ := filepath.Glob(filepath.Join(folder, groupPrefix+"*"))
	for _, left := range all {
		if info, err := os.Stat(left); err == nil && time.Since(info.ModTime()) > unusedTime {
			_ = os.Remove(left) // which fails while it has processes
		}
	}
}

// killWait bounds the wait for processes that were killed.
const killWait = time.Second

// end ends the processes that are left in the cgroup, and removes it.
func (g cgroup) end() {
	_ = g.set("cgroup.kill", "1")
	for deadline := time.Now().Add(killWait); g.populated() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // its file cannot be waited for by the runtime's poller
	}
	_ = os.Remove(string(g))
}

func (g cgroup) populated() bool {
	text, _ := os.ReadFile(filepath.Join(string(g), "cgroup.events"))
	return bytes.Contains(text, []byte("populated 1"))
}

// group returns the cgroup of a sandbox; "" if this process can have none.
func (p *Policy) group() (cgroup, error) {
	folder := groupsFor("/proc/self")
	if folder == "" {
		return "", nil
	}
	return newGroup(folder, p.groupLimits())
}

func (p *Policy) groupLimits() map[string]string {
	return map[string]string{"pids.max": strconv.Itoa(p.processes()), "memory.max": strconv.FormatInt(p.memory(), 10)}
}
