package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/launcher"
)

// Supported reports why this system has no sandboxes, nil if it has.
func Supported() error {
	switch abi, err := launcher.ABI(); {
	case errors.Is(err, unix.ENOSYS):
		return errors.New(`this kernel has no Landlock, or a container forbids it (Linux 6.2 or later has it, with CONFIG_SECURITY_LANDLOCK)`)
	case errors.Is(err, unix.EOPNOTSUPP):
		return errors.New(`the Landlock of this kernel is off: add landlock to lsm= on the kernel's command line`)
	case err != nil:
		return fmt.Errorf("the system refuses Landlock: %w", err)
	case abi < launcher.MinimalABI:
		return fmt.Errorf("the Landlock of this kernel is too old (ABI %d): Linux 6.2 or later has ABI %d", abi, launcher.MinimalABI)
	}
	return nil
}

// Enter changes a command that has yet to be started so that it starts in a sandbox: cmd.Path is
// absolute and cmd.Env complete. leave removes its folder for temporary files; it is called after the
// end of all of its processes. The error names what the system lacks, or what does not exist.
func (p *Policy) Enter(cmd *exec.Cmd) (leave func(), err error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	for _, grant := range []struct {
		key   string
		paths []string
	}{{"read", p.Read}, {"write", p.Write}} {
		for _, path := range grant.paths {
			if _, err := os.Stat(path); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", grant.key, path, cause(err))
			}
		}
	}
	if how, fetches := fetchers[filepath.Base(cmd.Path)]; fetches && !p.Network {
		return nil, fmt.Errorf(`%s fetches its package, which needs "network": true: install it (%s) and name its program as the command`, filepath.Base(cmd.Path), how)
	}
	temp, err := os.MkdirTemp("", "mcpbridge-sandbox-")
	if err != nil {
		return nil, fmt.Errorf("a folder for temporary files: %w", err)
	}
	order := launcher.Order{
		Path: cmd.Path, Args: cmd.Args,
		Read:    slices.Concat(p.system(), Needs(cmd), p.Read),
		Write:   append([]string{temp}, p.Write...),
		Device:  []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"},
		Network: p.Network, Metadata: len(p.Write) > 0,
	}
	group, err := p.bound(&order)
	if err != nil {
		_ = os.RemoveAll(temp)
		return nil, err
	}
	cmd.Env = slices.DeleteFunc(cmd.Env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "TMPDIR" || name == "TMP" || name == "TEMP"
	})
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	if _, fetches := fetchers[filepath.Base(cmd.Path)]; fetches {
		order.Metadata = true // of what they unpack
		for name, dir := range caches {
			cmd.Env = append(cmd.Env, name+"="+filepath.Join(temp, dir))
		}
	}
	// Also when the file of this program was replaced or removed.
	cmd.Path, cmd.Args = "/proc/self/exe", order.Arguments()
	return func() {
		if group != "" {
			group.end()
		}
		_ = os.RemoveAll(temp)
	}, nil
}

// bound bounds processes and memory, by a cgroup where there can be one, else by limits of resources.
func (p *Policy) bound(order *launcher.Order) (cgroup, error) {
	group, err := p.group()
	switch {
	case err != nil:
		return "", fmt.Errorf("a cgroup: %w", err)
	case group != "":
		order.Group = string(group)
		return group, nil
	}
	order.Memory = uint64(p.memory())
	if os.Getuid() != 0 { // which has no such limit
		order.Processes = uint64(running() + p.processes())
	}
	return "", nil
}

// fetchers are programs that run one which they fetch, with what installs that in their place. What they
// have kept they do not run without writing there, and who may write there plants programs for others.
var fetchers = map[string]string{
	"npx": "npm install -g", "bunx": "bun install -g", "uvx": "uv tool install", "pipx": "pipx install",
}

// caches are the variables that name the folders of what fetchers keep.
var caches = map[string]string{
	"npm_config_cache": "npm", "BUN_INSTALL_CACHE_DIR": "bun", "UV_CACHE_DIR": "uv", "UV_TOOL_DIR": "uv-tools", "PIPX_HOME": "pipx",
}

// cause is an error without the path, which is told by its side.
func cause(err error) error {
	if pathError := (*os.PathError)(nil); errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// running returns how many threads of this user there are: the limit on processes counts all of them.
func running() (threads int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		var stat unix.Stat_t
		if unix.Stat("/proc/"+entry.Name(), &stat) != nil || int(stat.Uid) != os.Getuid() {
			continue
		}
		line, _ := os.ReadFile("/proc/" + entry.Name() + "/stat")
		// The name of the program, in parentheses, may have any character.
		fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
		const count = 17
		if len(fields) > count {
			n, _ := strconv.Atoi(string(fields[count]))
			threads += n
		}
	}
	return threads
}

// String says on one line what is enforced on this system: "read 2 folders, write 1, no network, …;
// Landlock ABI 6, seccomp".
func (p *Policy) String() string {
	abi, err := launcher.ABI()
	if err != nil {
		return "not possible here"
	}
	network := "no network"
	if p.Network {
		network = "with network"
	}
	bounds := fmt.Sprintf("%d processes and %d MiB of memory by a cgroup", p.processes(), p.memory()>>20)
	if groupsFor("/proc/self") == "" {
		bounds = fmt.Sprintf("%d processes by rlimit, %d MiB of memory a process by rlimit", p.processes(), p.memory()>>20)
		if os.Getuid() == 0 {
			bounds = fmt.Sprintf("processes not bounded, as root, %d MiB of memory a process by rlimit", p.memory()>>20)
		}
	}
	gap := ""
	if abi < launcher.ScopeABI {
		gap = "; signals to other processes are not stopped (Linux 6.12 would)"
	}
	return fmt.Sprintf("read %s, write %s, %s, %s; Landlock ABI %d, seccomp%s", list(p.Read), list(p.Write), network, bounds, abi, gap)
}

func list(paths []string) string {
	if len(paths) == 0 {
		return "nothing"
	}
	return strings.Join(paths, " ")
}
