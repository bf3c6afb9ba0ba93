package toolargs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// Prefix begins the flag of a property whose name is also that of another flag.
const Prefix = "arg."

// Flags are the flags of one tool.
type Flags struct {
	set        *pflag.FlagSet
	properties []Property
	words      map[string][]string // what was given, by property
}

// New returns the flags for the properties of an input schema. A property whose name is taken has only
// the flag with [Prefix]; all others have that, too, unless it is the name of another property.
func New(schema json.RawMessage, taken func(name string) bool) *Flags {
	f := &Flags{set: pflag.NewFlagSet("tool", pflag.ContinueOnError), properties: Properties(schema), words: map[string][]string{}}
	f.set.SortFlags = false
	f.set.Usage = func() {}
	names := map[string]bool{}
	for _, p := range f.properties {
		names[p.Name] = true
	}
	for i := range f.properties {
		p := &f.properties[i]
		if p.Name == "" || strings.ContainsAny(p.Name, "=\t\n\r") || strings.HasPrefix(p.Name, "-") {
			continue // only --args can set it
		}
		if !taken(p.Name) {
			f.add(p, p.Name)
		}
		if !names[Prefix+p.Name] {
			f.add(p, Prefix+p.Name).Hidden = !taken(p.Name)
		}
	}
	return f
}

func (f *Flags) add(p *Property, name string) *pflag.Flag {
	flag := f.set.VarPF(&value{f, p}, name, "", usage(p))
	if p.isSwitch() {
		flag.NoOptDefVal = "true"
	}
	return flag
}

// usage returns the help of a property. pflag takes a part in back quotes for the name of the value.
func usage(p *Property) string {
	text := strings.ReplaceAll(p.About, "`", "'")
	for _, note := range []struct {
		is   bool
		text string
	}{
		{p.isList(), "may be repeated"},
		{p.Required, "required"},
		{p.Default != "", "default " + p.Default},
	} {
		if note.is {
			text += " (" + note.text + ")"
		}
	}
	return strings.TrimSpace(text)
}

// value is a property as the value of a flag.
type value struct {
	flags *Flags
	*Property
}

func (v *value) String() string { return "" }

// Type names the type in the help.
func (v *value) Type() string {
	if v.isSwitch() {
		return "bool" // which pflag does not show
	}
	return v.kind()
}

func (v *value) Set(word string) error {
	words := append(v.flags.words[v.Name], word)
	if _, err := v.value(words); err != nil {
		return err
	}
	v.flags.words[v.Name] = words
	return nil
}

// Parse takes the flags of a command line. own are the names of flags that are not the tool's, for
// advice on a misspelled one.
func (f *Flags) Parse(args, own []string) error {
	var joined []string
	for _, word := range args {
		if last := len(joined) - 1; last >= 0 && strings.HasPrefix(joined[last], "--") && (word == "true" || word == "false") {
			if flag := f.set.Lookup(joined[last][2:]); flag != nil && flag.NoOptDefVal != "" {
				joined[last] += "=" + word // --deep false
				continue
			}
		}
		joined = append(joined, word)
	}
	err := f.set.Parse(joined)
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return f.unknown(unknown.GetSpecifiedName(), own)
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	case err != nil:
		return err
	case f.set.NArg() > 0:
		return fmt.Errorf("unexpected argument %s", hint.Quote(f.set.Arg(0)))
	}
	return nil
}

func (f *Flags) unknown(name string, own []string) error {
	known := slices.Clone(own)
	for _, flag := range f.Complete("") {
		known = append(known, strings.TrimPrefix(flag.Text, "--"))
	}
	text := "unknown flag --" + hint.Shorten(name)
	switch advice := near(name, known); {
	case advice != "":
		return errors.New(text + strings.Replace(advice, "mean ", "mean --", 1))
	case len(f.properties) == 0:
		return errors.New(text + ": there are no arguments")
	}
	known = nil
	for _, flag := range f.Complete("") {
		known = append(known, flag.Text)
	}
	return fmt.Errorf("%s (the tool has %s)", text, strings.Join(known, ", "))
}

// Arguments returns an object of arguments with the values that Parse has taken.
func (f *Flags) Arguments(object json.RawMessage) (json.RawMessage, error) {
	for _, p := range slices.Backward(f.properties) { // a new member becomes the first
		words := f.words[p.Name]
		if words == nil {
			continue
		}
		value, err := p.value(words)
		if err != nil {
			return nil, err
		}
		object = wire.SetMember(object, p.Name, value)
	}
	return object, nil
}

// Usage returns the help of the flags, each on a line; "" without any.
func (f *Flags) Usage() string { return f.set.FlagUsages() }

// A Word is a flag, or a value of one, that completes a command line.
type Word struct{ Text, About string }

// Complete returns the flags, or the values of the flag that a word such as --order names.
func (f *Flags) Complete(flag string) (words []Word) {
	if flag == "" {
		f.set.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden && !strings.Contains(flag.Name, " ") { // which a shell would take for two words
				words = append(words, Word{"--" + flag.Name, flag.Value.(*value).About})
			}
		})
		return words
	}
	known := f.set.Lookup(strings.TrimPrefix(flag, "--"))
	if known == nil {
		return nil
	}
	p := known.Value.(*value).Property
	values := p.Values
	if p.isList() && p.item != nil {
		values = p.item.Values
	}
	for _, v := range values {
		words = append(words, Word{Text: v})
	}
	if p.isSwitch() {
		words = append(words, Word{Text: "true"}, Word{Text: "false"})
	}
	return words
}

// TakesValue reports whether the word after a flag is its value.
func (f *Flags) TakesValue(flag string) bool {
	known := f.set.Lookup(strings.TrimPrefix(flag, "--"))
	return known != nil && known.NoOptDefVal == ""
}
