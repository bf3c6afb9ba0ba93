package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

const (
	maxShown = 20   // errors in the text of the error
	maxKept  = 1000 // errors, and warnings, after which reading stops
)

// decoder reads one config. It continues after a mistake, so that all are reported at once.
type decoder struct {
	file     string // name in errors
	dir      string // base of relative paths
	data     []byte
	lines    []int // offsets of the first bytes of lines
	loader   Loader
	problems []remark
	warnings []remark
	faults   []remark    // misspelled keys and types of servers, each of which is its server's Fault
	inside   *entryScope // the entry that is being read; nil outside of entries
	readable bool        // every user of the computer can read the file, and no secret was found so far
	servers  []string    // names of all servers, including disabled ones
	claims   []node      // that use claims
	atEnd    []func()    // checks that need the whole file
	placed   []node      // servers that are required, and run on one node of a cluster
	boxed    []boxed     // all servers with a sandbox

	exchanges []node // that exchange the access tokens of callers

	hidden []hiddenName

	variables     map[string]bool // that the file refers to
	usesWorkspace bool            // the file refers to the workspace folder
	envFiles      []string        // that servers name, and the files of references
	filledIn      []string        // values of references

	beside func() (map[string]string, error) // the variables of the env file beside the config, which it reads once
}

// getenv looks up a variable to which the file refers.
func (d *decoder) getenv(name string) (value string, set bool) {
	if name != "PATH" {
		d.variables[name] = true
	}
	return d.lookup(name)
}

// lookup looks up a variable in the environment, then in the env file beside the config.
func (d *decoder) lookup(name string) (value string, set bool) {
	if value, set = d.loader.Getenv(name); set {
		return value, true
	}
	vars, _ := d.beside()
	value, set = vars[name]
	return value, set
}

// workspace returns the workspace folder, to which the file refers.
func (d *decoder) workspace() string {
	d.usesWorkspace = true
	return cmp.Or(d.loader.Workspace, d.dir)
}

// remark is an error or a warning about a place in the file.
type remark struct {
	offset int // bytes
	text   string
}

// node is a value in the syntax tree, and its place.
type node struct {
	path   string // as in mcpServers.github.args[1]; "" is the whole file
	name   string // its key
	at     int    // offset of the key
	offset int    // offset of the value
	value  hujson.ValueTrimmed
}

// key returns n with the place of its key.
func (n node) key() node { n.offset = n.at; return n }

func (n node) null() bool { return n.value.Kind() == 'n' }

func (n node) boolean() (value, ok bool) {
	k := n.value.Kind()
	return k == 't', k == 't' || k == 'f'
}

// keyRule is the treatment of one key of an object.
type keyRule struct {
	take  func(*decoder, node) // nil means ignored, as a key of another program
	same  string               // our name of a key that other clients name differently
	only  string               // "command" or "url": the kind of server that it is for
	note  string               // text of its warning
	quiet bool                 // ignored without a warning
}

// keySet is all keys of one kind of object.
type keySet map[string]keyRule

func (l Loader) newDecoder(file, dir string, data []byte) *decoder {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := &decoder{file: file, dir: dir, data: data, loader: l, lines: []int{0}, variables: map[string]bool{}}
	d.beside = sync.OnceValues(func() (map[string]string, error) { return loadBeside(filepath.Join(dir, envfile.Name)) })
	for i, b := range data {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// line returns the line of an offset, from 1.
func (d *decoder) line(offset int) int {
	i, found := slices.BinarySearch(d.lines, offset)
	if found {
		return i + 1
	}
	return i
}

// column returns the column of an offset in characters, from 1, as editors do.
func (d *decoder) column(offset int) int {
	return 1 + utf8.RuneCount(d.data[d.lines[d.line(offset)-1]:offset])
}

func (n node) remark(all *[]remark, text string) {
	if n.path != "" {
		text = n.path + ": " + text
	}
	if len(*all) < maxKept {
		*all = append(*all, remark{n.offset, text})
	}
}

func (d *decoder) errorf(n node, format string, args ...any) {
	n.remark(&d.problems, fmt.Sprintf(format, args...))
}

func (d *decoder) warnf(n node, format string, args ...any) {
	n.remark(&d.warnings, fmt.Sprintf(format, args...))
}

// entryScope collects the reasons why one entry cannot be used.
type entryScope struct {
	path       string
	server     bool
	unit       time.Duration // of a server's timeout without one; 0 means that its size tells
	misspelled bool          // a key or the type is, so that nothing is said to be missing
	faults     []error
}

// inServer reports whether a server is being read.
func (d *decoder) inServer() bool { return d.inside != nil && d.inside.server }

func (s *entryScope) fault(path, text string) {
	text = path + ": " + text
	if len(s.faults) < maxShown && !slices.ContainsFunc(s.faults, func(e error) bool { return e.Error() == text }) {
		s.faults = append(s.faults, errors.New(text))
	}
}

// lacks reports a missing part of the environment: a Fault of the entry, or an error elsewhere.
func (d *decoder) lacks(n node, format string, args ...any) {
	if d.inside != nil {
		d.inside.fault(d.inside.path, fmt.Sprintf(format, args...))
	} else {
		d.errorf(n, format, args...)
	}
}

// misspelled reports what makes only its server unusable. That server may lack what was meant.
func (d *decoder) misspelled(n node, text string) {
	d.inside.misspelled = true
	d.inside.fault(n.path, text)
	n.remark(&d.faults, text)
}

// wrongf reports an invalid value: an error, or a Fault if it came from the environment.
func (d *decoder) wrongf(n node, format string, args ...any) {
	if d.inside != nil && n.filled() {
		d.inside.fault(n.path, fmt.Sprintf(format, args...))
	} else {
		d.errorf(n, format, args...)
	}
}

// filled reports whether n is a string with a variable.
func (n node) filled() bool {
	return n.value.Kind() == '"' && reference().MatchString(n.value.(hujson.Literal).String())
}

func (d *decoder) expected(n node, what string) {
	d.errorf(n, "expected %s, got %s", what, kindNames[n.value.Kind()])
}

var kindNames = map[hujson.Kind]string{
	'n': "null", 'f': "false", 't': "true", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
}

// err returns all problems in file order, and with them the misspelled keys of servers, which alone
// leave the file usable.
func (d *decoder) err() error {
	if len(d.problems) > 0 {
		d.problems = append(d.problems, d.faults...)
	}
	byPlace(d.problems)
	var errs []error
	for _, p := range d.problems {
		if len(errs) == maxShown {
			more := strconv.Itoa(len(d.problems) - maxShown)
			if len(d.problems) == maxKept {
				more = "many"
			}
			errs = append(errs, fmt.Errorf("%s: and %s more", d.file, more))
			break
		}
		errs = append(errs, fmt.Errorf("%s:%d:%d: %s", d.file, d.line(p.offset), d.column(p.offset), p.text))
	}
	return errors.Join(errs...)
}

// warned returns all warnings in file order.
func (d *decoder) warned() []string {
	byPlace(d.warnings)
	var out []string
	for _, w := range d.warnings {
		out = append(out, fmt.Sprintf("%s:%d: %s", d.file, d.line(w.offset), w.text))
	}
	return out
}

func byPlace(remarks []remark) {
	slices.SortStableFunc(remarks, func(a, b remark) int { return cmp.Compare(a.offset, b.offset) })
}

// membersOf returns the members of an object in file order; false means that n is not an object.
func (d *decoder) membersOf(n node) ([]node, bool) {
	obj, ok := n.value.(*hujson.Object)
	if !ok {
		return nil, false
	}
	members := make([]node, 0, len(obj.Members))
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		members = append(members, node{
			path: memberPath(n.path, name), name: name,
			at: m.Name.StartOffset, offset: m.Value.StartOffset, value: m.Value.Value,
		})
	}
	return members, true
}

// members is membersOf that reports what was expected.
func (d *decoder) members(n node, what string) ([]node, bool) {
	members, ok := d.membersOf(n)
	if !ok {
		d.expected(n, what)
	}
	return members, ok
}

// memberPath returns the path of a member: a.b, or a["b c"] if a bare name would mislead.
func memberPath(parent, name string) string {
	if name == "" || name != hint.Shorten(name) || derivedPrefix(name) != name {
		return parent + "[" + hint.Quote(name) + "]"
	}
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// object passes each member to its key's take. A null value counts as an absent key.
func (d *decoder) object(n node, keys keySet) {
	members, _ := d.members(n, "an object")
	seen := map[string]string{} // keys in the file by our names for them
	for _, m := range members {
		if len(d.problems) == maxKept {
			return
		}
		k, known := keys[m.name]
		ours := cmp.Or(k.same, m.name)
		other := seen[ours]
		switch {
		case !known:
			d.unknownKey(n, m, keys)
		case k.quiet:
		case k.take == nil && k.note == "":
			d.warnf(m.key(), "ignored")
		case k.take == nil:
			d.warnf(m.key(), "ignored: %s", k.note)
		case m.null():
		case other != "" && other != m.name:
			d.errorf(m.key(), "means the same as %q: keep one", other)
		default:
			seen[ours] = m.name
			if k.note != "" {
				d.warnf(m.key(), "%s", k.note)
			}
			k.take(d, m)
		}
	}
}

// duplicates reports the keys that an object has twice, at any depth.
func (d *decoder) duplicates(n node) {
	if arr, ok := n.value.(*hujson.Array); ok {
		for i, e := range arr.Elements {
			d.duplicates(n.element(i, e))
		}
	}
	members, _ := d.membersOf(n)
	lines := make(map[string]int, len(members))
	for _, m := range members {
		if line := lines[m.name]; line > 0 {
			d.errorf(node{path: n.path, offset: m.at}, "duplicate key %s on lines %d and %d: keep one",
				hint.Quote(m.name), line, d.line(m.at))
		} else {
			lines[m.name] = d.line(m.at)
		}
		d.duplicates(m)
	}
}

func (n node) element(i int, e hujson.Value) node {
	return node{path: fmt.Sprintf("%s[%d]", n.path, i), at: e.StartOffset, offset: e.StartOffset, value: e.Value}
}
