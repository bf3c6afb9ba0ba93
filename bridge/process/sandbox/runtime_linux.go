package sandbox

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// system returns the files of the system that programs need and that tell nothing of its users.
func (p *Policy) system() []string {
	if p.Network {
		return slices.Concat(systemFiles, networkFiles, links(networkFiles))
	}
	return systemFiles
}

var (
	systemFiles = strings.Fields(`/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store
		/etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/ld.so.preload /etc/alternatives
		/etc/ssl/certs /etc/ssl/openssl.cnf /etc/pki/tls/certs /etc/pki/ca-trust/extracted /etc/pki/tls/openssl.cnf /etc/ca-certificates /etc/ca-certificates.conf
		/etc/crypto-policies /etc/localtime /etc/timezone /etc/locale.alias /etc/locale.conf /etc/mime.types /etc/os-release /etc/passwd /etc/group /etc/nsswitch.conf
		/etc/gitconfig /etc/npmrc /etc/python3 /etc/magic
		/proc/self /proc/thread-self /proc/cpuinfo /proc/meminfo /proc/stat /proc/uptime /proc/version /proc/loadavg /proc/filesystems
		/proc/sys/kernel/osrelease /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max /proc/sys/vm/overcommit_memory /proc/sys/vm/max_map_count
		/sys/devices/system/cpu /sys/kernel/mm/transparent_hugepage`)
	networkFiles = strings.Fields(`/etc/resolv.conf /etc/hosts /etc/host.conf /etc/gai.conf /etc/services /etc/protocols /etc/networks`)
)

// links returns what those of the files are that are symbolic links.
func links(files []string) (all []string) {
	for _, file := range files {
		if target, err := filepath.EvalSymlinks(file); err == nil && target != file {
			all = append(all, target)
		}
	}
	return all
}

// Needs returns the files that the program of a command is made of, and which every Policy lets it read:
// its own, with those of its interpreter, the installation that it is a part of, and its packages.
// cmd.Path is absolute. Those that do not exist have no effect.
func Needs(cmd *exec.Cmd) []string {
	n := needed{path: variable(cmd.Env, "PATH")}
	own, _ := os.UserHomeDir()
	for _, home := range []string{own, variable(cmd.Env, "HOME")} {
		if filepath.IsAbs(home) {
			n.homes = append(n.homes, filepath.Clean(home))
		}
	}
	dir, _ := filepath.Abs(cmd.Dir)
	n.program(cmd.Path, 0)
	for _, arg := range cmd.Args[1:] {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		if isInterpreter(cmd.Path) {
			n.script(arg, dir)
		}
		break
	}
	for _, home := range n.homes {
		n.files = append(n.files, filepath.Join(home, ".local/share/uv/python")) // where uv keeps interpreters
	}
	slices.Sort(n.files)
	return slices.Compact(n.files)
}

// needed collects files.
type needed struct {
	homes []string // of the user, and what HOME is for the program
	path  string   // PATH of the program
	files []string
}

// program adds a program, by its name and by what that is a link to.
func (n *needed) program(path string, depth int) {
	const deepest = 8 // of links and interpreters
	if depth > deepest {
		return
	}
	n.files = append(n.files, path)
	n.installation(path)
	if target, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		n.program(target, depth+1)
		return
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path { // a folder is a link
		n.program(real, depth+1)
		return
	}
	if interpreter := n.interpreter(path); interpreter != "" {
		n.program(interpreter, depth+1)
	}
}

// installation adds the installation that a program is a part of.
func (n *needed) installation(path string) {
	if modules, ok := packages(path); ok {
		n.files = append(n.files, modules)
	}
	dir := prefix(filepath.Dir(path))
	switch {
	case dir == "" || n.holdsHome(dir):
	case filepath.Base(dir) == ".local" && n.holdsHome(filepath.Dir(dir)):
		n.files = append(n.files, filepath.Join(dir, "lib"))
	default:
		n.files = append(n.files, dir)
		if home := pyvenv(dir); home != "" { // a virtual environment, whose modules are elsewhere
			n.installation(filepath.Join(home, "python"))
		}
	}
}

// prefix returns the folder of an installation by that of its programs: what is above bin.
func prefix(bin string) string {
	if base := filepath.Base(bin); base == "bin" || base == "sbin" || base == "shims" || base == ".bin" {
		return filepath.Dir(bin)
	}
	return ""
}

// holdsHome reports whether the folder is a user's home or above one: no program needs all of that.
func (n *needed) holdsHome(dir string) bool {
	return dir == "/" || dir == "/root" || filepath.Dir(dir) == "/home" || slices.ContainsFunc(n.homes, func(home string) bool {
		return home == dir || strings.HasPrefix(home, dir+"/")
	})
}

// packages returns the outermost node_modules that a file is in.
func packages(path string) (folder string, ok bool) {
	before, _, ok := strings.Cut(path, "/node_modules/")
	return before + "/node_modules", ok
}

// pyvenv returns the folder of the interpreter of a virtual environment, "" for another folder.
func pyvenv(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, "pyvenv.cfg"))
	if err != nil {
		return ""
	}
	if m := pyvenvHome().FindSubmatch(data); m != nil {
		return string(m[1])
	}
	return ""
}

var pyvenvHome = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^home\s*=\s*(/.*\S)`) })

// interpreter returns the program that the first line of a script names, "" without one.
func (n *needed) interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const longest = 256 // that the kernel reads
	line, _ := bufio.NewReader(io.LimitReader(f, longest)).ReadString('\n')
	words, isScript := strings.CutPrefix(line, "#!")
	fields := strings.Fields(words)
	switch {
	case !isScript || len(fields) == 0:
		return ""
	case filepath.Base(fields[0]) != "env":
		return fields[0]
	}
	for _, word := range fields[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return n.lookup(word)
		}
	}
	return ""
}

// lookup returns the path of a program in PATH, "" if there is none.
func (n *needed) lookup(name string) string {
	for _, dir := range filepath.SplitList(n.path) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(dir) {
			return found
		}
	}
	return ""
}

// isInterpreter reports whether the first argument of a program that is not an option is a script.
func isInterpreter(path string) bool {
	name := strings.TrimRight(filepath.Base(path), "0123456789.")
	return slices.Contains(strings.Fields("node nodejs bun deno python pypy ruby perl php sh bash dash zsh tsx ts-node"), name)
}

// script adds a script with its packages: what is in the nearest folder that one manages, else its own.
func (n *needed) script(path, dir string) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil || n.holdsHome(path) {
		return
	}
	n.files = append(n.files, path)
	if modules, ok := packages(path); ok {
		n.files = append(n.files, modules)
		return
	}
	for folder := filepath.Dir(path); !n.holdsHome(folder); folder = filepath.Dir(folder) {
		for _, mark := range []string{"package.json", "pyproject.toml", "node_modules", "requirements.txt", "pyvenv.cfg"} {
			if _, err := os.Stat(filepath.Join(folder, mark)); err == nil {
				n.files = append(n.files, folder)
				return
			}
		}
	}
	if folder := filepath.Dir(path); !n.holdsHome(folder) {
		n.files = append(n.files, folder)
	}
}

// variable returns the value of a variable, of which the last counts.
func variable(env []string, name string) (value string) {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}
