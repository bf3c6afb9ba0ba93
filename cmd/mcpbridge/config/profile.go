package config

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// A Profile is an entry of "profiles": what some callers see, and how often they may call.
type Profile struct {
	Name       string              // its key
	Principals []string            // patterns of names in "tokens"; empty means any
	Claims     map[string][]string // patterns of the values of a caller's claims, each of which is needed

	Servers     []string        // patterns of servers; empty means all
	Annotations map[string]bool // that its tools have

	// What it has of each kind: what matches one of Include, or all if that is empty, and none of Exclude.
	Tools, Prompts, Resources patterns

	Context map[string]json.RawMessage // hidden values by their lower-case names
	Rates   []Rate                     // in place of those of Limits; nil means that those hold
}

// A Rate bounds how often each caller may call the tools that match a pattern, in all.
type Rate struct {
	Match  string        // a glob of tool names
	Calls  int           // in Per
	Per    time.Duration // 0 if Daily
	Burst  int           // calls at once; default: Calls
	Daily  bool          // Calls are those of a day of UTC, in place of Per and Burst
	Shared bool          // of all callers together
}

type patterns = struct{ Include, Exclude []string }

// nativeTools and lentTools are the names of the native tools, and of those that clients lend, where
// servers are named.
const nativeTools, lentTools = "native tools", "lent tools"

func (p *Profile) keys() keySet {
	return keySet{
		"principals":  {take: into(&p.Principals, someOf(readGlob))},
		"claims":      {take: into(&p.Claims, readClaims)},
		"servers":     {take: into(&p.Servers, someOf(readServerGlob))},
		"tools":       {take: into(&p.Tools, readPatterns)},
		"prompts":     {take: into(&p.Prompts, readPatterns)},
		"resources":   {take: into(&p.Resources, readPatterns)},
		"annotations": {take: into(&p.Annotations, readAnnotations)},
		"context":     {take: into(&p.Context, readValues)},
		"rate":        {take: into(&p.Rates, readRates)},
	}
}

func readProfiles(d *decoder, n node) ([]Profile, bool) {
	members, ok := d.members(n, "an object of profiles")
	var all []Profile
	for _, m := range members {
		if m.name == "" || strings.ContainsFunc(m.name, func(r rune) bool {
			return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("-_", r))
		}) {
			d.errorf(m.key(), `a profile's name is a part of URLs: it consists of letters, digits, "-" and "_"`)
		}
		p := Profile{Name: m.name}
		d.object(m, p.keys())
		all = append(all, p)
	}
	return all, ok
}

// readPatterns reads an object of lists of patterns, or the list of those to include alone.
func readPatterns(d *decoder, n node) (p patterns, ok bool) {
	switch n.value.Kind() {
	case '[':
		p.Include, ok = someOf(readGlob)(d, n)
	case '{':
		d.object(n, keySet{
			"include": {take: into(&p.Include, someOf(readGlob))},
			"exclude": {take: into(&p.Exclude, listOf(readGlob))},
		})
		return p, true
	default:
		d.expected(n, `an array of patterns, or an object with "include" and "exclude"`)
		return p, false
	}
	return p, ok
}

// someOf is listOf for a list that means all without an element, which nobody who writes it may expect.
func someOf(read reader[string]) reader[[]string] {
	return func(d *decoder, n node) ([]string, bool) {
		if arr, ok := n.value.(*hujson.Array); ok && len(arr.Elements) == 0 {
			d.errorf(n, "expected at least one pattern (omit the key for all)")
			return nil, false
		}
		return listOf(read)(d, n)
	}
}

// readServerGlob reads a pattern of servers, which may come later in the file.
func readServerGlob(d *decoder, n node) (string, bool) {
	pattern, ok := readGlob(d, n)
	if ok && !strings.ContainsAny(pattern, `*?[\`) && pattern != nativeTools && pattern != lentTools {
		d.atEnd = append(d.atEnd, func() {
			if !slices.Contains(d.servers, pattern) {
				d.errorf(n, "unknown server %s%s", hint.Quote(pattern), hint.DidYouMean(pattern, append(slices.Clip(d.servers), nativeTools, lentTools)))
			}
		})
	}
	return pattern, ok
}

func readClaims(d *decoder, n node) (map[string][]string, bool) {
	members, ok := d.members(n, "an object of claims and patterns of their values")
	d.claims = append(d.claims, n)
	claims := make(map[string][]string, len(members))
	for _, m := range members {
		switch value, isBool := m.boolean(); {
		case isBool:
			claims[m.name] = []string{strconv.FormatBool(value)}
		case m.value.Kind() == '"':
			pattern, _ := readGlob(d, m)
			claims[m.name] = []string{pattern}
		case m.value.Kind() == '[':
			claims[m.name], _ = someOf(readGlob)(d, m)
		default:
			d.expected(m, "a pattern, an array of patterns, or true or false")
		}
	}
	return claims, ok
}

func readAnnotations(d *decoder, n node) (map[string]bool, bool) {
	hints := map[string]bool{}
	keys := keySet{}
	for _, name := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		keys[name] = keyRule{take: func(d *decoder, m node) {
			if value, ok := readBool(d, m); ok {
				hints[name] = value
			}
		}}
	}
	d.object(n, keys)
	return hints, true
}

// readValues reads hidden values by their names, in any letter case.
func readValues(d *decoder, n node) (map[string]json.RawMessage, bool) {
	members, ok := d.members(n, "an object of hidden values")
	values := make(map[string]json.RawMessage, len(members))
	for _, m := range d.distinct(members, strings.ToLower) {
		values[m.name] = m.json(d)
		d.hidden = append(d.hidden, hiddenName{m.name, m.path, d.line(m.at), false})
	}
	return values, ok
}

// readRates reads the rates of all calls, or an object of patterns of tools and their rates.
func readRates(d *decoder, n node) (rates []Rate, ok bool) {
	if n.value.Kind() != '{' {
		return readRatesOf(d, n, "*")
	}
	members, _ := d.membersOf(n)
	for _, m := range members {
		if !isGlob(m.name) {
			d.errorf(m.key(), "expected a pattern of tool names")
		}
		if own, ok := readRatesOf(d, m, m.name); ok {
			rates = append(rates, own...)
		}
	}
	return rates, true
}

// readRatesOf reads a rate of the tools that match a pattern, or an array of them.
func readRatesOf(d *decoder, n node, match string) (rates []Rate, ok bool) {
	own := []node{n}
	if arr, ok := n.value.(*hujson.Array); ok {
		own = nil
		for i, e := range arr.Elements {
			own = append(own, n.element(i, e))
		}
	}
	for _, n := range own {
		if rate, valid := readRate(d, n); valid {
			if rate.Daily && slices.ContainsFunc(rates, func(r Rate) bool { return r.Daily && r.Shared == rate.Shared }) {
				d.errorf(n, "is another number of calls a day: keep one")
			}
			rate.Match = match
			rates = append(rates, rate)
		}
	}
	return rates, len(rates) == len(own)
}

// units are those of time in a rate.
var units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

func readRate(d *decoder, n node) (r Rate, ok bool) {
	const want = `expected a rate such as "60/m", "600/h burst 20", "2000/day" or "50/day shared", per s, m, h, d or day, with numbers below 1048576`
	_, ok = d.textIf(n, want, func(text string) bool {
		text, r.Shared = strings.CutSuffix(text, " shared")
		text, burst, bursts := strings.Cut(text, " burst ")
		calls, unit, _ := strings.Cut(text, "/")
		r.Daily = unit == "day" && !bursts
		if r.Per, ok = units[unit]; !ok && !r.Daily {
			return false
		}
		if r.Calls, ok = positive(calls); ok && bursts {
			r.Burst, ok = positive(burst)
		}
		return ok
	})
	return r, ok
}

// positive parses a count of 20 bits.
func positive(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 20)
	return int(n), err == nil && n > 0
}
