package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/tokens"
)

// tokenCommand parses the arguments of a token command: names, at least one unless most is 0.
func tokenCommand(f *sourceFlags, args []string, most int) (cfg *config.Config, err error) {
	path := f.configFlag("the tokens are for serve with this `FILE`")
	if err := f.parseOwn(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > most:
		return nil, usagef("%s: unexpected argument %s", f.Name(), hint.Quote(f.Arg(most)))
	case f.NArg() == 0 && most > 0:
		return nil, usagef("%s: expected a name", f.Name())
	}
	return f.loadConfig(*path)
}

// tellTime is within which a program must say that it is there to be told of a change, which it finds out by itself, too: one
// that hangs may be of another config.
const tellTime = 2 * time.Second

func runTokenCreate(ctx context.Context, args []string, std streams) error {
	f := newFlags("token create", "token create NAME [flags]", "Makes a token with which NAME may use serve, and prints it. It is kept nowhere: the\nfile beside the config has only its hash.", std)
	profiles := f.StringArray("profile", nil, "let it have only this `PROFILE`; may be repeated")
	life := f.String("expires", "", "let it expire after this `TIME`, as in 30d or 12h (default: never)")
	asJSON := f.Bool("json", false, "print one JSON object")
	cfg, err := tokenCommand(f, args, 1)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	made := tokens.Token{Name: f.Arg(0), Profiles: *profiles, Created: now}
	for _, name := range made.Profiles {
		if !slices.ContainsFunc(cfg.Profiles, func(p config.Profile) bool { return p.Name == name }) {
			return usagef("token create: %s has no profile %s", cfg.Path, hint.Quote(name))
		}
	}
	if *life != "" {
		lasts, ok := lifetime(*life)
		if !ok {
			return usagef("token create: --expires: expected a positive time, as in 30d or 12h, not %s", hint.Quote(*life))
		}
		until := now.Add(lasts)
		made.Expires = &until
	}
	text, err := f.issue(cfg, made)
	if err != nil {
		return usagef("token create: %v", err)
	}
	warnOfSize(cfg, std.err)
	if *asJSON {
		err = printJSON(std.out, map[string]any{"name": made.Name, "token": text, "profiles": made.Profiles, "expires": made.Expires})
	} else {
		_, err = fmt.Fprintln(std.out, text)
	}
	if err != nil { // nobody has it
		return errors.Join(err, tokens.Remove(cfg.TokenFile(), made.Name))
	}
	f.tellReload(ctx, cfg.Path) // so that the token is good when the command ends
	if *asJSON {
		return nil
	}
	output.Item(std.err, "", made.Name+" may use serve with this token, which is not shown again")
	if cfg.Principals() == 0 {
		output.Item(std.err, "", "from now on serve asks every client for a token")
	}
	return nil
}

// issue makes a token for a config.
func (f *sourceFlags) issue(cfg *config.Config, made tokens.Token) (string, error) {
	text, err := tokens.Create(cfg.TokenFile(), made)
	if errors.Is(err, tokens.ErrTaken) {
		err = fmt.Errorf("there is a token for %s: remove it first (%s)", made.Name, f.tokenRemoval(made.Name))
	}
	return text, err
}

// tokenRemoval returns the command that removes a token of the config that the command line has.
func (f *sourceFlags) tokenRemoval(name string) string {
	return hint.Command("mcpbridge token remove", f.sameConfig(), name)
}

// lifetime reads a time in days, or as Go writes them.
func lifetime(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil && n > 0
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}

func runTokenList(_ context.Context, args []string, std streams) error {
	f := newFlags("token list", "token list [flags]", "Lists the tokens that token create has made, without the tokens themselves.", std)
	asJSON := f.Bool("json", false, "print an array, an object for each token")
	cfg, err := tokenCommand(f, args, 0)
	if err != nil {
		return err
	}
	if *asJSON {
		return printJSON(std.out, append([]tokens.Token{}, cfg.Issued...))
	}
	return printTokens(std.out, cfg.Issued)
}

func printTokens(w io.Writer, list []tokens.Token) error {
	if len(list) == 0 {
		fmt.Fprintln(w, "no tokens")
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROFILES\tCREATED\tEXPIRES")
	for _, t := range list {
		profiles, expires := "any that is for it", "never"
		if len(t.Profiles) > 0 {
			profiles = strings.Join(t.Profiles, ", ")
		}
		if t.Expires != nil {
			expires = t.Expires.Format(time.DateOnly)
			if t.Expires.Before(time.Now()) {
				expires += " (has expired)"
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.Name, profiles, t.Created.Format(time.DateOnly), expires)
	}
	return table.Flush()
}

func runTokenRemove(ctx context.Context, args []string, std streams) error {
	f := newFlags("token remove", "token remove NAME…", "Removes tokens that token create has made. Clients that use one are shut out at once.", std)
	cfg, err := tokenCommand(f, args, len(args))
	if err != nil {
		return err
	}
	if err := tokens.Remove(cfg.TokenFile(), f.Args()...); err != nil {
		return usagef("token remove: %v", err)
	}
	f.tellReload(ctx, cfg.Path)
	warnOfSize(cfg, std.err)
	for _, name := range f.Args() {
		fmt.Fprintf(std.out, "removed the token of %s\n", name)
	}
	if left := noneLeft(cfg.Path); left != "" {
		output.Item(std.err, "", left)
	}
	return nil
}

// noneLeft says what the removal of the last token of a config has done; "" if others are left.
func noneLeft(path string) string {
	cfg, err := config.Load(path)
	if err != nil || cfg.Principals() > 0 {
		return ""
	}
	cfg.Listen = cmp.Or(cfg.Listen, defaultListen)
	switch {
	case mayListen(cfg) != nil:
		return "it was the last one: from now on serve lets nobody in, and does not start, as other machines reach " + cfg.Listen + ": make a token (mcpbridge token create NAME)"
	case cfg.PublicURL != "":
		return "it was the last one: from now on serve lets in whoever reaches " + cfg.PublicURL + ", and every program of this computer"
	}
	return "it was the last one: from now on serve lets in every program of this computer, or nobody where --listen has an address that other machines reach"
}
