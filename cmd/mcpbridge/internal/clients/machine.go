package clients

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// A Machine is a system and a user whose clients are looked for. Its paths have slashes on every
// system.
type Machine struct {
	System  string              // as runtime.GOOS has it
	Home    string              // of the user
	Project string              // the folder whose project files are meant; "" means none
	Getenv  func(string) string // may be nil
	Root    string              // stands before every path that is opened; "" outside of tests
	Distro  string              // the WSL distribution from which the files of this Windows are seen; "" means that the program runs on the machine itself
}

// Machines returns the machine on which the program runs and, in WSL, the Windows around it.
func Machines() ([]*Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	project, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	m := &Machine{System: runtime.GOOS, Home: filepath.ToSlash(home), Project: filepath.ToSlash(project), Getenv: os.Getenv}
	if w := m.Windows(); w != nil {
		return []*Machine{m, w}, nil
	}
	return []*Machine{m}, nil
}

// Windows returns the Windows in which m is a WSL distribution, or nil. The user's folder there is
// told by USERPROFILE, if WSLENV passes it, or by the PATH, which WSL extends with that of Windows.
func (m *Machine) Windows() *Machine {
	distro := m.getenv("WSL_DISTRO_NAME")
	if m.System != "linux" || distro == "" {
		return nil
	}
	home := fromWindows(m.getenv("USERPROFILE"))
	for _, dir := range strings.Split(m.getenv("PATH"), ":") {
		if i := strings.Index(dir, "/AppData/"); home == "" && i > 0 && strings.Contains(dir[:i], "/Users/") {
			home = dir[:i]
		}
	}
	if home == "" {
		return nil
	}
	return &Machine{System: "windows", Home: home, Root: m.Root, Distro: distro}
}

// fromWindows returns the place in WSL of a path of Windows.
func fromWindows(dir string) string {
	dir = strings.ReplaceAll(dir, `\`, "/")
	if drive, rest, ok := strings.Cut(dir, ":/"); ok && len(drive) == 1 {
		return "/mnt/" + strings.ToLower(drive) + "/" + rest
	}
	return dir
}

func (m *Machine) getenv(name string) string {
	if m.Getenv == nil {
		return ""
	}
	return m.Getenv(name)
}

// expand returns the path that a place's path stands for, or "" if its variable is not set.
func (m *Machine) expand(name string) string {
	word, rest, _ := strings.Cut(name, "/")
	var base string
	switch {
	case word == "~":
		base = m.Home
	case word == "@project":
		base = m.Project
	case word == "@xdg":
		base = m.firstOf("XDG_CONFIG_HOME", ".config")
	case word == "@local":
		base = m.firstOf("LOCALAPPDATA", "AppData/Local")
	case word == "@config" && m.System == "windows":
		base = m.firstOf("APPDATA", "AppData/Roaming")
	case word == "@config" && m.System == "darwin":
		base = path.Join(m.Home, "Library/Application Support")
	case word == "@config":
		base = m.firstOf("XDG_CONFIG_HOME", ".config")
	case strings.HasPrefix(word, "$"):
		if base = m.variable(word[1:]); base == "" {
			return ""
		}
	default:
		return name
	}
	return path.Join(base, rest)
}

// firstOf returns the folder that a variable names, or one below the home folder.
func (m *Machine) firstOf(variable, below string) string {
	if dir := m.variable(variable); dir != "" {
		return dir
	}
	return path.Join(m.Home, below)
}

// variable returns the absolute path that an environment variable names, or "".
func (m *Machine) variable(name string) string {
	dir := m.getenv(name)
	if m.System == "windows" {
		dir = strings.ReplaceAll(dir, `\`, "/")
	}
	if !path.IsAbs(dir) && !strings.Contains(dir, ":/") {
		return "" // clients differ in what a relative one is relative to
	}
	return dir
}

// open returns the name under which the program opens a path of the machine.
func (m *Machine) open(name string) string {
	if m.Root != "" {
		name = path.Join(filepath.ToSlash(m.Root), name)
	}
	return filepath.FromSlash(name)
}

func (m *Machine) stat(name string) bool {
	_, err := os.Stat(m.open(name))
	return err == nil
}

// show returns a path as users of the machine write it.
func (m *Machine) show(name string) string {
	if m.System == "windows" && m.Distro == "" {
		return strings.ReplaceAll(name, "/", `\`)
	}
	return name
}

// A File is a config file of a client, or the place where it would lie.
type File struct {
	Client  *Client
	Title   string // of the client, with the program that it is a part of
	Path    string // as users of its system write it
	Exists  bool
	Found   bool // the client is installed there
	Project bool // belongs to a project
	Read    bool // is only imported from

	machine *Machine
	place   *place
	name    string // with slashes
}

// Open returns the name under which the program opens the file.
func (f *File) Open() string { return f.machine.open(f.name) }

// Files returns the files of a client on the machine, for the user or for the machine's project.
func (m *Machine) Files(c *Client, project bool) []*File {
	var files []*File
	seen := map[string]bool{}
	for i := range c.places {
		p := &c.places[i]
		if p.project != project || p.on != "" && p.on != m.System || project && m.Project == "" {
			continue
		}
		for _, name := range m.names(p) {
			key := name + "\x00" + strings.Join(p.path, "\x00")
			exists := m.stat(name)
			if seen[key] || p.exists && !exists {
				continue
			}
			seen[key] = true
			files = append(files, &File{
				Client: c, Title: m.title(c, p), Path: m.show(name), Exists: exists, Found: exists || m.found(p, name), Project: p.project, Read: p.read,
				machine: m, place: p, name: name,
			})
		}
	}
	return files
}

// found reports whether the client of a place is installed. In a project every client is.
func (m *Machine) found(p *place, name string) bool {
	switch {
	case p.project:
		return true
	case p.mark != "":
		return m.stat(m.expand(p.mark))
	}
	return m.stat(path.Dir(name))
}

func (m *Machine) title(c *Client, p *place) string {
	title := c.Title
	if p.title != "" {
		title += " (" + p.title + ")"
	}
	if m.Distro != "" {
		title += " on Windows"
	}
	return title
}

// names returns the files of a place: for alternatives the one that exists, and for patterns all.
func (m *Machine) names(p *place) []string {
	if name := m.variable(p.fileVar); p.fileVar != "" && name != "" {
		return []string{name}
	}
	var dirs []string
	for _, dir := range p.dirs {
		if dir = m.expand(dir); dir != "" {
			dirs = m.glob(dir)
			break
		}
	}
	var names []string
	for _, dir := range dirs {
		if strings.Contains(p.files[0], "*") {
			for _, pattern := range p.files {
				names = append(names, m.glob(path.Join(dir, pattern))...)
			}
			continue
		}
		name := path.Join(dir, p.files[0])
		for _, other := range p.files[1:] {
			if other = path.Join(dir, other); !m.stat(name) && m.stat(other) {
				name = other
			}
		}
		names = append(names, name)
	}
	return names
}

// glob returns the paths that match the last element of a pattern, or the pattern if it has no *.
func (m *Machine) glob(pattern string) []string {
	dir, last := path.Split(pattern)
	if !strings.Contains(last, "*") {
		return []string{pattern}
	}
	entries, _ := os.ReadDir(m.open(path.Clean(dir))) // in the order of names
	var names []string
	for _, e := range entries {
		if ok, _ := path.Match(last, e.Name()); ok {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names
}
