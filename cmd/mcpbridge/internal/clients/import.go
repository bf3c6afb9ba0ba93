package clients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
)

// An Import collects the servers that a config takes over. NewImport makes one.
type Import struct {
	Added []Addition
	Had   []Addition // without values: servers of clients that the config had before, and that can be moved
	Taken []*Server  // those that the config has now: added, or there before
	There int        // how many of these the config had before
	Vars  []Variable
	Notes []Note

	opts    ImportOptions
	path    []string        // of the servers in the config
	names   map[string]bool // of servers
	servers []fingerprint
}

// ImportOptions say what a config has.
type ImportOptions struct {
	Config   string // its name
	Text     []byte
	Variable func(name string) (value string, ok bool) // a variable that it can use
	Sealed   func(name string) (value string, ok bool) // a secret that the user keeps sealed; nil means none
	Seal     bool                                      // secrets become references to those
	IsBridge func(commandOrURL string) bool            // a program or a URL is the bridge itself
	Disabled bool                                      // what is added does not run before it is enabled
}

// An Addition is an entry of "mcpServers".
type Addition struct {
	Name   string
	Server *Server
	Value  json.RawMessage
}

// A Variable belongs into the env file of the config, or is to be sealed.
type Variable struct{ Name, Value string }

// A fingerprint tells servers apart.
type fingerprint struct {
	name, where string
	program     string // the command and its arguments, or the URL
	values      string // of its environment and headers
	there       bool   // in the config
}

// ours is the config of mcpbridge as if it were that of a client.
var ours = Client{Name: EntryName, Title: "mcpbridge", path: []string{"mcpServers"}, newer: []string{"servers"}, variables: braces | colon | references, unit: time.Second}

// NewImport returns an import into a config. The error says what is wrong with its text.
func NewImport(opts ImportOptions) (*Import, error) {
	i := &Import{opts: opts, names: map[string]bool{}}
	self := ours
	f := &File{Client: &self, Title: opts.Config, Path: opts.Config, machine: &Machine{}, place: &place{}, name: config.FileName}
	root, err := edit.Read(edit.JSON, opts.Text)
	if err != nil {
		return nil, err
	}
	i.path = f.servers(root)
	servers, _ := root.At(i.path...)
	for _, m := range servers.Members {
		s := &Server{Name: m.Key, File: f, Line: m.Line}
		i.names[m.Key] = true
		if s.read(m) {
			i.servers = append(i.servers, i.fingerprint(s))
		}
	}
	return i, nil
}

// Add takes over the servers in the text of a client's file.
func (i *Import) Add(f *File, text []byte) error {
	list, err := f.Servers(text, i.opts.IsBridge)
	i.Notes = append(i.Notes, f.Duplicates(text)...)
	for _, s := range list {
		i.add(s)
	}
	return err
}

func (i *Import) add(s *Server) {
	say := func(format string, args ...any) {
		i.Notes = append(i.Notes, Note{s.File, s.Line, s.Name + ": " + fmt.Sprintf(format, args...), s.Fault != ""})
	}
	if text := s.Hidden(); text != "" && s.Fault == "" {
		s.Fault = fmt.Sprintf("it runs or connects to what has hidden characters: %.100s", text)
	}
	if s.Fault != "" {
		say("left out: %s", s.Fault)
		return
	}
	own := i.fingerprint(s)
	for _, other := range i.servers {
		if own.program == other.program && own.values == other.values {
			i.Taken = append(i.Taken, s)
			if other.there {
				i.There++
				if !s.Off && !s.Hand {
					i.Had = append(i.Had, Addition{Name: other.name, Server: s})
				}
			} else {
				say("the same as %s", other)
			}
			return
		}
	}
	if n := slices.IndexFunc(i.servers, func(other fingerprint) bool { return own.program == other.program }); n >= 0 {
		say("runs the same as %s, with other variables or headers: both are kept", i.servers[n])
	}
	name, vars := i.name(s), len(i.Vars)
	state := keepsState(s)
	value := i.value(s, name, state != "")
	if fault := cmp.Or(unwritable(i.Vars[vars:]), refused(name, value)); fault != "" {
		i.Vars = i.Vars[:vars]
		s.Fault = fault
		say("left out: %s", fault)
		return
	}
	i.names[name] = true
	i.servers = append(i.servers, own)
	i.Notes = append(i.Notes, s.Notes...)
	if name != s.Name {
		say("is called %s here", name)
	}
	if state != "" {
		say(`%s keeps a state for each client: written with "sharing": "session", a process for each window`, state)
	}
	i.Added = append(i.Added, Addition{name, s, value})
	i.Taken = append(i.Taken, s)
}

// unwritable returns why an env file cannot have the variables, or "".
func unwritable(vars []Variable) string {
	for _, v := range vars {
		if strings.ContainsRune(v.Value, 0) {
			return fmt.Sprintf("the value for %s has a NUL character", v.Name)
		}
	}
	return ""
}

// refused returns why a config cannot have an entry, or "".
func refused(name string, value json.RawMessage) string {
	text := object([]member{{"mcpServers", object([]member{{name, value}})}})
	unset := func(string) (string, bool) { return "", false }
	if _, err := (config.Loader{Getenv: unset}).Parse(config.FileName, text); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		_, why, _ := strings.Cut(first, ": ") // less file, line and column
		return why
	}
	return ""
}

func (p fingerprint) String() string { return p.name + " in " + p.where }

// fingerprint returns the fingerprint of a server, with its variables filled in.
func (i *Import) fingerprint(s *Server) fingerprint {
	program := []string{i.fill(Text{Text: s.Command, Variable: true}), i.fill(s.URL)}
	for _, a := range s.Args {
		program = append(program, i.fill(a))
	}
	var values []string
	for _, p := range slices.Concat(s.Env, s.Headers, s.OAuth) {
		values = append(values, p.Name+"="+i.fill(p.Value))
	}
	slices.Sort(values)
	return fingerprint{s.Name, s.File.Title, strings.Join(program, "\x00"), strings.Join(values, "\x00"), s.File.Client.Name == ours.Name}
}

var filled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\$\{|\$\{(keychain:)?([\w.-]+)\}`) })

// fill fills in the variables and the sealed secrets of a text that are known.
func (i *Import) fill(t Text) string {
	if !t.Variable {
		return t.Text
	}
	return filled().ReplaceAllStringFunc(t.Text, func(ref string) string {
		if ref == "$${" {
			return "${"
		}
		name, sealed := strings.CutPrefix(strings.Trim(ref, "${}"), "keychain:")
		if value, ok := i.known(name, sealed); ok {
			return value
		}
		return ref
	})
}

// known returns a variable or a sealed secret of the config, or one that the import adds.
func (i *Import) known(name string, sealed bool) (string, bool) {
	for _, v := range i.Vars {
		if v.Name == name && sealed == i.opts.Seal {
			return v.Value, true
		}
	}
	switch {
	case !sealed:
		return i.opts.Variable(name)
	case i.opts.Sealed != nil:
		return i.opts.Sealed(name)
	}
	return "", false
}

// name returns a name for the server that the config does not have.
func (i *Import) name(s *Server) string {
	base := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == '[' || r == ']' { // brackets would be a step to an element of a list
			return '-'
		}
		return r
	}, s.Name)
	name := base
	for n := 1; i.names[name]; n++ {
		name = base + "-" + s.File.Client.Name
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
	}
	return name
}

// value returns the entry of a server. Secrets become variables.
func (i *Import) value(s *Server, name string, perWindow bool) json.RawMessage {
	var m []member
	put := func(key string, value any, is bool) {
		if is {
			m = append(m, member{key, value})
		}
	}
	put("command", i.conceal(Text{Text: s.Command, Variable: true}, "", "command", name), s.Command != "")
	put("args", i.args(s, name), len(s.Args) > 0)
	put("env", i.pairs(s.Env, name, func(p Pair) string { return p.Name }), len(s.Env) > 0)
	put("envFile", s.EnvFile, s.EnvFile != "")
	put("cwd", s.Dir, s.Dir != "")
	put("type", s.Type, s.Type != "" && s.Command == "")
	put("url", i.conceal(s.URL, "", "url", name), s.URL.Text != "")
	put("headers", i.pairs(s.Headers, name, headerVariable(name)), len(s.Headers) > 0)
	put("oauth", i.pairs(s.OAuth, name, func(p Pair) string { return name + "_" + p.Name }), len(s.OAuth) > 0 && !s.NoOAuth)
	put("oauth", false, s.NoOAuth)
	put("timeout", s.Timeout.String(), s.Timeout > 0)
	put("connectTimeout", s.ConnectTimeout.String(), s.ConnectTimeout > 0)
	put("include", s.Include, len(s.Include) > 0)
	put("exclude", s.Exclude, len(s.Exclude) > 0)
	put("sharing", "session", perWindow)
	put("disabled", true, s.Off || i.opts.Disabled)
	put("trust", false, true)
	put("pin", true, true)
	return object(m)
}

// Entry returns the entry of a server as [Import.Add] writes it. Secrets become variables, which are in
// Vars then.
func (i *Import) Entry(s *Server) json.RawMessage { return i.value(s, s.Name, false) }

// keepsState returns what of a server is known to keep a state for each client, or "".
func keepsState(s *Server) string {
	known := config.Server{Command: s.Command}
	for _, a := range s.Args {
		known.Args = append(known.Args, a.Text)
	}
	return known.KeepsState()
}

// pairs returns environment variables or headers as an object. variable is the name of a variable for
// the value of a pair.
func (i *Import) pairs(list []Pair, server string, variable func(Pair) string) json.RawMessage {
	var m []member
	for _, p := range list {
		if !p.Value.Variable && isFilled(p.Value.Text) {
			m = append(m, member{p.Name, i.secret(variable(p), server, p.Value.Text)})
		} else {
			m = append(m, member{p.Name, i.conceal(p.Value, p.Name, variable(p), server)})
		}
	}
	return object(m)
}

// headerVariable returns the names of variables for the headers of a server.
func headerVariable(server string) func(Pair) string {
	return func(p Pair) string {
		if isAuthorization(p.Name) {
			return server + "_TOKEN"
		}
		return server + "_" + p.Name
	}
}

// isFilled reports whether mcpbridge.json has no way to write a literal text.
func isFilled(text string) bool {
	return slices.ContainsFunc(reference().FindAllString(text, -1), func(ref string) bool { return ref[0] == '{' || ref[1] != '{' })
}

// args returns the arguments.
func (i *Import) args(s *Server, server string) []string {
	list, before := []string{}, ""
	for _, a := range s.Args {
		flag := flagOf(a.Text, before)
		before = a.Text
		if !a.Variable && strings.Contains(a.Text, "{env:") {
			list = append(list, i.secret("arg", server, a.Text))
		} else {
			list = append(list, i.conceal(a, flag, cmp.Or(flag, "arg"), server))
		}
	}
	return list
}

// Apply returns the text of the config with the additions. It is an error if the config has another server of
// such a name since NewImport.
func (i *Import) Apply(text []byte) ([]byte, error) {
	root, err := edit.Read(edit.JSON, text)
	if err != nil {
		return nil, err
	}
	servers, _ := root.At(i.path...)
	for _, a := range i.Added {
		if m, there := servers.At(a.Name); there && !sameJSON(m.JSON(), a.Value) {
			return nil, fmt.Errorf("%s was added meanwhile, in line %d: try again", a.Name, m.Line)
		}
		if text, err = edit.Set(edit.JSON, text, append(slices.Clone(i.path), a.Name), a.Value); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func sameJSON(a, b json.RawMessage) bool {
	var one, other any
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && reflect.DeepEqual(one, other)
}

// Keep makes the servers that an addition stands for, in all files, not movable.
func (i *Import) Keep(a Addition) {
	own := i.fingerprint(a.Server)
	for _, s := range i.Taken {
		if other := i.fingerprint(s); other.program == own.program && other.values == own.values {
			s.Hand = true
		}
	}
}

// Movable returns the names of the servers of a file that the config has now, without those that
// are disabled there or need a hand.
func (i *Import) Movable(f *File) []string {
	var names []string
	for _, s := range i.Taken {
		if s.File == f && !s.Off && !s.Hand {
			names = append(names, s.Name)
		}
	}
	return names
}
