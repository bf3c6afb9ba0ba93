package sandbox_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
)

// mode in the environment makes the test binary one of the programs below.
const mode = "SANDBOX_TEST_MODE"

func TestMain(m *testing.M) {
	switch kind, rest, _ := strings.Cut(os.Getenv(mode), "\n"); kind {
	case "":
		os.Exit(m.Run())
	case "hostile", "allowed":
		words := strings.Split(rest, "\n")
		parent, _ := strconv.Atoi(words[2])
		h := &hostile{home: words[0], work: words[1], parent: parent, tcp: words[3], udp: words[4], unix: words[5], pipe: words[6], gram: words[7]}
		if kind == "hostile" {
			h.try()
		} else if err := h.allowed(); err != nil {
			fmt.Println(err)
		}
	case "bomb":
		bomb()
	case "hog":
		hog()
	case "old kernel":
		if err := forget(); err != nil {
			fmt.Println(err)
			return
		}
		_, err := process.Start(process.Command{Path: "/bin/true", Sandbox: &sandbox.Policy{}})
		fmt.Print(err)
	case "bridge": // of another user
		p, err := process.Start(process.Command{Path: os.Args[0], Env: []string{mode + "=bomb"}, Sandbox: &sandbox.Policy{Processes: 20}})
		if err != nil {
			fmt.Println(err)
			return
		}
		line, _ := bufio.NewReader(p.Stdout).ReadString('\n')
		p.Stop()
		fmt.Print(line)
	}
}

func supported(t *testing.T) {
	t.Helper()
	if err := sandbox.Supported(); err != nil {
		t.Skip(err)
	}
}

// run runs the test binary as a program and returns what it prints.
func run(t *testing.T, what string, policy *sandbox.Policy, dir string) (output, tail string, ended error) {
	t.Helper()
	env := []string{mode + "=" + what, "HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), "GORACE=halt_on_error=0"}
	p, err := process.Start(process.Command{Path: os.Args[0], Env: env, Sandbox: policy, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	out, err := io.ReadAll(p.Stdout)
	if err != nil {
		t.Error(err)
	}
	<-p.Done()
	return string(out), p.Tail(), p.Err()
}

// newHostile makes what a hostile program looks for: a home with secrets, and sockets.
func newHostile(t *testing.T) (home, work, args string) {
	home = t.TempDir()
	work = filepath.Join(home, "work")
	for _, dir := range []string{filepath.Join(home, ".ssh"), work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{".ssh/id_rsa", "notes", "remove", "move"} {
		if err := os.WriteFile(filepath.Join(home, file), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sockets, err := os.MkdirTemp("", "s") // whose names may not be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	abstract := "@" + sockets
	words := []string{home, work, strconv.Itoa(os.Getpid())}
	for _, listen := range [][2]string{{"tcp", "127.0.0.1:0"}, {"udp", "127.0.0.1:0"}, {"unix", filepath.Join(sockets, "s")}, {"unix", abstract}, {"unixgram", filepath.Join(sockets, "g")}} {
		var closer io.Closer
		var address net.Addr
		if strings.HasPrefix(listen[0], "u") && listen[0] != "unix" {
			c, err := net.ListenPacket(listen[0], listen[1])
			if err != nil {
				t.Fatal(err)
			}
			closer, address = c, c.LocalAddr()
		} else {
			l, err := net.Listen(listen[0], listen[1])
			if err != nil {
				t.Fatal(err)
			}
			closer, address = l, l.Addr()
		}
		t.Cleanup(func() { closer.Close() })
		words = append(words, address.String())
	}
	return home, work, strings.Join(words, "\n")
}

// A hostile program is stopped at each attempt, and without a sandbox at none.
func TestHostile(t *testing.T) {
	supported(t)
	for _, sandboxed := range []bool{false, true} {
		home, work, args := newHostile(t)
		var policy *sandbox.Policy
		if sandboxed {
			policy = &sandbox.Policy{Write: []string{work}}
		}
		out, tail, ended := run(t, "hostile\n"+args, policy, work)
		if ended != nil {
			t.Fatalf("%v: %s\n%s", ended, tail, out)
		}
		results := map[string]string{}
		for line := range strings.Lines(out) {
			name, result, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			results[name] = result
		}
		for name := range attempts {
			result, tried := results[name]
			t.Logf("sandboxed %t: %s: %s", sandboxed, name, result)
			switch done := strings.HasPrefix(result, "DONE"); {
			case !tried, sandboxed && done:
				t.Errorf("it could %s: %q", name, result)
			case !sandboxed && !done && !strings.HasSuffix(name, "!") && name != "use inherited files":
				t.Errorf("without a sandbox it could not %s: %s", name, result)
			}
		}
		if data, err := os.ReadFile(filepath.Join(home, "notes")); sandboxed && (err != nil || string(data) != "secret") {
			t.Errorf("notes: %q, %v", data, err)
		}
	}
}

// What a server needs works, and its folder for temporary files goes with it.
func TestAllowed(t *testing.T) {
	supported(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, work, args := newHostile(t)
	out, tail, ended := run(t, "allowed\n"+args, &sandbox.Policy{Write: []string{work}}, work)
	if out != "" || ended != nil {
		t.Errorf("%s %v %s", out, ended, tail)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "mcpbridge-sandbox-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestMemory(t *testing.T) {
	supported(t)
	out, tail, ended := run(t, "hog", &sandbox.Policy{Memory: 256 << 20}, "")
	if strings.Contains(out, "DONE") || ended == nil {
		t.Errorf("%s %v %s", out, ended, tail)
	}
}

// A program that starts processes without end gets to its limit, and all end with it. Root has no such
// limit: the test becomes another user.
func TestProcesses(t *testing.T) {
	supported(t)
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "test")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = []string{mode + "=bridge"}
	cmd.Stderr = os.Stderr
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	count, why, _ := strings.Cut(string(out), "\t")
	if n, err := strconv.Atoi(count); err != nil || n > 60 || !strings.Contains(why, "temporarily unavailable") {
		t.Errorf("%s", out)
	}
}

// forget makes this process one of a kernel without Landlock.
func forget() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_LANDLOCK_CREATE_RULESET},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return raw(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
}

// Without Landlock nothing starts, and the error names it.
func TestOldKernel(t *testing.T) {
	if out, tail, ended := run(t, "old kernel", nil, ""); !strings.Contains(out, "sandbox: this kernel has no Landlock") || ended != nil {
		t.Errorf("%s %v %s", out, ended, tail)
	}
}

func TestErrors(t *testing.T) {
	supported(t)
	folder := t.TempDir()
	npx := filepath.Join(folder, "npx")
	if err := os.WriteFile(npx, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		policy sandbox.Policy
		want   string
	}{
		{os.Args[0], sandbox.Policy{Write: []string{"/no/such/folder"}}, "sandbox: write: /no/such/folder: no such file or directory"},
		{npx, sandbox.Policy{}, `sandbox: npx fetches its package, which needs "network": true: install it (npm install -g) and name its program as the command`},
	} {
		p, err := process.Start(process.Command{Path: c.path, Sandbox: &c.policy})
		if err == nil {
			p.Stop()
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%v", err)
		}
	}
}
