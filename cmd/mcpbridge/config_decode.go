package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	maxShown   = 20   // errors that are shown
	maxKept    = 1000 // errors, and warnings, that are kept: what is beyond is not looked for
	maxNesting = 100  // objects and arrays inside each other: the parser below recurses
)

// configDecoder reads one config. It goes on after a mistake, so that all are said at once.
type configDecoder struct {
	file     string // as errors name it
	dir      string // that relative paths start from
	data     []byte
	lines    []int // offset of each line's first byte
	getenv   func(string) (string, bool)
	problems []remark
	warnings []remark
	inside   *serverScope // the server block that is being read; nil outside
}

// remark is something to say about a place in the file.
type remark struct {
	offset int // bytes
	text   string
}

// configNode is a value in the syntax tree, and how one says where it is.
type configNode struct {
	path   string // mcpServers.github.args[1]; "" is the whole file
	name   string // the key it stands under
	at     int    // offset of that key
	offset int    // offset of the value
	value  hujson.ValueTrimmed
}

// key is the place of n's key instead of its value.
func (n configNode) key() configNode { n.offset = n.at; return n }

func (n configNode) null() bool { return n.value.Kind() == 'n' }

func (n configNode) boolean() (value, ok bool) {
	k := n.value.Kind()
	return k == 't', k == 't' || k == 'f'
}

// configKey is one key of an object.
type configKey struct {
	take  func(*configDecoder, configNode) // nil: the key is another program's and ignored
	same  string                           // the key's name here, where this is another client's word for it
	only  string                           // "command" or "url": the way of reaching a server that it belongs to
	note  string                           // what its warning says
	quiet bool                             // ignored without a warning
}

// configKeys are all keys of one kind of object.
type configKeys map[string]configKey

func newConfigDecoder(file, dir string, data []byte, getenv func(string) (string, bool)) *configDecoder {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := &configDecoder{file: file, dir: dir, data: data, getenv: getenv, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// line counts from 1.
func (d *configDecoder) line(offset int) int {
	i, found := slices.BinarySearch(d.lines, offset)
	if found {
		return i + 1
	}
	return i
}

// column counts characters from 1, as editors do.
func (d *configDecoder) column(offset int) int {
	return 1 + utf8.RuneCount(d.data[d.lines[d.line(offset)-1]:offset])
}

func (n configNode) say(format string, args ...any) remark {
	text := fmt.Sprintf(format, args...)
	if n.path != "" {
		text = n.path + ": " + text
	}
	return remark{n.offset, text}
}

func (d *configDecoder) errorf(n configNode, format string, args ...any) {
	if len(d.problems) < maxKept {
		d.problems = append(d.problems, n.say(format, args...))
	}
}

func (d *configDecoder) warnf(n configNode, format string, args ...any) {
	if len(d.warnings) < maxKept {
		d.warnings = append(d.warnings, n.say(format, args...))
	}
}

// serverScope gathers why one server cannot start.
type serverScope struct {
	path   string
	faults []error
}

func (s *serverScope) fault(path, text string) {
	text = path + ": " + text
	if len(s.faults) < maxShown && !slices.ContainsFunc(s.faults, func(e error) bool { return e.Error() == text }) {
		s.faults = append(s.faults, errors.New(text))
	}
}

// lacks says what the environment lacks that n needs: the server's Fault, elsewhere an error.
func (d *configDecoder) lacks(n configNode, format string, args ...any) {
	if d.inside != nil {
		d.inside.fault(d.inside.path, fmt.Sprintf(format, args...))
	} else {
		d.errorf(n, format, args...)
	}
}

// wrongf says that n's value will not do: an error, but a server's Fault where the value came from the environment.
func (d *configDecoder) wrongf(n configNode, format string, args ...any) {
	if d.inside != nil && n.filled() {
		d.inside.fault(n.path, fmt.Sprintf(format, args...))
	} else {
		d.errorf(n, format, args...)
	}
}

// filled: n is a string with something filled in.
func (n configNode) filled() bool {
	return n.value.Kind() == '"' && strings.Contains(n.value.(hujson.Literal).String(), "${")
}

// expected is the error of a value that is of the wrong type.
func (d *configDecoder) expected(n configNode, what string) {
	d.errorf(n, "expected %s, got %s", what, kindNames[n.value.Kind()])
}

var kindNames = map[hujson.Kind]string{
	'n': "null", 'f': "false", 't': "true", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
}

// err is all problems, in the order of the file.
func (d *configDecoder) err() error {
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
func (d *configDecoder) warned() []string {
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
func (d *configDecoder) membersOf(n configNode) ([]configNode, bool) {
	obj, ok := n.value.(*hujson.Object)
	if !ok {
		return nil, false
	}
	members := make([]configNode, 0, len(obj.Members))
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		members = append(members, configNode{
			path: memberPath(n.path, name), name: name,
			at: m.Name.StartOffset, offset: m.Value.StartOffset, value: m.Value.Value,
		})
	}
	return members, true
}

// members is membersOf that says what was expected.
func (d *configDecoder) members(n configNode, what string) ([]configNode, bool) {
	members, ok := d.membersOf(n)
	if !ok {
		d.expected(n, what)
	}
	return members, ok
}

// memberPath is the path of a member: a.b, or a["b c"] where a bare name would mislead.
func memberPath(parent, name string) string {
	if name == "" || len(name) > maxQuoted || derivedPrefix(name) != name {
		return parent + "[" + quoteShort(name) + "]"
	}
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// object hands each member to its key's take. null is as good as a key left out.
func (d *configDecoder) object(n configNode, keys configKeys) {
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
func (d *configDecoder) duplicates(n configNode) {
	if arr, ok := n.value.(*hujson.Array); ok {
		for i, e := range arr.Elements {
			d.duplicates(n.element(i, e))
		}
	}
	members, _ := d.membersOf(n)
	lines := make(map[string]int, len(members))
	for _, m := range members {
		if line := lines[m.name]; line > 0 {
			d.errorf(configNode{path: n.path, offset: m.at}, "key %s of line %d again on line %d: keep one",
				quoteShort(m.name), line, d.line(m.at))
		} else {
			lines[m.name] = d.line(m.at)
		}
		d.duplicates(m)
	}
}

func (n configNode) element(i int, e hujson.Value) configNode {
	return configNode{path: fmt.Sprintf("%s[%d]", n.path, i), at: e.StartOffset, offset: e.StartOffset, value: e.Value}
}

// A reader turns a node into a value; false: it said why it cannot.
type reader[T any] func(*configDecoder, configNode) (T, bool)

// into is the take of a key whose value goes to a field.
func into[T any](field *T, read reader[T]) func(*configDecoder, configNode) {
	return func(d *configDecoder, n configNode) {
		if v, ok := read(d, n); ok {
			*field = v
		}
	}
}

// inside is the take of a key whose value is an object with keys of its own.
func inside(keys func() configKeys) func(*configDecoder, configNode) {
	return func(d *configDecoder, n configNode) { d.object(n, keys()) }
}

func listOf(read reader[string]) reader[[]string] {
	return func(d *configDecoder, n configNode) ([]string, bool) {
		arr, ok := n.value.(*hujson.Array)
		if !ok {
			d.expected(n, "an array of strings")
			return nil, false
		}
		var list []string
		for i, e := range arr.Elements {
			if v, ok := read(d, n.element(i, e)); ok {
				list = append(list, v)
			}
		}
		return list, true
	}
}

// mapOf reads an object of strings; check says what is wrong with a key, or "".
func mapOf(check func(key string) string, read reader[string]) reader[map[string]string] {
	return func(d *configDecoder, n configNode) (map[string]string, bool) {
		members, ok := d.members(n, "an object of strings")
		values := make(map[string]string, len(members))
		for _, m := range members {
			if check != nil && check(m.name) != "" {
				d.errorf(m.key(), "%s", check(m.name))
			}
			if v, ok := read(d, m); ok {
				values[m.name] = v
			}
		}
		return values, ok
	}
}

// readString reads a string as it is written.
func readString(d *configDecoder, n configNode) (string, bool) {
	if n.value.Kind() != '"' {
		d.expected(n, "a string")
		return "", false
	}
	return n.value.(hujson.Literal).String(), true
}

func readBool(d *configDecoder, n configNode) (bool, bool) {
	value, ok := n.boolean()
	if !ok {
		d.expected(n, "true or false")
	}
	return value, ok
}

// number is n's number; false: it is none that a float64 holds.
func (n configNode) number() (float64, bool) {
	if n.value.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(n.value.(hujson.Literal)), 64)
	return f, err == nil
}

// whole converts f when it is a whole number from 1 that an int holds exactly.
func whole(f float64) (int, bool) {
	if f < 1 || f > min(1<<53, math.MaxInt) || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}

func readCount(d *configDecoder, n configNode) (int, bool) {
	f, ok := n.number()
	count, fits := whole(f)
	switch {
	case !ok:
		d.expected(n, "a whole number above zero")
	case !fits:
		d.errorf(n, "expected a whole number above zero (leave the key out for the default)")
	}
	return count, ok && fits
}

var sizeUnits = map[string]float64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}

func readSize(d *configDecoder, n configNode) (int, bool) {
	const want = `a size above zero: a number of bytes, or "64MiB", "10MB", "512KiB"`
	f, ok := n.number()
	if n.value.Kind() == '"' {
		text, filled := readText(d, n)
		if !filled {
			return 0, false
		}
		digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		unit, known := sizeUnits[strings.ToLower(text[len(digits):])]
		count, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		f, ok = count*unit, known && err == nil
	}
	size, fits := whole(f)
	return size, d.fits(n, ok && fits, want)
}

// fits says what was wanted of a string or number when it is not that.
func (d *configDecoder) fits(n configNode, ok bool, want string) bool {
	switch k := n.value.Kind(); {
	case ok:
	case k == '"' || k == '0':
		d.wrongf(n, "expected %s", want)
	default:
		d.expected(n, want)
	}
	return ok
}

func readDuration(d *configDecoder, n configNode) (time.Duration, bool) {
	const want = `a duration above zero: "30s", "5m", or a number of seconds`
	f, ok := n.number()
	dur := time.Duration(0)
	if ok && f < math.MaxInt64/1e9 {
		dur = time.Duration(f * 1e9)
	}
	if n.value.Kind() == '"' {
		text, filled := readText(d, n)
		if !filled {
			return 0, false
		}
		dur, _ = time.ParseDuration(text)
	}
	return dur, d.fits(n, dur > 0, want)
}

// readTimeout is a duration, or milliseconds: some clients write 60, others 60000.
func readTimeout(d *configDecoder, n configNode) (time.Duration, bool) {
	dur, ok := readDuration(d, n)
	if f, isNumber := n.number(); ok && isNumber && f >= 1000 {
		dur /= 1000
		d.warnf(n, `%s is read as milliseconds; "%v" says so`, strconv.FormatFloat(f, 'f', -1, 64), dur)
	}
	return dur, ok
}

// parse makes the syntax tree; false: it said where the file is no JSON with comments.
func (d *configDecoder) parse() (configNode, bool) {
	if _, mistake := scan(d.data); mistake != nil {
		d.problems = append(d.problems, *mistake)
		return configNode{}, false
	}
	// The parser wants a line's end behind a line comment.
	root, err := hujson.Parse(slices.Concat(d.data, []byte("\n")))
	if err != nil {
		d.problems = append(d.problems, d.syntax(err))
		return configNode{}, false
	}
	n := configNode{offset: root.StartOffset, value: root.Value}
	if n.value.Kind() != '{' {
		d.expected(n, `an object such as {"mcpServers": {}}`)
		return n, false
	}
	return n, true
}

// scan finds what the parser cannot take or says unclearly: deep nesting, strings that are not closed, text that is
// not UTF-8. open is where the objects and arrays begin that are not closed at the end of b.
func scan(b []byte) (open []int, mistake *remark) {
	if !utf8.Valid(b) {
		at := len(b) - len(bytes.TrimLeftFunc(b, func(r rune) bool { return r != utf8.RuneError }))
		for r, size := utf8.DecodeRune(b[at:]); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(b[at:]) {
			at += size
		}
		return nil, &remark{at, "not UTF-8: save the file as UTF-8"}
	}
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			if open = append(open, i); len(open) > maxNesting {
				return nil, &remark{i, fmt.Sprintf("nested deeper than %d levels", maxNesting)}
			}
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		case '/':
			i += commentSize(b[i:])
		case '"':
			end, text := stringEnd(b, i)
			if text != "" {
				return nil, &remark{end, text}
			}
			i = end
		}
	}
	return open, nil
}

// commentSize is the length of the comment that b begins with, less one; 0 when there is none.
func commentSize(b []byte) int {
	end := "\n"
	switch {
	case bytes.HasPrefix(b, []byte("/*")):
		end = "*/"
	case !bytes.HasPrefix(b, []byte("//")):
		return 0
	}
	if size := bytes.Index(b[2:], []byte(end)); size >= 0 {
		return size + 1 + len(end)
	}
	return len(b) - 1
}

// stringEnd is the offset of the quote that closes the string at start, or that of a mistake and what it is.
func stringEnd(b []byte, start int) (offset int, mistake string) {
	for i := start + 1; i < len(b); i++ {
		switch {
		case b[i] == '"':
			return i, ""
		case b[i] == '\n' || b[i] == '\r':
			return start, `the string is not closed on its line: expected '"'`
		case b[i] < ' ':
			return i, `a control character in a string is written as an escape, as in "\t"`
		case b[i] == '\\':
			i++
		}
	}
	return start, `the string is not closed: expected '"'`
}

// syntaxMistakes puts the parser's errors into words that say what was expected and repeat nothing of the file.
var syntaxMistakes = []struct{ parser, text string }{
	{"parsing value", "expected a value"},
	{"parsing object after name", "expected ':' after the key"},
	{"parsing object after value", "expected ',' or '}'"},
	{"parsing array after value", "expected ',' or ']'"},
	{"parsing comment", "the comment is not closed: expected '*/'"},
	{"at start of value", "expected a value: a string in double quotes, a number, true, false, null, '{' or '['"},
	{"invalid literal", "expected a value: a string in double quotes, a number, true, false, null, '{' or '['"},
	{"at start of object name", "expected a key in double quotes"},
	{"after object name", "expected ':' after the key"},
	{"after object value", "expected ',' or '}'"},
	{"after array value", "expected ',' or ']'"},
	{"after top-level value", "expected the end of the file"},
	{"in line comment", "a line comment with a Unicode line separator in it"},
}

// syntax is the parser's error as a remark. It comes as text alone, with line and column in bytes.
func (d *configDecoder) syntax(err error) remark {
	var line, column int
	r := remark{text: "not JSON with comments"}
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr == nil && line <= len(d.lines) {
		r.offset = min(d.lines[line-1]+column-1, len(d.data))
	} else {
		r.offset = len(d.data)
	}
	for _, m := range syntaxMistakes {
		if strings.Contains(err.Error(), m.parser) {
			r.text = m.text
			break
		}
	}
	before, rest := bytes.TrimRight(d.data[:r.offset], " \t\r\n"), d.data[r.offset:]
	open, _ := scan(before)
	inObject := len(open) > 0 && d.data[open[len(open)-1]] == '{'
	switch {
	case len(bytes.TrimSpace(d.data)) == 0:
		return remark{0, `the file is empty: expected an object such as {"mcpServers": {}}`}
	case len(bytes.TrimSpace(rest)) == 0:
		r.offset = len(before)
		r.text += ", got the end of the file"
		if len(open) > 0 {
			at := open[len(open)-1]
			r.text += fmt.Sprintf(" (the '%c' of line %d is not closed)", d.data[at], d.line(at))
		}
	case inObject && (bytes.HasSuffix(before, []byte("{")) || bytes.HasSuffix(before, []byte(","))):
		r.text = "expected a key in double quotes"
	case rest[0] == '"' && strings.Contains(err.Error(), "invalid literal"):
		r.text = `an escape in the string is none of JSON's (a backslash is written \\, as in "C:\\tools")`
	}
	return r
}
