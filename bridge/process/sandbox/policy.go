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

// Changes returns the first path of Write through which the program may change one of some files and folders, or replace
// a symbolic link that leads there; "" if there is none.
func (p *Policy) Changes(paths ...string) string {
	for _, written := range p.Write {
		for _, path := range paths {
			if contains(resolved(written), path) || contains(resolved(written), resolved(path)) {
				return written
			}
		}
	}
	return ""
}

func contains(folder, path string) bool {
	below, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(below)
}

// resolved returns a path without symbolic links, if it exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
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
