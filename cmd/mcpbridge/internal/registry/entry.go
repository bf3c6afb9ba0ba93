package registry

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Options are what the file does not say.
type Options struct {
	Name    string                    // of the server in the config, in names of variables
	Has     func(program string) bool // whether a program is installed
	Env     map[string]string         // values for "environmentVariables"
	Headers map[string]string         // values for headers
	Values  map[string]string         // values for arguments, by hint or flag, and for variables
}

// An Entry is how a server is run or reached. Its texts are those of a config: ${NAME} is a variable.
type Entry struct {
	Command string
	Args    []string
	Env     []Pair
	URL     string
	Type    string // of the URL: "http" or "sse"
	Headers []Pair

	Secrets []Pair   // values of variables to which the texts refer
	Missing []string // variables to which the texts refer without a value, with what they are for
	Notes   []string
}

// A Pair is a name and a value.
type Pair struct{ Name, Value string }

// programs lists what the packages of a registry are run with, the usual one first.
var programs = map[string][]string{
	"npm":   {"npx", "bunx"},
	"pypi":  {"uvx", "pipx"},
	"oci":   {"docker", "podman"},
	"nuget": {"dnx"},
}

// Entry returns the first package that can be run here; without one, the first remote; without that,
// the first package that could be run with the right program.
func (s *Server) Entry(o Options) (*Entry, error) {
	var reasons []string
	var missing *Package
	for i := range s.Packages {
		p := &s.Packages[i]
		program, err := p.program()
		switch {
		case err != nil:
			reasons = append(reasons, err.Error())
		case o.Has(program):
			return p.entry(program, &o)
		case missing == nil:
			missing = p
		}
	}
	for i := range s.Remotes {
		if r := &s.Remotes[i]; r.Type == "streamable-http" || r.Type == "sse" {
			return r.entry(&o)
		}
		reasons = append(reasons, fmt.Sprintf("remotes[%d]: type %q: expected streamable-http or sse", i, s.Remotes[i].Type))
	}
	if missing == nil {
		return nil, fmt.Errorf("nothing in it can be run here: %s", strings.Join(reasons, "; "))
	}
	program, _ := missing.program()
	e, err := missing.entry(program, &o)
	if err == nil {
		e.Notes = append(e.Notes, program+" is not installed")
	}
	return e, err
}

// program returns what a package is run with.
func (p *Package) program() (string, error) {
	known := programs[p.Type]
	switch {
	case p.Type == "mcpb":
		return "", p.bundle()
	case known == nil:
		return "", fmt.Errorf("a package of %q: expected npm, pypi, oci or nuget", p.Type)
	case p.Identifier == "" || strings.HasPrefix(p.Identifier, "-"):
		return "", fmt.Errorf("a package of %s without an identifier", p.Type)
	case p.Transport.Type != "" && p.Transport.Type != "stdio":
		return "", fmt.Errorf("the package %s serves %s, not stdio: start it and add its URL", p.Identifier, p.Transport.Type)
	case p.RuntimeHint != "" && slices.Contains(known, p.RuntimeHint):
		return p.RuntimeHint, nil
	}
	return known[0], nil
}

// bundle says what to do about a bundle. It is not installed: there is no place for programs here that remove and
// an upgrade would clear, nor a form for what a manifest asks its user.
func (p *Package) bundle() error {
	check := ""
	if p.SHA256 != "" {
		check = fmt.Sprintf(", check that its SHA-256 is %q", p.SHA256)
	}
	return fmt.Errorf(`the bundle %q: download it%s, unpack it (unzip FILE -d FOLDER), and add what "mcp_config" in its manifest.json starts, as in: mcpbridge add NAME -- node FOLDER/server/index.js`, p.Identifier, check)
}

// entry returns the command of a package.
func (p *Package) entry(program string, o *Options) (*Entry, error) {
	b := &builder{Options: o, entry: &Entry{Command: program}}
	runtime, arguments := b.arguments(p.Runtime), b.arguments(p.Arguments)
	for _, n := range p.Environment {
		if value, ok := b.value(n, n.Name, o.Env); ok {
			b.entry.Env = append(b.entry.Env, Pair{n.Name, value})
		}
	}
	b.others(o.Env, p.Environment, func(pair Pair) { b.entry.Env = append(b.entry.Env, pair) })
	front, name := p.front(program, runtime, b.entry.Env)
	for _, text := range front {
		b.literal(text)
	}
	at := 0
	if p.Type == "oci" { // whose own "run" comes before its options
		at = slices.Index(runtime, "run") + 1
	}
	b.entry.Args = slices.Concat(runtime[:at], front, runtime[at:], []string{b.literal(name)})
	if program == "dnx" {
		b.entry.Args = append(b.entry.Args, "--yes")
		if len(arguments) > 0 {
			b.entry.Args = append(b.entry.Args, "--")
		}
	}
	b.entry.Args = append(b.entry.Args, arguments...)
	return b.entry, b.err
}

// front returns the arguments of a program before those of the file, and the package with its version.
func (p *Package) front(program string, runtime []string, env []Pair) (front []string, name string) {
	at := func(separator string) string {
		if p.Version == "" {
			return p.Identifier
		}
		return p.Identifier + separator + p.Version
	}
	switch program {
	case "npx", "bunx":
		if program == "npx" && !slices.Contains(runtime, "-y") && !slices.Contains(runtime, "--yes") {
			front = append(front, "-y")
		}
		if p.isElsewhere("registry.npmjs.org") {
			front = append(front, "--registry="+p.BaseURL)
		}
		return front, at("@")
	case "uvx":
		if p.isElsewhere("pypi.org") {
			front = append(front, "--default-index="+p.BaseURL)
		}
		return front, at("@")
	case "pipx":
		if front = []string{"run"}; p.isElsewhere("pypi.org") {
			front = append(front, "--index-url="+p.BaseURL)
		}
		return front, at("==")
	case "docker", "podman":
		switch {
		case !slices.Contains(runtime, "run"):
			front = []string{"run", "-i", "--rm"}
		case !slices.Contains(runtime, "-i") && !slices.Contains(runtime, "--interactive"):
			front = []string{"-i"} // without it the server has no standard input
		}
		for _, pair := range env {
			front = append(front, "-e", pair.Name)
		}
		if last := p.Identifier[strings.LastIndexByte(p.Identifier, '/')+1:]; strings.ContainsAny(last, ":@") {
			return front, p.imageHost() + p.Identifier
		}
		return front, p.imageHost() + at(":")
	case "dnx":
		if p.isElsewhere("api.nuget.org") {
			front = append(front, "--source="+p.BaseURL)
		}
	}
	return front, at("@")
}

// imageHost returns what stands before the identifier of an image that is in another registry than Docker's, and does
// not say so itself.
func (p *Package) imageHost() string {
	first, _, more := strings.Cut(p.Identifier, "/")
	named := more && (strings.ContainsAny(first, ".:") || first == "localhost")
	if u, err := url.Parse(p.BaseURL); err == nil && !named && p.isElsewhere("docker.io") && u.Host != "hub.docker.com" && !strings.HasSuffix(u.Host, ".docker.io") {
		return u.Host + "/"
	}
	return ""
}

// isElsewhere reports whether a package is in another registry than the usual one.
func (p *Package) isElsewhere(usual string) bool {
	u, err := url.Parse(p.BaseURL)
	return err == nil && u.Scheme == "https" && u.Host != usual
}

// entry returns the URL of a remote.
func (r *Remote) entry(o *Options) (*Entry, error) {
	b := &builder{Options: o, entry: &Entry{Type: "http"}, remote: true}
	if r.Type == "sse" {
		b.entry.Type = "sse"
	}
	b.entry.URL, _ = b.value(Named{Input: Input{Value: r.URL}, Variables: r.Variables}, "URL", nil)
	given := map[string]string{} // by their names as the file has them
	for name, value := range o.Headers {
		if at := slices.IndexFunc(r.Headers, func(n Named) bool { return strings.EqualFold(n.Name, name) }); at >= 0 {
			name = r.Headers[at].Name
		}
		given[name] = value
	}
	for _, n := range r.Headers {
		if value, ok := b.value(n, n.Name, given); ok {
			b.entry.Headers = append(b.entry.Headers, Pair{n.Name, value})
		}
	}
	b.others(given, r.Headers, func(pair Pair) { b.entry.Headers = append(b.entry.Headers, pair) })
	return b.entry, b.err
}
