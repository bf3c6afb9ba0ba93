package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

const (
	maxShown = 20   // errors that are shown
	maxKept  = 1000 // errors, and warnings, that are kept: what is beyond is not looked for
)

// decoder reads one config. It goes on after a mistake, so that all are said at once.
type decoder struct {
	file     string // as errors name it
	dir      string // that relative paths start from
	data     []byte
	lines    []int // offset of each line's first byte
	getenv   func(string) (string, bool)
	types    []string // the types of providers; nil means any
	problems []remark
	warnings []remark
	inside   *entryScope // the server block that is being read; nil outside
	servers  []string    // the names of all servers, those that are switched off included
	atEnd    []func()    // checks that need the whole file
}

// remark is something to say about a place in the file.
type remark struct {
	offset int // bytes
	text   string
}

// node is a value in the syntax tree, and how one says where it is.
type node struct {
	path   string // mcpServers.github.args[1]; "" is the whole file
	name   string // the key it stands under
	at     int    // offset of that key
	offset int    // offset of the value
	value  hujson.ValueTrimmed
}

// key is the place of n's key instead of its value.
func (n node) key() node { n.offset = n.at; return n }

func (n node) null() bool { return n.value.Kind() == 'n' }

func (n node) boolean() (value, ok bool) {
	k := n.value.Kind()
	return k == 't', k == 't' || k == 'f'
}

// keyRule is one key of an object.
type keyRule struct {
	take  func(*decoder, node) // nil: the key is another program's and ignored
	same  string               // the key's name here, where this is another client's word for it
	only  string               // "command" or "url": the way of reaching a server that it belongs to
	note  string               // what its warning says
	quiet bool                 // ignored without a warning
}

// keySet are all keys of one kind of object.
type keySet map[string]keyRule

func (l Loader) newDecoder(file, dir string, data []byte) *decoder {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := &decoder{file: file, dir: dir, data: data, getenv: l.Getenv, types: l.ProviderTypes, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// line counts from 1.
func (d *decoder) line(offset int) int {
	i, found := slices.BinarySearch(d.lines, offset)
	if found {
		return i + 1
	}
	return i
}

// column counts characters from 1, as editors do.
func (d *decoder) column(offset int) int {
	return 1 + utf8.RuneCount(d.data[d.lines[d.line(offset)-1]:offset])
}

func (n node) say(format string, args ...any) remark {
	text := fmt.Sprintf(format, args...)
	if n.path != "" {
		text = n.path + ": " + text
	}
	return remark{n.offset, text}
}

func (d *decoder) errorf(n node, format string, args ...any) {
	if len(d.problems) < maxKept {
		d.problems = append(d.problems, n.say(format, args...))
	}
}

func (d *decoder) warnf(n node, format string, args ...any) {
	if len(d.warnings) < maxKept {
		d.warnings = append(d.warnings, n.say(format, args...))
	}
}

// entryScope gathers why one server cannot start.
type entryScope struct {
	path   string
	faults []error
}

func (s *entryScope) fault(path, text string) {
	text = path + ": " + text
	if len(s.faults) < maxShown && !slices.ContainsFunc(s.faults, func(e error) bool { return e.Error() == text }) {
		s.faults = append(s.faults, errors.New(text))
	}
}

// lacks says what the environment lacks that n needs: the server's Fault, elsewhere an error.
func (d *decoder) lacks(n node, format string, args ...any) {
	if d.inside != nil {
		d.inside.fault(d.inside.path, fmt.Sprintf(format, args...))
	} else {
		d.errorf(n, format, args...)
	}
}

// wrongf says that n's value will not do: an error, but a server's Fault where the value came from the environment.
func (d *decoder) wrongf(n node, format string, args ...any) {
	if d.inside != nil && n.filled() {
		d.inside.fault(n.path, fmt.Sprintf(format, args...))
	} else {
		d.errorf(n, format, args...)
	}
}

// filled: n is a string with something filled in.
func (n node) filled() bool {
	return n.value.Kind() == '"' && strings.Contains(n.value.(hujson.Literal).String(), "${")
}

// expected is the error of a value that is of the wrong type.
func (d *decoder) expected(n node, what string) {
	d.errorf(n, "expected %s, got %s", what, kindNames[n.value.Kind()])
}

var kindNames = map[hujson.Kind]string{
	'n': "null", 'f': "false", 't': "true", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
}

// err is all problems, in the order of the file.
func (d *decoder) err() error {
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

// warned is all warnings, in the order of the file.
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

// membersOf is the members of an object in file order; false when n is none.
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

// members is membersOf that says what was expected.
func (d *decoder) members(n node, what string) ([]node, bool) {
	members, ok := d.membersOf(n)
	if !ok {
		d.expected(n, what)
	}
	return members, ok
}

// memberPath is the path of a member: a.b, or a["b c"] where a bare name would mislead.
func memberPath(parent, name string) string {
	if name == "" || name != hint.Shorten(name) || derivedPrefix(name) != name {
		return parent + "[" + hint.Quote(name) + "]"
	}
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// object hands each member to its key's take. null is as good as a key left out.
func (d *decoder) object(n node, keys keySet) {
	members, _ := d.members(n, "an object")
	seen := map[string]string{} // our name for a key → the name it came under
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
			d.errorf(m.key(), "says the same as %q: keep one", other)
		default:
			seen[ours] = m.name
			if k.note != "" {
				d.warnf(m.key(), "%s", k.note)
			}
			k.take(d, m)
		}
	}
}

// duplicates finds keys that an object has twice, anywhere.
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
			d.errorf(node{path: n.path, offset: m.at}, "key %s of line %d again on line %d: keep one",
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
