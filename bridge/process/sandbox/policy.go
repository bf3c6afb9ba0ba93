package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
)

// A Policy says what a program may do. The zero Policy lets it read its own files and those of the
// system that programs need, and write only to a folder for temporary files of its own.
type Policy struct {
	Read      []string // absolute paths of files, and of folders with all below, that it may read
	Write     []string // … that it may read and change
	Network   bool     // IPv4 and IPv6, to any host; Unix sockets are never to be had
	Processes int      // most processes and threads; 0 means DefaultProcesses
	Memory    int64    // most bytes of memory, of all processes where a cgroup bounds them, else of each; 0 means DefaultMemory
}

func (p *Policy) processes() int { return cmp.Or(p.Processes, DefaultProcesses) }
func (p *Policy) memory() int64  { return cmp.Or(p.Memory, DefaultMemory) }

// Changes returns the first path of Write through which the program may change one of ways, the paths that [Ways]
// returns; "" if there is none.
func (p *Policy) Changes(ways []string) string {
	for _, written := range p.Write {
		folder := written
		if real, err := filepath.EvalSymlinks(written); err == nil {
			folder = real
		}
		for _, path := range ways {
			if below, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(below) {
				return written
			}
		}
	}
	return ""
}

// Ways returns the paths, and each again for every symbolic link on the way to it, with the target in place of the
// link: whoever may change one of these may change what a path leads to.
func Ways(paths []string) (all []string) {
	for _, path := range paths {
		for links := 0; path != "" && links < maxLinks; links++ {
			all = append(all, path)
			path = followed(path)
		}
	}
	return all
}

// maxLinks bounds the symbolic links on the way to a path, which may lead in a circle.
const maxLinks = 255

// followed returns a path with the target of the first symbolic link in it in place of that; "" if it has none.
func followed(path string) string {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && !os.IsPathSeparator(path[i]) {
			continue
		}
		target, err := os.Readlink(path[:i])
		if err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path[:i]), target)
		}
		return filepath.Join(target, path[i:])
	}
	return ""
}

// The defaults of a Policy.
const (
	DefaultProcesses = 256
	DefaultMemory    = 2 << 30
)

// A Preset makes the Policy of a well-known server from its command.
type Preset struct {
	Policy
	WritesArgs bool     // the folders among its arguments are those that it may change
	WritesEnv  string   // this variable names a file, which it may change, in its folder
	Settings   []string // files below the home folder that it may read if there are any
}

// Presets are those of MCP's reference servers, by name.
var Presets = map[string]Preset{
	"fetch":      {Policy: Policy{Network: true, Processes: 128, Memory: 1 << 30}},
	"filesystem": {Policy: Policy{Processes: 64, Memory: 1 << 30}, WritesArgs: true},
	"git": {Policy: Policy{Processes: 128, Memory: 1 << 30}, WritesArgs: true,
		Settings: []string{".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"}},
	"memory": {Policy: Policy{Processes: 64, Memory: 1 << 30}, WritesEnv: "MEMORY_FILE_PATH"},
	"time":   {Policy: Policy{Processes: 64, Memory: 1 << 30}},
}

// For returns the policy for a command. What it may change must exist by then.
func (p Preset) For(args []string, env map[string]string) Policy {
	policy := p.Policy
	for _, arg := range args {
		if info, err := os.Stat(arg); p.WritesArgs && filepath.IsAbs(arg) && err == nil && info.IsDir() {
			policy.Write = append(policy.Write, arg)
		}
	}
	if file := env[p.WritesEnv]; p.WritesEnv != "" && filepath.IsAbs(file) {
		policy.Write = append(policy.Write, filepath.Dir(file))
	}
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range p.Settings {
			if file := filepath.Join(home, name); exists(file) {
				policy.Read = append(policy.Read, file)
			}
		}
	}
	return policy
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
