package registry

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A builder makes an entry.
type builder struct {
	*Options
	entry  *Entry
	remote bool // what the values are goes to another computer
	err    error
}

// arguments returns the arguments that have a value.
func (b *builder) arguments(list []Argument) (args []string) {
	for _, a := range list {
		name := strings.TrimLeft(a.Name, "-")
		if a.Type == "positional" {
			name = a.Hint
		}
		value, ok := b.value(a.Named, name, b.Values)
		switch {
		case a.Type == "positional" && ok:
			args = append(args, value)
		case a.Type == "positional":
		case a.Type != "named" || !strings.HasPrefix(a.Name, "-"):
			b.fail("argument %q: expected a positional one, or a named one with its dashes", a.Name)
		case !ok && a.Description == "", ok && value == "": // a flag by itself
			args = append(args, b.literal(a.Name))
		case !ok: // an option that is not used
		case strings.HasPrefix(a.Name, "--"):
			args = append(args, b.literal(a.Name)+"="+value)
		default:
			args = append(args, b.literal(a.Name), value)
		}
	}
	return args
}

// variable matches a variable in a value.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_.-]*\}`) })

// value returns the text of a value that is given, in the file, or has to come from a variable. It
// returns false if none is needed.
func (b *builder) value(n Named, name string, given map[string]string) (string, bool) {
	if text, ok := given[name]; ok && n.Value == "" {
		return b.secretIf(n.Secret, name, text), true
	}
	switch {
	case n.Value != "":
		return b.fill(n), true
	case n.Default != "":
		return b.literal(n.Default), true
	case n.Required && name != "":
		return b.missing(n.Input, name), true
	}
	return "", false
}

// fill fills in the variables of a value.
func (b *builder) fill(n Named) string {
	var text strings.Builder
	end := 0
	for _, at := range variable().FindAllStringIndex(n.Value, -1) {
		name := n.Value[at[0]+1 : at[1]-1]
		in, ok := n.Variables[name]
		if !ok {
			continue
		}
		text.WriteString(b.literal(n.Value[end:at[0]]))
		end = at[1]
		given, isGiven := b.Values[name]
		switch {
		case in.Value != "":
			text.WriteString(b.literal(in.Value))
		case isGiven:
			text.WriteString(b.secretIf(in.Secret || n.Secret, name, given))
		case in.Default != "":
			text.WriteString(b.literal(in.Default))
		default:
			text.WriteString(b.missing(in, name))
		}
	}
	return text.String() + b.literal(n.Value[end:])
}

// missing returns a variable for a value that somebody has to set.
func (b *builder) missing(in Input, name string) string {
	name = b.upper(name)
	about := name
	if in.Description != "" {
		about += ": " + in.Description
	}
	if !slices.Contains(b.entry.Missing, about) {
		b.entry.Missing = append(b.entry.Missing, about)
	}
	return "${" + name + "}"
}

// secretIf returns a given value, or the variable that stands for it.
func (b *builder) secretIf(secret bool, name, text string) string {
	if !secret || strings.Contains(text, "${") {
		return text
	}
	name = b.upper(name)
	b.entry.Secrets = append(b.entry.Secrets, Pair{name, text})
	return "${" + name + "}"
}

// upper returns the name of a variable: as it is if it is one, else with the server's before it. A remote
// is not told a variable of the environment, such as AWS_SECRET_ACCESS_KEY, because its file names it.
func (b *builder) upper(name string) string {
	if !b.remote && regexp.MustCompile(`^[A-Z][A-Z0-9]*_[A-Z0-9_]*$`).MatchString(name) {
		return name
	}
	upper := strings.ToUpper(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(b.Name+"_"+name, "_"))
	if strings.Trim(upper[:1], "0123456789") == "" {
		upper = "_" + upper
	}
	return upper
}

// expands matches what a config would fill in.
var expands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{|\{env:|\$[A-Za-z_]`) })

// literal returns a text of the file. One that a config would fill in from the environment is refused.
func (b *builder) literal(text string) string {
	if expands().MatchString(text) || strings.ContainsRune(text, 0) {
		b.fail("a value refers to a variable of the environment")
	}
	return text
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// others adds the given values that the file does not ask for.
func (b *builder) others(given map[string]string, asked []Named, add func(Pair)) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(asked, func(n Named) bool { return n.Name == name }) {
			add(Pair{name, given[name]})
		}
	}
}
