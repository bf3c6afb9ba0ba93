package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/launcher"
)

// hierarchy makes a folder that looks like cgroups of version 2, and one like that of a process in /proc. given are the
// controllers of each cgroup for those below it.
func hierarchy(t *testing.T, below, own string, given map[string]string) (top, proc string) {
	t.Helper()
	top, proc = t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for group, controllers := range given {
		folder := filepath.Join(top, group)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(folder, "cgroup.subtree_control"), controllers+"\n")
		write(filepath.Join(folder, "cgroup.procs"), "")
	}
	write(filepath.Join(proc, "mountinfo"), fmt.Sprintf("30 24 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"+
		"31 24 0:27 %s %s rw,nosuid shared:4 - cgroup2 cgroup2 rw\n", below, top))
	write(filepath.Join(proc, "cgroup"), "4:pids:/other\n0::"+own+"\n")
	return top, proc
}

func TestGroupsFor(t *testing.T) {
	const both = "cpu memory pids"
	for name, c := range map[string]struct {
		below, own string
		given      map[string]string
		want       string // below the mount; "none" means that there is none
	}{
		"beside itself":        {"/", "/user/app/x.scope", map[string]string{"user": both, "user/app": both, "user/app/x.scope": ""}, "user/app"},
		"in itself":            {"/", "/x", map[string]string{"": both, "x": both}, "x"},
		"one controller":       {"/", "/user/x", map[string]string{"": both, "user": "memory", "user/x": "pids"}, "none"},
		"the root":             {"/", "/", map[string]string{"": both}, ""},
		"a container's root":   {"/", "/", map[string]string{"": ""}, "none"},
		"a part is mounted":    {"/a/b", "/a/b/x", map[string]string{"": both, "x": ""}, ""},
		"outside of that part": {"/a/b", "/a/bc", map[string]string{"": both, "c": both}, "none"},
		"above the namespace":  {"/", "/../x", map[string]string{"": both}, "none"},
	} {
		top, proc := hierarchy(t, c.below, c.own, c.given)
		want := filepath.Join(top, c.want)
		if c.want == "none" {
			want = ""
		}
		if got := groupsFor(proc); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := groupsFor(t.TempDir()); got != "" {
		t.Errorf("without a mount: %q", got)
	}
}

// The limits are in a new cgroup's files, and those that are left go.
func TestNewGroup(t *testing.T) {
	top, proc := hierarchy(t, "/", "/", map[string]string{"": "memory pids"})
	left, used := filepath.Join(top, groupPrefix+"left"), filepath.Join(top, groupPrefix+"new")
	for _, folder := range []string{left, used} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(left, long, long); err != nil {
		t.Fatal(err)
	}
	g, err := newGroup(groupsFor(proc), (&Policy{Processes: 7}).groupLimits())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"pids.max": "7", "memory.max": "2147483648"} {
		if text, err := os.ReadFile(filepath.Join(string(g), name)); string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if exists(left) || !exists(used) {
		t.Errorf("left: %t, used: %t", exists(left), exists(used))
	}
}

// A program is in its cgroup from its beginning on, and what it leaves there ends with that. This needs cgroups of the
// kernel, of any controllers.
func TestJoin(t *testing.T) {
	if err := Supported(); err != nil {
		t.Skip(err)
	}
	top, below := groupsTop("/proc/self")
	own := ownGroup("/proc/self")
	if top == "" || below != "/" || own == "" {
		t.Skip("no cgroups of version 2")
	}
	g, err := newGroup(filepath.Join(top, own), nil)
	if err != nil {
		t.Skip(err)
	}
	order := launcher.Order{
		Path: "/bin/sh", Args: []string{"sh", "-c", "cat /proc/self/cgroup; sleep 1000 >/dev/null 2>&1 &"},
		Read: []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"}, Device: []string{"/dev/null"}, Group: string(g),
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: order.Arguments()}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "0::"+filepath.Join("/", own, filepath.Base(string(g)))+"\n") {
		t.Errorf("%v: %s", err, out)
	}
	if !g.populated() {
		t.Error("what it has started is not in its cgroup")
	}
	if g.end(); exists(string(g)) {
		t.Error("the cgroup is left")
	}
}
