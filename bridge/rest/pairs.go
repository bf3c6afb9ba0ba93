package rest

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A pair is a name and a value of a query, a form or the cookies, escaped.
type pair struct {
	name, value string
	free        bool // the name comes from the argument
	isJSON      bool // the value is the JSON of an object
}

// maxNames bounds the names of pairs that a call adds, in bytes: each value of a deepObject repeats
// the keys above it.
const maxNames = 1 << 20

// pairs collects pairs.
type pairs struct {
	escape func(string) string
	taken  []taken // names of other parameters in the same place
	all    []pair
	names  int // bytes of free names
}

// add adds the pairs of an argument, none if it is an empty list or object. name is escaped.
func (p *pairs) add(e encoding, name string, v []byte) {
	isList := isArray(v) || isObject(v)
	switch {
	case !isList || e.style == styleJSON:
		p.all = append(p.all, pair{name: name, value: e.text(name, v, p.escape), isJSON: isList})
	case e.style == styleDeep:
		p.addDeep(name, v)
	case isArray(v) && (e.style == styleDefault || e.explode):
		for item := range wire.Elements(v) {
			if !isNull(item) {
				p.all = append(p.all, pair{name: name, value: p.escape(native.Text(item)), isJSON: isObject(item)})
			}
		}
	case isObject(v) && e.explode:
		for key, member := range wire.Members(v) {
			if !isNull(member) {
				p.addFree(p.escape(key), member)
			}
		}
	default:
		if text := e.text(name, v, p.escape); text != "" {
			p.all = append(p.all, pair{name: name, value: text, isJSON: e.style == styleDefault})
		}
	}
}

// addDeep adds the pairs of a deepObject: a list of plain values as name[]=value, a list of lists
// and objects with the numbers of its items, so that each item's members stay together.
func (p *pairs) addDeep(name string, v []byte) {
	p.names += len(name)
	isFull := func() bool { return p.names > maxNames }
	open, end := p.escape("["), p.escape("]")
	switch {
	case isObject(v):
		for key, member := range wire.Members(v) {
			if isFull() {
				return
			}
			p.addDeep(name+open+p.escape(key)+end, member)
		}
	case isArray(v):
		isNumbered := false
		for item := range wire.Elements(v) {
			isNumbered = isNumbered || isArray(item) || isObject(item)
		}
		i := 0
		for item := range wire.Elements(v) {
			if isFull() {
				return
			}
			number := ""
			if isNumbered {
				number = strconv.Itoa(i)
			}
			p.addDeep(name+open+number+end, item)
			i++
		}
	case !isNull(v):
		p.addFree(name, v)
	}
}

func (p *pairs) addFree(name string, v []byte) {
	p.all = append(p.all, pair{name: name, value: p.escape(native.Text(v)), free: true})
}

// check refuses names of members that are those of other parameters, which the definition, the
// config or another argument sets, and too many of them. own is the escaped name of the argument
// whose pairs these are, and taken reports whether a folded name is that of a parameter.
func (p *pairs) check(argument, own string, taken func(name string) bool) error {
	if p.names > maxNames {
		return fmt.Errorf("argument %s: the names of its members have more than %d bytes in all", argument, maxNames)
	}
	own = foldEscaped(own)
	for _, it := range p.all {
		if !it.free {
			continue
		}
		name := foldEscaped(it.name)
		base := strings.TrimLeft(name, "[]") // frameworks read name[], [name] and name] as name
		if end := strings.IndexAny(base, "[]"); end >= 0 {
			base = base[:end]
		}
		flat := strings.ReplaceAll(name, "[", "_") // PHP reads a[b, without an end, as a_b
		if name != own && (taken(name) || taken(flat)) || base != own && taken(base) {
			return fmt.Errorf("argument %s: its member %q has the name of another parameter", argument, native.Shorten(name))
		}
	}
	return nil
}

// foldEscaped folds the name of a pair of a query.
func foldEscaped(name string) string {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return fold(name)
}

// fold maps names that a server may take for one to one: those that differ in letter case only, and
// those that PHP makes the same (its manual, "Variables From External Sources").
func fold(name string) string {
	name, _, _ = strings.Cut(name, "\x00") // PHP's names end there
	name = strings.ToLower(strings.ToUpper(strings.TrimLeft(name, " ")))
	return phpNames.Replace(name)
}

var phpNames = strings.NewReplacer(" ", "_", ".", "_")
