package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	maxSecret = 1 << 20 // bytes
	maxTyped  = 4096    // characters that a term.Terminal reads of a line, whose rest it drops
)

// A keptSecret is a secret as secret list shows it, which is without its value.
type keptSecret struct {
	Name string      `json:"name"`
	Set  time.Time   `json:"set,omitzero"` // zero for one that the config refers to and that is not kept
	Used []secretUse `json:"used"`
}

// A secretUse is a place in a config that refers to a secret.
type secretUse struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

func (u secretUse) String() string { return fmt.Sprintf("%s:%d", u.File, u.Line) }

func runSecretSet(ctx context.Context, args []string, std streams) error {
	f := newFlags("secret set", "secret set NAME", "Keeps a secret, to which a config refers with ${keychain:NAME}. It is asked for, or read\n"+
		"from standard input. It is kept in a sealed file in the user's state folder, whose key\nis in the system's keychain, or beside it where there is none.", std)
	names, err := f.secretNames(args, 1)
	if err != nil {
		return err
	}
	text, err := readSecret(ctx, names[0], std)
	if err != nil {
		return err
	}
	store, err := secret.Of(secret.Config)
	if err == nil {
		err = store.Save(names[0], text)
	}
	if err != nil {
		return err
	}
	output.Item(std.out, "", fmt.Sprintf("%s is set: sealed in %s with the key %s", names[0], store.Path(), store.KeyPlace()))
	return nil
}

// secretNames parses the arguments of a command with the names of secrets, at most some.
func (f *sourceFlags) secretNames(args []string, most int) ([]string, error) {
	if err := f.parseOwn(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() == 0:
		return nil, usagef("%s: expected the name of a secret", f.Name())
	case f.NArg() > most: // perhaps the secret itself
		return nil, usagef("%s: expected one name: the secret is asked for, or read from standard input, as an argument shows in the list of processes", f.Name())
	}
	for _, name := range f.Args() {
		if !secret.IsName(name) {
			return nil, usagef("%s: %s: expected %s", f.Name(), hint.Quote(name), secret.NameRule)
		}
	}
	return f.Args(), nil
}

// readSecret asks for a secret, or reads it from standard input without the end of its last line.
func readSecret(ctx context.Context, name string, std streams) (text []byte, err error) {
	if in, ok := std.in.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		text, err = askSecret(ctx, name, in, std.err)
	} else if text, err = readInput(ctx, std.in, func(in io.Reader) ([]byte, error) { return file.ReadAll(in, maxSecret) }); err == nil {
		text = []byte(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("secret set: %w", err)
	case len(text) == 0:
		return nil, usagef("secret set: the secret is empty (mcpbridge secret rm %s removes one)", name)
	}
	return text, nil
}

// askSecret reads a line from the terminal, which does not show it.
func askSecret(ctx context.Context, name string, in *os.File, w io.Writer) ([]byte, error) {
	before, err := term.MakeRaw(int(in.Fd())) // first, as what is typed from the prompt on is not to be shown
	if err != nil {
		return nil, err
	}
	defer term.Restore(int(in.Fd()), before)
	if f, ok := output.File(w); ok {
		w = f // the names of secrets are clean
	}
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{in, w}, "").ReadPassword(name + " (it is not shown): ")
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		if errors.Is(l.err, io.EOF) { // Control-C is no signal here
			io.WriteString(w, "\r\n")
			l.err = &exitError{code: exitInterrupted}
		}
		if utf8.RuneCountInString(l.text) >= maxTyped {
			l.err = fmt.Errorf("a terminal takes less than %d characters of one: have it read from a file, as in: mcpbridge secret set %s <FILE", maxTyped, name)
		}
		return []byte(l.text), l.err
	case <-ctx.Done(): // the program ends
		return nil, context.Cause(ctx)
	}
}

func runSecretList(_ context.Context, args []string, std streams) error {
	f := newFlags("secret list", "secret list [--config FILE] [--json]", "Lists the secrets that are kept, when each was set, and where the config refers to it. Values\nare not shown.", std)
	path := f.configFlag("look for references in this `FILE`")
	asJSON := f.Bool("json", false, "print an array, an object for each secret")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("secret list: unexpected argument %s", hint.Quote(f.Arg(0)))
	}
	_, list, err := keptSecrets(*path)
	switch {
	case err != nil:
		return err
	case *asJSON:
		return printJSON(std.out, list)
	case len(list) == 0:
		fmt.Fprintln(std.out, "no secrets are kept (mcpbridge secret set NAME)")
		return nil
	}
	rows := [][]string{{"NAME", "SET", "USED"}}
	for _, s := range list {
		set := "no (mcpbridge secret set " + s.Name + ")"
		if !s.Set.IsZero() {
			set = s.Set.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{s.Name, set, cmp.Or(joinUses(s.Used), "-")})
	}
	return output.Table(std.out, output.Width(std.out), rows)
}

func joinUses(uses []secretUse) string {
	var all []string
	for _, u := range uses {
		all = append(all, u.String())
	}
	return strings.Join(all, ", ")
}

func runSecretRemove(_ context.Context, args []string, std streams) error {
	f := newFlags("secret rm", "secret rm NAME… [--config FILE]", "Removes secrets that are kept.", std)
	path := f.configFlag("warn of references in this `FILE`")
	names, err := f.secretNames(args, len(args))
	if err != nil {
		return err
	}
	store, list, err := keptSecrets(*path)
	if err != nil {
		return err
	}
	kept := map[string]keptSecret{}
	for _, s := range list {
		if !s.Set.IsZero() {
			kept[s.Name] = s
		}
	}
	for _, name := range names {
		if _, ok := kept[name]; !ok {
			near := " (mcpbridge secret list has the names)"
			if word := toolformat.Closest(name, slices.Sorted(maps.Keys(kept))); word != "" {
				near = " (did you mean " + word + "?)"
			}
			return usagef("secret rm: no secret %s is kept%s", name, near)
		}
	}
	for _, name := range names {
		if err := store.Delete(name); err != nil {
			return err
		}
		text := "removed " + name
		if uses := joinUses(kept[name].Used); uses != "" {
			text += ": still used at " + uses
		}
		output.Item(std.out, "", text)
	}
	return nil
}

// keptSecrets returns the store, and the secrets that it has or that the config at path refers to, which need
// not exist if path is "".
func keptSecrets(path string) (*secret.Store, []keptSecret, error) {
	store, err := secret.Of(secret.Config)
	if err != nil {
		return nil, nil, err
	}
	times, err := store.Times()
	if err != nil {
		return nil, nil, err
	}
	uses := map[string][]secretUse{}
	if found, err := config.Find(path); err == nil {
		text, err := file.ReadRegular(found, maxConfig)
		if err != nil {
			return nil, nil, usagef("config %s: %v", found, err)
		}
		uses = usesIn(found, string(text))
	}
	names := slices.Collect(maps.Keys(times))
	for name := range uses {
		if _, kept := times[name]; !kept {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	list := []keptSecret{}
	for _, name := range names {
		list = append(list, keptSecret{name, times[name], append([]secretUse{}, uses[name]...)})
	}
	return store, list, nil
}

// usesIn returns where a config refers to secrets.
func usesIn(path, text string) map[string][]secretUse {
	uses, line := map[string][]secretUse{}, 0
	reference := regexp.MustCompile(`\$?\$\{keychain:([^}]*)\}`)
	for l := range strings.Lines(text) {
		line++
		for _, m := range reference.FindAllStringSubmatch(l, -1) {
			if !strings.HasPrefix(m[0], "$$") && secret.IsName(m[1]) {
				uses[m[1]] = append(uses[m[1]], secretUse{path, line})
			}
		}
	}
	return uses
}
