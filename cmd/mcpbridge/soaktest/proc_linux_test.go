package soaktest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait; none is meant to be long.
const patience = 30 * time.Second

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, ok func() bool, complaint func() string) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.After(patience); !ok(); {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal(complaint())
		}
	}
}

// mark in the environment of a process tells whose it is. The bridge hands it to its
// servers by config; its supervisor, which has no environment, is known by the program.
const mark = "SOAKTEST_MARK"

// processes are those that have a mark or run a program, by their ids, as ps would show
// them.
func processes(program, id string) map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		exe, _ := os.Readlink(dir + "/exe")
		env, _ := os.ReadFile(dir + "/environ")
		if exe != program && !bytes.Contains(env, []byte(mark+"="+id+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// usage is what a process holds.
type usage struct{ children, descriptors, threads, kilobytes int }

func usageOf(pid int) usage {
	dir := fmt.Sprintf("/proc/%d/", pid)
	u := usage{descriptors: entries(dir + "fd"), threads: entries(dir + "task")}
	kids, _ := filepath.Glob(dir + "task/*/children")
	for _, k := range kids {
		text, _ := os.ReadFile(k)
		u.children += len(strings.Fields(string(text)))
	}
	status, _ := os.ReadFile(dir + "status")
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	word, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	u.kilobytes, _ = strconv.Atoi(word)
	return u
}

func entries(dir string) int {
	list, _ := os.ReadDir(dir)
	return len(list)
}
