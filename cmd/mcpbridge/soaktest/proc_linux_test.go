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

// patience bounds each wait; only a fault makes one so long.
const patience = time.Minute

// eventually waits for a condition about processes, whose end nothing announces.
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

// mark in the environment of a process names its stage. The bridge passes it to its servers by
// its config; the supervisor, which has no environment, is recognized by its program.
const mark = "SOAKTEST_MARK"

// processes returns the command lines of the processes that have a mark or run a program, by id.
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

// usage is what a process holds of the system. Its memory is without the pages of files, which come and go with the
// parts of the program that it needs.
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
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	word, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	u.kilobytes, _ = strconv.Atoi(word)
	return u
}

func entries(dir string) int {
	list, _ := os.ReadDir(dir)
	return len(list)
}
